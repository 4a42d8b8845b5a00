/** Gives up on an answer that does not start, stalls or does not end. */
import { formatDuration } from "../base/duration.ts";
import type { AnswerLimits } from "./answer_limits.ts";
import type { TextJoiner } from "./joined_text.ts";
import { ModelError } from "./model.ts";

/** Few, because each attempt may wait for the whole limit. */
const SILENT_ATTEMPTS = 3;
const ENDLESS_ATTEMPTS = 2;

/** The time limits of one request. */
export class AnswerClock {
  readonly #limits: AnswerLimits;
  /** The provider's name, for errors. */
  readonly #name: string;
  readonly #began = performance.now();
  #heard = false;

  constructor(limits: AnswerLimits, name: string) {
    this.#limits = limits;
    this.#name = name;
  }

  /** @throws {ModelError} if a limit passes first; the signal's reason if that fires first */
  async within<T>(step: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
    signal?.throwIfAborted();
    const { promise: given_up, reject } = Promise.withResolvers<never>();
    const { ms, error } = this.#next();
    const timer = setTimeout(() => reject(error()), ms);
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([step, given_up]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * Applies the limits to the reads of a body. No timer runs while nobody reads.
   *
   * @param signal also ends the body: a fetch forgets its signal when its response is collected
   * @param joiner merges events that arrive together
   */
  limited(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    signal: AbortSignal | null | undefined,
    joiner?: TextJoiner,
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    const reader = body.getReader();
    // Also before the first read: whoever was told of the abort may never read.
    const abort = () => void reader.cancel(signal?.reason).catch(() => {});
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    const over = () => signal?.removeEventListener("abort", abort);
    return new ReadableStream({
      pull: async (controller) => {
        try {
          const { done, value } = await this.within(reader.read(), signal);
          if (done) {
            // An abort ends the body too: that is no end of the answer.
            signal?.throwIfAborted();
            over();
            return controller.close();
          }
          this.#heard = true;
          controller.enqueue(joiner?.join(value) ?? value);
        } catch (error) {
          over();
          reader.cancel().catch(() => {});
          throw error;
        }
      },
      cancel: (reason) => {
        over();
        return reader.cancel(reason);
      },
    }, { highWaterMark: 0 });
  }

  #next(): { ms: number; error: () => ModelError } {
    const { first_byte_ms, idle_ms, answer_ms } = this.#limits;
    const spent_ms = performance.now() - this.#began;
    const left_ms = Math.max(0, answer_ms - spent_ms);
    const silent_ms = this.#heard ? idle_ms : Math.max(0, first_byte_ms - spent_ms);
    if (left_ms <= silent_ms) {
      return {
        ms: left_ms,
        error: () => this.#error("did not finish its answer within", answer_ms, "answer_timeout"),
      };
    }
    return {
      ms: silent_ms,
      error: () =>
        this.#heard
          ? this.#error("sent nothing more for", idle_ms, "idle_timeout")
          : this.#error("sent nothing for", first_byte_ms, "first_byte_timeout"),
    };
  }

  #error(what: string, limit_ms: number, key: string): ModelError {
    return new ModelError(
      `${this.#name} ${what} ${formatDuration(limit_ms)} ([agent] ${key} in daemon.toml)`,
      {
        retryable: true,
        attempts: key === "answer_timeout" ? ENDLESS_ATTEMPTS : SILENT_ATTEMPTS,
      },
    );
  }
}
