/** Takes tasks: looks at what is asked for, and puts it on the server. */
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Clock } from "../../../base/clock.ts";
import type { ExecutorRegistry } from "../executors/registry.ts";
import type { NewTask } from "../lifecycle.ts";
import type { TaskRecord, TaskRequest } from "../task.ts";
import type { Revision } from "./bucket.ts";
import type { NatsLink } from "./link.ts";
import { publish, type QueuedTask } from "./queue.ts";
import type { NatsReports } from "./reports.ts";
import type { Steps } from "./steps.ts";
import { queued, type StoredTask } from "./transitions.ts";

export interface IntakeParts {
  link: NatsLink;
  steps: Steps;
  reports: NatsReports;
  executors: ExecutorRegistry;
  log: Log;
  clock: Clock;
  /** Fires when nothing more is taken. */
  stopping: AbortSignal;
}

export class Intake {
  readonly #parts: IntakeParts;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /** @throws {SvcError} validation when it will not do; shutting_down. */
  async check(request: TaskRequest, hired: boolean): Promise<void> {
    this.#requireOpen();
    await this.#parts.executors.get(request.task_type).check?.(request, hired);
    this.#requireOpen();
  }

  #requireOpen(): void {
    if (!this.#parts.stopping.aborted) return;
    throw new SvcError("shutting_down", "the daemon is stopping; no task is taken");
  }

  /** Puts a task on the server. @throws {SvcError} unavailable; payload_too_large. */
  async accept(task: NewTask): Promise<TaskRecord> {
    const { clock, log } = this.#parts;
    const incoming = { ...task, created_at: new Date(clock.now()).toISOString() };
    await this.#publish(incoming);
    try {
      await this.record(incoming);
    } catch (error) {
      // It is accepted: whoever takes it from the queue makes its record.
      log.warn("a task has no record yet", { task_id: task.id, error: messageOf(error) });
    }
    return queued(incoming).record;
  }

  async #publish(task: QueuedTask): Promise<void> {
    const send = () => this.#parts.link.use((jet) => publish(jet, task));
    try {
      await send();
    } catch (error) {
      // It may have arrived: sent twice it is taken once.
      if (!wasSent(error)) throw error;
      await send();
    }
  }

  /** Makes the record of a task of the queue. @returns undefined when there is one already. */
  async record(task: QueuedTask): Promise<Revision<StoredTask> | undefined> {
    const { steps, reports } = this.#parts;
    if (task.callback !== undefined) await reports.begin(task.id, task.callback);
    return await steps.create(queued(task));
  }
}

/** Whether the server was there, and its answer did not come. */
function wasSent(error: unknown): boolean {
  return error instanceof SvcError && error.code === "unavailable" && error.cause !== undefined;
}
