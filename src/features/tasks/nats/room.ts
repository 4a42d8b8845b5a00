/** Limits how many tasks a process runs at once. */
export class Room {
  #limit: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Sets another limit; running tasks continue. */
  set limit(limit: number) {
    this.#limit = limit;
    this.#wake();
  }

  get #free(): boolean {
    return this.#taken < this.#limit;
  }

  /** Takes a place. @returns whether one was free. */
  take(): boolean {
    if (!this.#free) return false;
    this.#taken++;
    return true;
  }

  /** Gives a place back. */
  give(): void {
    this.#taken--;
    this.#wake();
  }

  /** Waits until a place is free, without taking it, or until the signal fires. */
  async free(signal: AbortSignal): Promise<void> {
    while (!this.#free && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => resolve();
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
      await promise;
      signal.removeEventListener("abort", wake);
      this.#waiting.delete(wake);
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}
