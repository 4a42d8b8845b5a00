/**
 * Runs work that blocks the event loop one after another, with other work between.
 *
 * @example
 * ```ts
 * const starts = new Turns();
 * await starts.next();
 * new Deno.Command("true").spawn();
 * ```
 */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Waits for the caller's turn, which lasts until its next await. */
  next(): Promise<void> {
    const turn = this.#last;
    this.#last = turn.then(() => new Promise((resolve) => setTimeout(resolve)));
    return turn;
  }
}
