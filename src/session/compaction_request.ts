/** A compaction that was asked for and waits for the session to be between two model calls. */
import type { Compacted } from "../protocol/events.ts";

export class CompactionRequest {
  #asked: PromiseWithResolvers<Compacted | undefined> | undefined;

  get waits(): boolean {
    return this.#asked !== undefined;
  }

  /** Asks for one; those who ask while it waits share it. */
  ask(): Promise<Compacted | undefined> {
    this.#asked ??= Promise.withResolvers();
    return this.#asked.promise;
  }

  /** Does it, if it was asked for. @param failure what those who asked are told instead of an error. */
  async run(
    work: () => Promise<Compacted | undefined>,
    failure: () => Error | undefined,
  ): Promise<void> {
    const asked = this.#asked;
    if (asked === undefined) return;
    this.#asked = undefined;
    try {
      asked.resolve(await work());
    } catch (error) {
      asked.reject(failure() ?? error);
    }
  }

  refuse(error: Error): void {
    this.#asked?.reject(error);
    this.#asked = undefined;
  }
}
