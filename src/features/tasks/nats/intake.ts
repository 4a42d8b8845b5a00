/** Accepts tasks: checks the request and stores it on the server. */
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
  /** Fires when no more tasks are accepted. */
  stopping: AbortSignal;
}

export class Intake {
  readonly #parts: IntakeParts;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /** @throws {SvcError} validation for an invalid request; shutting_down */
  async check(request: TaskRequest, hired: boolean): Promise<void> {
    this.#requireOpen();
    await this.#parts.executors.get(request.task_type).check?.(request, hired);
    this.#requireOpen();
  }

  #requireOpen(): void {
    if (!this.#parts.stopping.aborted) return;
    throw new SvcError("shutting_down", "the daemon is stopping and accepts no tasks");
  }

  /** Stores a task on the server. @throws {SvcError} unavailable; payload_too_large. */
  async accept(task: NewTask): Promise<TaskRecord> {
    const { clock, log } = this.#parts;
    const incoming = { ...task, created_at: new Date(clock.now()).toISOString() };
    await this.#publish(incoming);
    try {
      await this.record(incoming);
    } catch (error) {
      // It is accepted: the process that takes it from the queue creates its record.
      log.warn("a task has no record yet", { task_id: task.id, error: messageOf(error) });
    }
    return queued(incoming).record;
  }

  async #publish(task: QueuedTask): Promise<void> {
    const send = () => this.#parts.link.use((jet) => publish(jet, task));
    try {
      await send();
    } catch (error) {
      // It may have arrived. If it is sent twice, it is taken once.
      if (!wasSent(error)) throw error;
      await send();
    }
  }

  /** Creates the record of a queued task. @returns undefined when it already exists. */
  async record(task: QueuedTask): Promise<Revision<StoredTask> | undefined> {
    const { steps, reports } = this.#parts;
    if (task.callback !== undefined) await reports.begin(task.id, task.callback);
    return await steps.create(queued(task));
  }
}

/** Reports whether a request reached the server but its answer did not arrive. */
function wasSent(error: unknown): boolean {
  return error instanceof SvcError && error.code === "unavailable" && error.cause !== undefined;
}
