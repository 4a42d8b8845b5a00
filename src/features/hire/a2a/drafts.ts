/** The drafts of a daemon; their database is opened when a client first sends a message. */
import type { DatabaseSync } from "node:sqlite";
import { Opener } from "../../../base/lazy.ts";
import type { DraftStore } from "./draft_store.ts";

export class Drafts {
  readonly #store: Opener<DraftStore>;
  /** The last work on each draft or message that is being worked on. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(openDb: () => Promise<DatabaseSync>) {
    this.#store = new Opener(async () => {
      const { DraftStore } = await import("./draft_store.ts");
      return new DraftStore(await openDb());
    });
  }

  /** @throws {SvcError} when the database cannot be opened */
  store(): Promise<DraftStore> {
    return this.#store.get();
  }

  /** Does work after all other work for the same key, so that no two change one draft at once. */
  async inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(key, promise);
    await before;
    try {
      return await work();
    } finally {
      if (this.#last.get(key) === promise) this.#last.delete(key);
      resolve();
    }
  }

  async close(): Promise<void> {
    (await this.#store.opened?.catch(() => undefined))?.close();
  }
}
