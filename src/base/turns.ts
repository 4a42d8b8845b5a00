/**
 * Lets work that keeps the event loop for a moment follow one after another, with everybody else's
 * work between.
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

  /** Waits until it is the caller's turn, which lasts until the caller waits for something. */
  next(): Promise<void> {
    const turn = this.#last;
    this.#last = turn.then(() => new Promise((resolve) => setTimeout(resolve)));
    return turn;
  }
}
