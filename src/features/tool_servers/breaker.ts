import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Clock } from "../../base/clock.ts";

/** Failures in a row that open the breaker (contract.md section 7, as the times below). */
const FAILURES = 5;
const OPEN_MIN_MS = 10_000;
const OPEN_MAX_MS = 5 * 60_000;

/** `half_open`: the next attempt is a probe; no other is made while it runs. */
export type BreakerState = "closed" | "open" | "half_open" | "probing";

/** What an attempt shows about the server. */
export type Verdict = "failed" | "well" | "nothing";

/** A circuit breaker: stops calls to a server that fails all of them. */
export class Breaker {
  readonly #clock: Clock;
  readonly #onOpen: () => void;
  #state: BreakerState = "closed";
  #failures = 0;
  #open_ms = 0;
  #retry_at: string | undefined;
  #stopTimer = () => {};

  constructor(clock: Clock, onOpen: () => void = () => {}) {
    this.#clock = clock;
    this.#onOpen = onOpen;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** While it is open: when it allows the next probe, as RFC 3339 in UTC. */
  get retry_at(): string | undefined {
    return this.#state === "open" ? this.#retry_at : undefined;
  }

  /**
   * Makes an attempt.
   *
   * @param verdict what an error ("nothing" if the caller gave up) and a success show
   * @throws {SvcError} internal, while the breaker is open
   */
  async attempt<T>(
    work: () => Promise<T>,
    verdict: { error(error: unknown): Verdict; success: Verdict },
  ): Promise<T> {
    const probe = this.#enter();
    try {
      const result = await work();
      this.#settle(probe, verdict.success);
      return result;
    } catch (error) {
      this.#settle(probe, verdict.error(error));
      throw error;
    }
  }

  close(): void {
    this.#stopTimer();
  }

  #enter(): boolean {
    if (this.#state === "closed") return false;
    if (this.#state === "half_open") {
      this.#state = "probing";
      return true;
    }
    const wait = this.#state === "probing"
      ? "one test call is in progress"
      : `calls are paused for ${formatDuration(this.#open_ms)}`;
    throw new SvcError("internal", `it failed ${this.#failures} times in a row; ${wait}`);
  }

  #settle(probe: boolean, verdict: Verdict): void {
    // Attempts that began before it opened do not decide when it closes.
    if (!probe && this.#state !== "closed") return;
    if (verdict === "well") {
      this.#state = "closed";
      this.#failures = this.#open_ms = 0;
    } else if (verdict === "nothing") {
      if (probe) this.#state = "half_open";
    } else if (++this.#failures >= FAILURES) this.#open();
  }

  #open(): void {
    this.#state = "open";
    this.#open_ms = Math.min(Math.max(this.#open_ms * 2, OPEN_MIN_MS), OPEN_MAX_MS);
    this.#retry_at = new Date(this.#clock.now() + this.#open_ms).toISOString();
    this.#stopTimer = this.#clock.after(this.#open_ms, () => this.#state = "half_open");
    this.#onOpen();
  }
}
