/** Sends callbacks when tasks end; pending ones survive a restart. */
import { messageOf } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import { type Clock, pause } from "../../base/clock.ts";
import type { DueCallback, NamedCallback, Reports } from "./callback_store.ts";
import type { TaskRecord } from "./task.ts";

/** Sends one callback. @throws {UndeliverableError} or the cause of the failure. */
export type Deliver = (
  callback: DueCallback,
  record: TaskRecord,
  signal: AbortSignal,
) => Promise<void>;

/** Retrying cannot help. */
export class UndeliverableError extends Error {
  override name = "UndeliverableError";
}

interface CallbacksParts {
  reports: Reports;
  /** Claims a callback; undefined when another process sends it. */
  take(
    callback: NamedCallback,
    horizon_ms: number,
  ): TaskRecord | undefined | Promise<TaskRecord | undefined>;
  log: Log;
  clock: Clock;
  deliver: Deliver;
}

/** The number of attempts for a callback (contract.md section 9). */
const TRIES = 5;
const WAIT_MIN_MS = 1_000;
/** The waits between attempts are 1, 4, 16 and 64 s. */
const WAIT_FACTOR = 4;
const WAIT_MAX_MS = WAIT_MIN_MS * WAIT_FACTOR ** (TRIES - 2);
const AT_ONCE = 8;
const READ_AGAIN_MS = 5_000;
const RECORD_AGAIN_MS = 5_000;

/**
 * Returns what follows a try.
 *
 * @param tries the number of earlier tries
 * @returns the line for the task's log, and the wait before the next try, if there is one
 */
export function afterTry(
  tries: number,
  failure: Error | undefined,
): { event: string; detail: string; wait_ms?: number } {
  if (failure === undefined) return { event: "callback", detail: "delivered" };
  const detail = `${failure.message} (try ${tries + 1} of ${TRIES})`;
  if (tries + 1 >= TRIES || failure instanceof UndeliverableError) {
    return { event: "callback_failed", detail };
  }
  return { event: "callback_retry", detail, wait_ms: WAIT_MIN_MS * WAIT_FACTOR ** tries };
}

export class Callbacks {
  readonly #parts: CallbacksParts;
  readonly #stop = new AbortController();
  readonly #under_way = new Map<string, Promise<void>>();
  #cancelWake: (() => void) | undefined;

  constructor(parts: CallbacksParts) {
    this.#parts = parts;
  }

  /** Sends what is due, and schedules the next call. */
  pump(): void {
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    if (this.#stop.signal.aborted) return;
    const { reports, clock, log } = this.#parts;
    try {
      for (const callback of reports.due(clock.now(), WAIT_MAX_MS)) {
        if (this.#under_way.size >= AT_ONCE) return;
        const key = `${callback.task_id} ${callback.id}`;
        if (this.#under_way.has(key)) continue;
        const sending = this.#send(callback).finally(() => {
          this.#under_way.delete(key);
          this.pump();
        });
        this.#under_way.set(key, sending);
      }
      const due = reports.nextDue();
      if (due !== undefined && this.#under_way.size === 0) this.#wakeAfter(due - clock.now());
    } catch (error) {
      log.error("cannot read the callbacks", { error: messageOf(error) });
      this.#wakeAfter(READ_AGAIN_MS);
    }
  }

  #wakeAfter(ms: number): void {
    this.#cancelWake = this.#parts.clock.after(Math.max(ms, 1), () => this.pump());
  }

  /** Never rejects. */
  async #send(callback: DueCallback): Promise<void> {
    const { reports, take, clock, log } = this.#parts;
    const { task_id } = callback;
    try {
      const record = await take(callback, WAIT_MAX_MS);
      if (record === undefined) return;
      const failure = await this.#attempt(callback, record);
      if (this.#stop.signal.aborted) return;
      const now = clock.now();
      const { event, detail, wait_ms } = afterTry(callback.tries, failure);
      if (wait_ms === undefined) return await reports.end(callback, event, detail, now);
      await reports.postpone(callback, now + wait_ms, detail, now);
    } catch (error) {
      log.error("cannot record a callback", { task_id, error: messageOf(error) });
      // It is still due and would be sent again immediately.
      await pause(clock, RECORD_AGAIN_MS, this.#stop.signal);
    }
  }

  async #attempt(callback: DueCallback, record: TaskRecord): Promise<Error | undefined> {
    try {
      await this.#parts.deliver(callback, record, this.#stop.signal);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Aborts callbacks in progress; they stay due. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#cancelWake?.();
    await Promise.all(this.#under_way.values());
  }
}
