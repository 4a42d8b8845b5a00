/** Runs executors: starts them, stops them and records their outcomes. */
import { TERM_GRACE_MS } from "../../jail/process.ts";
import { formatDuration } from "../../base/duration.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import { type Clock, pause } from "../../base/clock.ts";
import type { ExecutorRegistry } from "./executors/registry.ts";
import { Leaving } from "./leaving.ts";
import { LOST, type Outcome, type Settlement, type StartedTask } from "./lifecycle.ts";
import { newCanary } from "../../agent/critic.ts";
import { type ArtifactSink, keepArtifact } from "./artifacts.ts";
import { extrasJson, isCriticised, judge } from "./judge.ts";
import {
  type Artifact,
  type NewArtifact,
  RetryableError,
  type TaskContext,
  type TaskRecord,
} from "./task.ts";

export interface AttemptRecords {
  /**
   * Records an outcome, unless the task was decided otherwise. Called again if it rejects.
   * @returns the task's record, if it is at hand
   */
  settle(settlement: Settlement, now: number): Promise<TaskRecord | void>;
  log(at: string, task_id: string, event: string, detail: string): void | Promise<void>;
  /** Stores how far a queued task is; absent if another attempt begins anew. */
  keepWork?(task_id: string, work: string): Promise<void>;
}

interface AttemptsParts {
  records: AttemptRecords;
  executors: ExecutorRegistry;
  log: Log;
  clock: Clock;
  random: () => number;
  artifacts: ArtifactSink;
  /** Called when the worker of an attempt is free for another task. */
  onWorkerFree(attempt: Attempt): void;
  /** Called when a task's log has a new line. */
  onNoted?(task_id: string): void;
  onSettled?(task_id: string): void;
}

export interface Attempt {
  readonly task: StartedTask;
  /** Whether it occupies a worker. */
  readonly queued: boolean;
  readonly onNote?: (text: string) => void;
  /** The artifacts that its executor has stored, and the texts for the critic. */
  readonly kept: Artifact[];
  readonly texts: string[];
  readonly stop: AbortController;
  /** Fires when it can leave its work to the next daemon. */
  readonly leave: AbortController;
  /** How far it is; see {@linkcode TaskContext.keepWork}. */
  work?: string;
  /**
   * Resolves when the task's outcome is recorded, whether or not the executor has ended; with the
   * record, if it is at hand.
   */
  readonly settled: PromiseWithResolvers<TaskRecord | void>;
  ended: Promise<void>;
  /** An outcome from outside; it overrides the executor's result. */
  verdict?: Outcome;
  /** Whether its outcome is on disk. */
  recorded: boolean;
  released: boolean;
}

const RETURNED: Outcome = { kind: "returned", reason: "the daemon stopped" };
export const BACKOFF_MAX_MS = 60_000;
const BACKOFF_MIN_MS = 1_000;
export const WRITE_AGAIN_MS = 2_000;
/** How long an executor may take to stop; longer than a command that it runs. */
export const STOP_GRACE_MS = TERM_GRACE_MS + 3_000;

