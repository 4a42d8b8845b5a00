/**
 * The part of the engine that runs tasks: takes them from the queue, extends them and records their
 * ends.
 */
import type { Consumer, JsMsg } from "@nats-io/jetstream";
import { delay } from "@std/async";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { ArtifactSink } from "../artifacts.ts";
import { type Attempt, type AttemptRecords, Attempts, BACKOFF_MAX_MS } from "../attempts.ts";
import type { Clock } from "../../../base/clock.ts";
import { Semaphore } from "../../../base/semaphore.ts";
import type { ExecutorRegistry } from "../executors/registry.ts";
import { DETAIL_MAX, type Outcome, type Settlement, type TaskMode } from "../lifecycle.ts";
import { hasEnded, type TaskRequest } from "../task.ts";
import { type Bucket, NONE, type Revision } from "./bucket.ts";
import type { Jet } from "./link.ts";
import {
  consumerOf,
  HEARTBEAT_MS,
  nextMessage,
  type QueuedTask,
  taskOf,
  tellQueue,
} from "./queue.ts";
import type { Steps } from "./steps.ts";
import type { Runner, StoredTask } from "./transitions.ts";

export interface WorkerParts {
  bucket: Bucket;
  steps: Steps;
  /** Creates the record of a queued task. @returns undefined when it already exists. */
  record(task: QueuedTask): Promise<Revision<StoredTask> | undefined>;
  executors: ExecutorRegistry;
  /** The task types to take. */
  task_types: readonly string[];
  runner: Runner;
  /** How many queued tasks run at once. */
  workers: number;
  artifacts: ArtifactSink;
  log: Log;
  clock: Clock;
  random: () => number;
  /** Called for each task that starts or ends in this process. */
  onStep?(step: WorkerStep): void;
}

/** An event of a worker, for observers. */
export interface WorkerStep {
  /** `stopped`: another process decided the task. */
  event: "started" | "stopped" | Outcome["kind"];
  task_id: string;
  task_type: string;
  attempt: number;
}

/** An attempt in this process. */
interface Held {
  readonly mode: TaskMode;
  readonly task: StoredTask;
  /** The revision of the step that started the attempt. */
  readonly revision: number;
  readonly attempt: Attempt;
  /** The delivery of the task; a later one replaces it. */
  message: JsMsg;
  /** Whether its outcome is being recorded. */
  settling: boolean;
  /** Whether another process has written the next step. */
  decided: boolean;
}

/** Tasks that a client waits for run in addition to queued ones, up to this number. */
const SYNC_AT_ONCE = 64;
const AGAIN_MS = 1_000;
const MODES: readonly TaskMode[] = ["sync", "queue"];

