/** Executors at work: started, told to stop, their outcome recorded. */
import { formatDuration } from "../platform/duration.ts";
import { messageOf } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import type { Clock } from "./clock.ts";
import type { ExecutorRegistry } from "./executors/registry.ts";
import { LOST, type Outcome, type StartedTask, type TaskStore } from "./store.ts";
import { type Deliverable, RetryableError } from "./task.ts";

export interface AttemptsParts {
  store: TaskStore;
  executors: ExecutorRegistry;
  log: Log;
  clock: Clock;
  random: () => number;
  /** Called when a worker may take another task. */
  onWorkerFree(): void;
}

/** One executor at work on one task. */
export interface Attempt {
  readonly task: StartedTask;
  /** Whether it takes up a worker. */
  readonly queued: boolean;
  readonly stop: AbortController;
  /** Resolves when the task's outcome is recorded, whether or not the executor has ended. */
  readonly settled: PromiseWithResolvers<void>;
  /** Resolves when the executor has ended. */
  ended: Promise<void>;
  /** What ended it from outside; counts more than what the executor says. */
  verdict?: Outcome;
  released: boolean;
}

/** The longest wait between two attempts. */
export const BACKOFF_MAX_MS = 60_000;
const BACKOFF_MIN_MS = 1_000;
/** How soon the database is tried again after it could not be written. */
export const WRITE_AGAIN_MS = 2_000;
/** How long an executor may take to stop before its worker is given to another task. */
const STOP_GRACE_MS = 5_000;

