/** Lazy values. */

/** A value made at its first use; see {@linkcode Opener} for what may fail or takes time. */
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** A value loaded or opened at its first use; retried after a failure. */
export class Opener<T> {
  readonly #open: () => Promise<T>;
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