export class Worker implements AttemptRecords {
  readonly #parts: WorkerParts;
  readonly #attempts: Attempts;
  /** The attempts without a recorded outcome, by task. */
  readonly #held = new Map<string, Held>();
  /** The attempts that occupy a slot. */
  readonly #placed = new Map<Attempt, Held>();
  readonly #slots: Record<TaskMode, Semaphore>;
  /** Deliveries in progress. */
  readonly #taking = new Set<Promise<void>>();
  readonly #heartbeat: number;
  #workers: number;
  #notes = 0;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    const { executors, log, clock, random, artifacts, workers } = parts;
    this.#workers = workers;
    this.#slots = { queue: new Semaphore(workers), sync: new Semaphore(SYNC_AT_ONCE) };
    this.#attempts = new Attempts({
      records: this,
      executors,
      log,
      clock,
      random,
      artifacts,
      onWorkerFree: (attempt) => this.#release(attempt),
    });
    this.#heartbeat = setInterval(() => this.#sayGoingOn(), HEARTBEAT_MS);
    Deno.unrefTimer(this.#heartbeat);
  }

  /** How many queued tasks run at once. */
  get workers(): number {
    return this.#workers;
  }

  /** Sets how many queued tasks run at once, and whether new ones are taken. */
  setLimit(workers: number, paused: boolean): void {
    this.#workers = workers;
    this.#slots.queue.limit = paused ? 0 : workers;
  }

  /** Takes tasks until the signal fires. */
  async work(jet: Jet, signal: AbortSignal): Promise<void> {
    const kinds = MODES.flatMap((mode) => this.#parts.task_types.map((type) => ({ mode, type })));
    await Promise.all(kinds.map(({ mode, type }) => this.#pull(jet, mode, type, signal)));
  }

  /** Never rejects. */
  async #pull(jet: Jet, mode: TaskMode, type: string, signal: AbortSignal): Promise<void> {
    const slots = this.#slots[mode];
    let consumer: Consumer | undefined;
    while (true) {
      await slots.free(signal).catch(() => {});
      if (signal.aborted) return;
      try {
        consumer ??= await consumerOf(jet, mode, type);
        const message = await nextMessage(consumer, signal);
        if (message === undefined) continue;
        // A task of another type was faster, so this one is for a process with a free slot.
        if (signal.aborted || !slots.tryTake()) tellQueue(() => message.nak());
        else this.#take(message, mode);
      } catch (error) {
        // It may have been lost with the server's disk.
        consumer = undefined;
        this.#parts.log.debug("cannot take tasks from NATS", { type, error: messageOf(error) });
        await delay(AGAIN_MS, { signal }).catch(() => {});
      }
    }
  }

  #take(message: JsMsg, mode: TaskMode): void {
    const slots = this.#slots[mode];
    const taking = this.#begin(message).then((began) => {
      if (!began) slots.release();
    }, (error) => {
      slots.release();
      // It will be delivered again.
      this.#parts.log.warn("cannot start a task", { error: messageOf(error) });
    }).finally(() => this.#taking.delete(taking));
    this.#taking.add(taking);
  }

  /** Starts the next attempt at a delivered task. @returns whether there is one to make. */
  async #begin(message: JsMsg): Promise<boolean> {
    const incoming = taskOf(message);
    if (incoming === undefined) {
      this.#parts.log.warn("skipping an invalid message in the queue", {
        subject: message.subject,
      });
      tellQueue(() => message.term());
      return false;
    }
    while (true) {
      const found = await this.#recorded(incoming);
      const begun = found && await this.#tryToBegin(found, incoming.request, message);
      if (begun !== undefined) return begun;
    }
  }

  /** @returns undefined when the task has made another step meanwhile */
  async #tryToBegin(
    { value: task, revision }: Revision<StoredTask>,
    request: TaskRequest,
    message: JsMsg,
  ): Promise<boolean | undefined> {
    const { steps, runner, clock } = this.#parts;
    const { record: { id, status }, not_before = 0 } = task;
    const now = clock.now();
    if (hasEnded(task.record)) {
      tellQueue(() => message.ack());
      return false;
    }
    if (status === "running") {
      const held = this.#held.get(id);
      if (held?.revision === revision) {
        // This process extended the task too late.
        held.message = message;
        return false;
      }
      await steps.take({ kind: "lost" }, { task, revision, now });
      return undefined;
    }
    if (not_before > now) {
      tellQueue(() => message.nak(Math.min(not_before - now, BACKOFF_MAX_MS)));
      return false;
    }
    const { process, worker } = runner;
    const begun = await steps.take({ kind: "started", worker }, { task, revision, now, process });
    if (begun === undefined) return undefined;
    this.#hold(begun, request, message);
    return true;
  }

  /**
   * Returns a task's record, and creates it if this process is the first. Undefined when another
   * one has just created it.
   */
  async #recorded(incoming: QueuedTask): Promise<Revision<StoredTask> | undefined> {
    const { steps, record } = this.#parts;
    return await steps.get(incoming.id) ?? await record(incoming);
  }

  #hold({ value: task, revision }: Revision<StoredTask>, request: TaskRequest, message: JsMsg) {
    const { record: { id, attempts }, mode, hired, max_attempts, timeout_ms } = task;
    const begin = { id, request, hired, attempt: attempts, max_attempts, timeout_ms };
    const attempt = this.#attempts.begin(begin, true);
    const flags = { settling: false, decided: false };
    const held = { mode, task, revision, attempt, message, ...flags };
    this.#held.set(id, held);
    this.#placed.set(attempt, held);
    this.#tell("started", task);
  }

  #tell(event: WorkerStep["event"], { record: { id, task_type, attempts } }: StoredTask): void {
    this.#parts.onStep?.({ event, task_id: id, task_type, attempt: attempts });
  }

  #sayGoingOn(): void {
    for (const { message, decided } of this.#held.values()) {
      if (!decided) tellQueue(() => message.working());
    }
  }

  /** Handles another step of a task: if the task runs here, another process has decided it. */
  decided(id: string, revision: number): void {
    const held = this.#held.get(id);
    if (held === undefined || revision <= held.revision) return;
    if (held.decided || held.settling) return;
    held.decided = true;
    this.#tell("stopped", held.task);
    void this.#attempts.end(held.attempt, { kind: "failed", error: "cancelled", cancelled: true });
  }

  /** Resolves when this process no longer works on a task. */
  async idle(id: string): Promise<void> {
    const attempts = [...this.#placed.keys()].filter(({ task }) => task.id === id);
    await Promise.all(attempts.map(({ ended }) => ended));
  }

  // ── what Attempts records ────────────────────────────────────────────────────────────────────

  async settle({ id, attempt, outcome }: Settlement, now: number): Promise<void> {
    const held = this.#held.get(id);
    if (held?.task.record.attempts === attempt) await this.#settle(held, outcome, now);
  }

  async #settle(held: Held, outcome: Outcome, now: number): Promise<void> {
    const { message, decided, task: { record: { id } } } = held;
    const made = decided ? undefined : await this.#record(held, outcome, now);
    if (made === undefined) await this.#confirmEnded(held);
    else {
      this.#tell(outcome.kind, made);
      tellQueue(() => confirm(message, outcome, now));
    }
    if (this.#held.get(id) === held) this.#held.delete(id);
  }

  async #record(held: Held, outcome: Outcome, now: number): Promise<StoredTask | undefined> {
    const { steps } = this.#parts;
    const { task, revision } = held;
    held.settling = true;
    try {
      return (await steps.take(outcome, { task, revision, now }))?.value;
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== "payload_too_large") throw error;
      const failed: Outcome = { kind: "failed", error: error.message };
      return (await steps.take(failed, { task, revision, now }))?.value;
    } finally {
      held.settling = false;
    }
  }

  /** Confirms the message of a task that has ended otherwise; another process handles any other. */
  async #confirmEnded({ task, message }: Held): Promise<void> {
    const found = await this.#parts.steps.get(task.record.id);
    if (found === undefined || hasEnded(found.value.record)) tellQueue(() => message.ack());
  }

  async log(at: string, task_id: string, event: string, detail: string): Promise<void> {
    const { bucket, runner } = this.#parts;
    const line = { at, event, detail: detail.slice(0, DETAIL_MAX) };
    await bucket.write(`${task_id}.note.${runner.process}-${++this.#notes}`, { line }, NONE);
  }

  #release(attempt: Attempt): void {
    const held = this.#placed.get(attempt);
    if (held !== undefined) this.#slots[held.mode].release();
    this.#placed.delete(attempt);
  }

  /** Lets tasks finish, then returns them; see {@linkcode Attempts.close}. */
  async close(grace_ms: number): Promise<void> {
    await Promise.all(this.#taking);
    await this.#attempts.close(grace_ms);
    clearInterval(this.#heartbeat);
  }
}

/** Reports the fate of a message to the queue. */
function confirm(message: JsMsg, outcome: Outcome, now: number): void {
  if (outcome.kind === "retry") message.nak(Math.max(outcome.not_before - now, 1));
  else if (outcome.kind === "returned") message.nak();
  else message.ack();
}