export class Attempts {
  readonly #parts: AttemptsParts;
  #running = new Map<string, Attempt>();
  readonly #recording = new Set<Promise<void>>();
  #busy = 0;
  /** Fires when no more outcomes can be recorded. */
  readonly #closed = new AbortController();

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
  }

  get busy(): number {
    return this.#busy;
  }

  /** Whether no executor is running, and each outcome is recorded. */
  get idle(): boolean {
    return this.#running.size === 0 && this.#recording.size === 0;
  }

  /** Starts the executor of a task that is recorded as running. */
  begin(task: StartedTask, queued: boolean, onNote?: (text: string) => void): Attempt {
    const attempt: Attempt = {
      task,
      queued,
      onNote,
      kept: [],
      texts: [],
      stop: new AbortController(),
      leave: new AbortController(),
      work: task.left,
      settled: Promise.withResolvers(),
      ended: Promise.resolve(),
      recorded: false,
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

  /** Ends an attempt from outside; later results of its executor are ignored. */
  end(attempt: Attempt, outcome: Outcome): Promise<void> {
    attempt.verdict ??= outcome;
    this.#record(attempt, attempt.verdict);
    return this.#stop(attempt);
  }

  /** Stops the executor of a cancelled task; waits up to {@linkcode STOP_GRACE_MS} for it. */
  async cancel(task_id: string): Promise<void> {
    const attempt = this.#running.get(task_id);
    if (attempt === undefined) return;
    await this.end(attempt, { kind: "failed", error: "cancelled", cancelled: true });
  }

  /**
   * Lets executors finish for `grace_ms`, or leave their work, then aborts them: queued tasks go back
   * to the queue, others fail. Aborted ones have another {@linkcode STOP_GRACE_MS}; afterwards nothing
   * is recorded.
   */
  async close(grace_ms: number): Promise<void> {
    const running = [...this.#running.values()];
    if (this.#parts.records.keepWork !== undefined) {
      for (const { queued, leave } of running) if (queued) leave.abort(new Leaving(grace_ms));
    }
    if (grace_ms > 0) await this.#within(Promise.all(running.map((it) => it.ended)), grace_ms);
    await Promise.all([...this.#running.values()].map((attempt) =>
      this.end(
        attempt,
        attempt.queued ? RETURNED : { kind: "failed", error: LOST },
      )
    ));
    // An outcome that is being written has no second attempt.
    this.#closed.abort();
    await Promise.all(this.#recording);
  }

  #armDeadline(attempt: Attempt): () => void {
    const { timeout_ms } = attempt.task;
    if (timeout_ms === undefined) return () => {};
    const error = `deadline of ${formatDuration(timeout_ms)} exceeded`;
    return this.#parts.clock.after(timeout_ms, () => this.end(attempt, { kind: "failed", error }));
  }

  /** Never rejects. */
  async #carryOut(attempt: Attempt): Promise<void> {
    const { task, stop, leave, onNote, kept, texts } = attempt;
    const { id, request, hired, attempt: number, timeout_ms, left } = task;
    const deadline_at = timeout_ms && this.#parts.clock.now() + timeout_ms;
    const { task_type } = request;
    const canary = newCanary();
    let outcome: Outcome;
    try {
      // The caller must know about the attempt before its executor does anything.
      await null;
      stop.signal.throwIfAborted();
      const deliverable = await this.#parts.executors.get(task_type).run(request, {
        task_id: id,
        hired,
        signal: stop.signal,
        deadline_at,
        attempt: number,
        canary,
        left,
        leaving: leave.signal,
        keepWork: this.#keeperOf(attempt),
        note: (text) => {
          void this.#note(id, text);
          onNote?.(text);
        },
        keep: (artifact) => this.#keep(attempt, artifact),
      });
      outcome = judge({ task_type, deliverable, artifacts: kept, texts, canary });
    } catch (error) {
      outcome = this.#failure(attempt, error);
    }
    outcome = attempt.verdict ?? outcome;
    await this.#record(attempt, outcome);
    await this.#drop(attempt, outcome);
  }

  /** Returns what stores how far a queued task is. */
  #keeperOf(attempt: Attempt): TaskContext["keepWork"] {
    const { keepWork } = this.#parts.records;
    if (!attempt.queued || keepWork === undefined) return undefined;
    return async (work) => {
      await keepWork(attempt.task.id, work);
      attempt.work = work;
    };
  }

  /**
   * Removes what an attempt leaves, unless another one goes on with it. Only after its outcome is
   * recorded: killed between the two, the daemon finds it whole. Never rejects.
   */
  async #drop(attempt: Attempt, { kind }: Outcome): Promise<void> {
    const { task: { id, request }, work } = attempt;
    if (this.#keeperOf(attempt) === undefined || !attempt.recorded) return;
    if (kind === "returned" && work !== undefined) return;
    const { executors, log } = this.#parts;
    try {
      await executors.get(request.task_type).drop?.(id, work, kind === "completed");
    } catch (error) {
      log.warn("cannot remove what a task left", { task_id: id, error: messageOf(error) });
    }
  }

  async #keep(attempt: Attempt, artifact: NewArtifact): Promise<Artifact> {
    attempt.stop.signal.throwIfAborted();
    const kept = await keepArtifact(this.#parts.artifacts, attempt.task.id, artifact);
    attempt.kept.push(kept);
    const { content, media_type } = artifact;
    if (isCriticised(media_type)) {
      attempt.texts.push(typeof content === "string" ? content : new TextDecoder().decode(content));
    }
    return kept;
  }

  #failure({ task: { attempt, max_attempts }, kept, leave }: Attempt, thrown: unknown): Outcome {
    if (thrown instanceof Leaving && thrown === leave.signal.reason) return RETURNED;
    const message = messageOf(thrown);
    const extras = extrasJson({ artifacts: kept });
    if (!(thrown instanceof RetryableError)) return { kind: "failed", error: message, extras };
    const error = `${message} (attempt ${attempt} of ${max_attempts})`;
    if (attempt >= max_attempts) return { kind: "failed", error, extras };
    const { clock, random } = this.#parts;
    const backoff = Math.min(BACKOFF_MIN_MS * 2 ** (attempt - 1), BACKOFF_MAX_MS);
    const wait_ms = Math.round(backoff * (0.5 + random() / 2));
    return {
      kind: "retry",
      error: `${error}; retrying in ${formatDuration(wait_ms)}`,
      not_before: clock.now() + wait_ms,
    };
  }

  /** Never rejects. */
  #record(attempt: Attempt, outcome: Outcome): Promise<void> {
    const recording = this.#write(attempt, outcome).then(() => {
      this.#recording.delete(recording);
    });
    this.#recording.add(recording);
    return recording;
  }

  /** Records an outcome; repeats it for as long as the disk refuses it. Never rejects. */
  async #write(attempt: Attempt, outcome: Outcome): Promise<void> {
    const { records, clock, log, onSettled } = this.#parts;
    const { task, settled } = attempt;
    const { id } = task;
    let record: TaskRecord | void = undefined;
    while (!this.#closed.signal.aborted) {
      try {
        record = await records.settle({ id, attempt: task.attempt, outcome }, clock.now());
        attempt.recorded = true;
        break;
      } catch (error) {
        log.error("the outcome of a task cannot be recorded; trying again", {
          task_id: id,
          error: messageOf(error),
        });
        await pause(clock, WRITE_AGAIN_MS, this.#closed.signal);
      }
    }
    onSettled?.(id);
    settled.resolve(record);
  }

  /** Aborts an executor and waits for it; one that does not stop in time loses its worker. */
  async #stop(attempt: Attempt): Promise<void> {
    attempt.stop.abort(new DOMException("the task was stopped", "AbortError"));
    if (await this.#within(attempt.ended, STOP_GRACE_MS) || attempt.released) return;
    const { id, request } = attempt.task;
    this.#parts.log.warn("an executor did not stop in time", {
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
    this.#parts.onWorkerFree(attempt);
  }

  /** Never rejects. */
  async #note(task_id: string, text: string): Promise<void> {
    if (this.#closed.signal.aborted) return;
    const { records, clock, log } = this.#parts;
    try {
      await records.log(new Date(clock.now()).toISOString(), task_id, "note", text);
      this.#parts.onNoted?.(task_id);
    } catch (error) {
      log.warn("a note of a task was lost", { task_id, text, error: messageOf(error) });
    }
  }

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
