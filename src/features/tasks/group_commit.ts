import { setImmediate } from "node:timers";

interface GroupCommitParts {
  /** Does all of `work` or nothing. */
  transaction(work: () => void): void;
  /** Called after each commit. */
  onCommitted(): void;
}

interface Write {
  work(): void;
  written(): void;
  failed(error: unknown): void;
}

/** So many writes wait for no others. */
const WRITES_MAX = 256;

/**
 * Commits what comes in successive turns of the event loop at once: a commit waits for the disk, and
 * the requests that one look at the network brings take several turns.
 */
export class GroupCommit {
  readonly #parts: GroupCommitParts;
  #writes: Write[] = [];

  constructor(parts: GroupCommitParts) {
    this.#parts = parts;
  }

  get idle(): boolean {
    return this.#writes.length === 0;
  }

  /**
   * Does `work` in the next transaction, then calls `then` in the same turn, and returns its
   * result. @throws what any work of the transaction throws; nothing of it is written then
   */
  add<T, R>(work: () => T, then: (result: T) => R): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    let result: T;
    const count = this.#writes.push({
      work: () => void (result = work()),
      written: () => resolve(then(result)),
      failed: reject,
    });
    if (count === 1) this.#flushAfter(0);
    return promise;
  }

  /** Commits in the first turn that brings no more than is known. */
  #flushAfter(known: number): void {
    setImmediate(() => {
      const { length } = this.#writes;
      if (length > known && length < WRITES_MAX) this.#flushAfter(length);
      else this.flush();
    });
  }

  /** Commits what is waiting. */
  flush(): void {
    const writes = this.#writes;
    if (writes.length === 0) return;
    this.#writes = [];
    try {
      this.#parts.transaction(() => writes.forEach(({ work }) => work()));
    } catch (error) {
      for (const { failed } of writes) failed(error);
      return;
    }
    for (const { written, failed } of writes) {
      try {
        written();
      } catch (error) {
        failed(error);
      }
    }
    this.#parts.onCommitted();
  }
}