export class Attempts {
  readonly #parts: AttemptsParts;
  #running = new Map<string, Attempt>();
  #busy = 0;
  /** Fires when the database is about to be closed. */
  readonly #closed = new AbortController();

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
  }

  /** Number of workers that are at work. */
  get busy(): number {
    return this.#busy;
  }

  /** Starts the executor of a task that the database has as running. */
  begin(task: StartedTask, queued: boolean): Attempt {
    const attempt: Attempt = {
      task,
      queued,
      stop: new AbortController(),
      settled: Promise.withResolvers(),
      ended: Promise.resolve(),
      released: false,
    };
    this.#running.set(task.id, attempt);
    if (queued) this.#busy++;
    const cancelDeadline = this.#armDeadline(attempt);
    attempt.ended = this.#carryOut(attempt).finally(() => {
      cancelDeadline();
      this.#release(attempt);
    });
    return attempt;
  }

  /** Ends an attempt from outside; what its executor says from now on is not heard. */
  end(attempt: Attempt, outcome: Outcome): Promise<void> {
    attempt.verdict ??= outcome;
    this.#record(attempt, attempt.verdict);
    return this.#stop(attempt);
  }

  /** Stops the executor of a task that the database has as cancelled; waits at most 5 s for it. */
  async cancel(task_id: string): Promise<void> {
    const attempt = this.#running.get(task_id);
    if (attempt === undefined) return;
    await this.end(attempt, { kind: "failed", error: "cancelled", cancelled: true });
  }

  /**
   * Lets executors finish, then cuts them off: tasks of the queue go back to it, others fail. The
   * database is not touched any more when this resolves.
   *
   * @param grace_ms time to finish; cut off, an executor has another 5 s to end.
   */
  async close(grace_ms: number): Promise<void> {
    const running = [...this.#running.values()];
    if (grace_ms > 0) await this.#within(Promise.all(running.map((it) => it.ended)), grace_ms);
    await Promise.all([...this.#running.values()].map((attempt) =>
      this.end(
        attempt,
        attempt.queued
          ? { kind: "returned", reason: "the daemon stopped" }
          : { kind: "failed", error: LOST },
      )
    ));
    this.#closed.abort();
  }

  #armDeadline(attempt: Attempt): () => void {
    const { timeout_ms } = attempt.task;
    if (timeout_ms === undefined) return () => {};
    const error = `deadline of ${formatDuration(timeout_ms)} exceeded`;
    return this.#parts.clock.after(timeout_ms, () => this.end(attempt, { kind: "failed", error }));
  }

  /** Never rejects. */
  async #carryOut(attempt: Attempt): Promise<void> {
    const { task: { id, request, attempt: number }, stop } = attempt;
    let outcome: Outcome;
    try {
      // Whoever has begun it is to know of it before its executor does anything.
      await null;
      stop.signal.throwIfAborted();
      const executor = this.#parts.executors.get(request.task_type);
      const deliverable = await executor.run(request, {
        task_id: id,
        signal: stop.signal,
        attempt: number,
        note: (text) => this.#note(id, text),
      });
      outcome = completed(request.task_type, deliverable);
    } catch (error) {
      outcome = this.#failure(attempt.task, error);
    }
    await this.#record(attempt, attempt.verdict ?? outcome);
  }

  #failure({ attempt, max_attempts }: StartedTask, thrown: unknown): Outcome {
    const message = messageOf(thrown);
    if (!(thrown instanceof RetryableError)) return { kind: "failed", error: message };
    const error = `${message} (attempt ${attempt} of ${max_attempts})`;
    if (attempt >= max_attempts) return { kind: "failed", error };
    const { clock, random } = this.#parts;
    const backoff = Math.min(BACKOFF_MIN_MS * 2 ** (attempt - 1), BACKOFF_MAX_MS);
    const wait_ms = Math.round(backoff * (0.5 + random() / 2));
    return {
      kind: "retry",
      error: `${error}; again in ${formatDuration(wait_ms)}`,
      not_before: clock.now() + wait_ms,
    };
  }

  /** Records an outcome, however long the disk refuses it. Never rejects. */
  async #record({ task, settled }: Attempt, outcome: Outcome): Promise<void> {
    const { store, clock, log } = this.#parts;
    while (!this.#closed.signal.aborted) {
      try {
        store.settle(task.id, task.attempt, outcome, clock.now());
        break;
      } catch (error) {
        log.error("the outcome of a task cannot be recorded; trying again", {
          task_id: task.id,
          error: messageOf(error),
        });
        await this.#within(aborted(this.#closed.signal), WRITE_AGAIN_MS);
      }
    }
    settled.resolve();
  }

  /** Aborts an executor and waits for it; one that does not obey loses its worker. */
  async #stop(attempt: Attempt): Promise<void> {
    attempt.stop.abort(new DOMException("the task was stopped", "AbortError"));
    if (await this.#within(attempt.ended, STOP_GRACE_MS) || attempt.released) return;
    const { id, request } = attempt.task;
    this.#parts.log.warn("an executor does not stop", {
      task_id: id,
      task_type: request.task_type,
    });
    this.#release(attempt);
  }

  #release(attempt: Attempt): void {
    if (attempt.released) return;
    attempt.released = true;
    const { id } = attempt.task;
    if (this.#running.get(id) === attempt) this.#running.delete(id);
    if (!attempt.queued) return;
    this.#busy--;
    this.#parts.onWorkerFree();
  }

  #note(task_id: string, text: string): void {
    if (this.#closed.signal.aborted) return;
    const { store, clock, log } = this.#parts;
    try {
      store.log(new Date(clock.now()).toISOString(), task_id, "note", text);
    } catch (error) {
      log.warn("a note of a task is lost", { task_id, text, error: messageOf(error) });
    }
  }

  /** Whether the promise resolves in time. */
  async #within(promise: Promise<unknown>, ms: number): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const cancel = this.#parts.clock.after(ms, () => late.resolve(false));
    try {
      return await Promise.race([promise.then(() => true), late.promise]);
    } finally {
      cancel();
    }
  }
}

/** @throws {Error} when it cannot be recorded: a defect of the executor. */
function completed(task_type: string, deliverable: Deliverable): Outcome {
  const { summary, size, ...extras } = deliverable ?? {};
  if (typeof summary !== "string" || !Number.isSafeInteger(size)) {
    throw new Error(`the executor of ${task_type} returned neither a summary nor an error`);
  }
  return { kind: "completed", summary, size, extras: JSON.stringify(extras) };
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
