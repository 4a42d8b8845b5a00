/** Parts that are made at their first use. */

/** Something made at its first use, at once; what may fail or is waited for is an {@linkcode Opener}. */
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Something loaded or opened at its first use; where that failed, it is tried again. */
export class Opener<T> {
  readonly #open: () => Promise<T>;
  /** What was opened, or is being opened. */
  opened: Promise<T> | undefined;

  constructor(open: () => Promise<T>) {
    this.#open = open;
  }

  get(): Promise<T> {
    return this.opened ??= this.#open().catch((error) => {
      this.opened = undefined;
      throw error;
    });
  }
}
