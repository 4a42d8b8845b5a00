import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/base/clock.ts";

/** A clock that stands until it is moved. */
export class FakeClock implements Clock {
  #now: number;
  /** The clock that does not jump. */
  #elapsed = 0;
  #timers = new Set<{ at: number; call: () => void }>();

  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.#elapsed + ms, call };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Number of timers that wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Sets the time of day without any time passing. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Lets time pass, timer by timer; what they start may run on in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await settle();
    while (true) {
      const next = [...this.#timers].sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#timers.delete(next);
      this.#now += next.at - this.#elapsed;
      this.#elapsed = next.at;
      next.call();
      await settle();
    }
    this.#now += end - this.#elapsed;
    this.#elapsed = end;
  }
}

/** Lets everything run that needs no time. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}
