/** Clients that wait for their tasks, wherever those run. */
import { formatDuration } from "../../../base/duration.ts";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import { within } from "../../../base/within.ts";
import type { Clock } from "../../../base/clock.ts";
import { newTaskId } from "../common.ts";
import type { TaskClient } from "../client_store.ts";
import type { RunOptions } from "../engine.ts";
import { LOST, type Outcome } from "../lifecycle.ts";
import {
  MAX_ATTEMPTS,
  type TaskLogEntry,
  type TaskRecord,
  type TaskRequest,
  TIMEOUT_MS,
} from "../task.ts";
import type { Intake } from "./intake.ts";
import type { NatsLink } from "./link.ts";
import type { Steps } from "./steps.ts";
import { stepped } from "./transitions.ts";

export interface WaitingClientsParts {
  link: NatsLink;
  steps: Steps;
  intake: Intake;
  log: Log;
  clock: Clock;
  /** Yields the lines of a task's log, until the signal fires. */
  follow(id: string, signal: AbortSignal): AsyncIterable<TaskLogEntry>;
  /** Claims a client's request for a task. @returns the id of the task that has it. */
  claim(id: string, client: TaskClient): Promise<string>;
}

/** How long to wait for the last notes of a task that has ended. */
const NOTES_MS = 1_000;

export class WaitingClients {
  readonly #parts: WaitingClientsParts;
  readonly #waiting = new Set<Promise<unknown>>();
  /** Fires when those who still wait must be answered. */
  readonly #cutting = new AbortController();

  constructor(parts: WaitingClientsParts) {
    this.#parts = parts;
  }

  /** Runs a task and waits for it; see {@linkcode TaskEngine.run}. */
  run(request: TaskRequest, options: RunOptions): Promise<TaskRecord> {
    const run = this.#run(request, options).finally(() => this.#waiting.delete(run));
    this.#waiting.add(run);
    return run;
  }

  async #run(request: TaskRequest, options: RunOptions): Promise<TaskRecord> {
    const { signal, timeout_ms = TIMEOUT_MS, hired = false, onNote } = options;
    const { id = newTaskId(), owner, callback, client } = options;
    const { steps, intake, clock } = this.#parts;
    const origin = { hired, owner, timeout_ms, callback, client };
    const task = { ...origin, id, request, max_attempts: MAX_ATTEMPTS };
    const late = new AbortController();
    const cancelTimer = clock.after(timeout_ms, () => late.abort());
    const over = new AbortController();
    const enough = AbortSignal.any([
      late.signal,
      this.#cutting.signal,
      ...(signal === undefined ? [] : [signal]),
    ]);
    try {
      await intake.check(request, hired);
      const claimed = client === undefined ? id : await this.#parts.claim(id, client);
      const earlier = claimed === id ? undefined : await steps.get(claimed);
      if (earlier !== undefined) return earlier.value.record;
      await intake.accept({ ...task, mode: "sync" });
      const notes = onNote && this.#tellNotes(id, onNote, over.signal);
      await steps.index.ended(id, enough);
      if (enough.aborted) await this.#giveUp(id, reason(signal, late.signal, timeout_ms));
      else if (notes !== undefined) await within(notes, NOTES_MS);
      const found = await steps.get(id);
      if (found !== undefined) return found.value.record;
      throw new SvcError("unavailable", `the server has lost task ${id}`);
    } finally {
      cancelTimer();
      over.abort();
    }
  }

  /** Ends with the task. Never rejects. */
  async #tellNotes(id: string, onNote: (text: string) => void, signal: AbortSignal) {
    try {
      for await (const { event, detail } of this.#parts.follow(id, signal)) {
        if (event === "note" && detail !== undefined) onNote(detail);
      }
    } catch (error) {
      this.#parts.log.debug("notes of a task were lost", { task_id: id, error: messageOf(error) });
    }
  }

  /**
   * Ends a task that nobody waits for any longer; a task that has ended stays as it is.
   *
   * @throws {SvcError} unavailable, for a client that is still waiting, which then gets its answer
   * in time
   */
  async #giveUp(id: string, outcome: Outcome & { kind: "failed" }): Promise<void> {
    const { steps, link, clock } = this.#parts;
    const now = clock.now();
    while (true) {
      try {
        await steps.change(id, (task) => stepped(task, outcome, now));
        return;
      } catch (error) {
        const passing = error instanceof SvcError && error.code === "unavailable";
        if (!passing || !outcome.cancelled || this.#cutting.signal.aborted) throw error;
        await link.ready(this.#cutting.signal);
      }
    }
  }

  /** Lets tasks end for up to this time, then fails the rest. */
  async close(grace_ms: number): Promise<void> {
    if (grace_ms > 0) await within(Promise.allSettled(this.#waiting), grace_ms);
    this.#cutting.abort();
    await Promise.allSettled(this.#waiting);
  }
}

/** Why a task is given up. */
function reason(
  client: AbortSignal | undefined,
  late: AbortSignal,
  timeout_ms: number,
): Outcome & { kind: "failed" } {
  if (client?.aborted) {
    return { kind: "failed", error: "cancelled by the client", cancelled: true };
  }
  if (!late.aborted) return { kind: "failed", error: LOST };
  return { kind: "failed", error: `deadline of ${formatDuration(timeout_ms)} exceeded` };
}
