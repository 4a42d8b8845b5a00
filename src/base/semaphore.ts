/** Limits concurrent work. Callers get slots in order of arrival. */
export class Semaphore {
  #limit: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Running work continues. */
  set limit(limit: number) {
    this.#limit = limit;
    this.#wake();
  }

  /**
   * Waits for a slot; returns a function that releases it, once.
   *
   * @param onWait called if none is free
   * @throws the signal's reason
   */
  async take(signal: AbortSignal, onWait?: () => void): Promise<() => void> {
    signal.throwIfAborted();
    if (!this.tryTake()) {
      onWait?.();
      await this.#next(() => this.tryTake(), signal);
    }
    let held = true;
    return () => {
      if (held) this.release();
      held = false;
    };
  }

  /** Takes a free slot, if any; {@linkcode release} gives it back. */
  tryTake(): boolean {
    if (!this.#free) return false;
    this.#taken++;
    return true;
  }

  /** Releases a slot that {@linkcode tryTake} took. */
  release(): void {
    this.#taken--;
    this.#wake();
  }

  /** Waits until a slot is free, without taking it. @throws the signal's reason */
  async free(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#free) await this.#next(() => this.#free, signal);
  }

  get #free(): boolean {
    return this.#taken < this.#limit;
  }

  /** Waits in the queue until `ready` returns true. */
  #next(ready: () => boolean, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => {
      this.#waiting.delete(wake);
      reject(signal.reason);
    };
    const wake = () => {
      if (!ready()) return;
      this.#waiting.delete(wake);
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#waiting.add(wake);
    return promise;
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
