/** The drafts of a daemon; their database is opened when a client first sends a message. */
import type { DatabaseSync } from "node:sqlite";
import { Opener } from "../../../base/lazy.ts";
import type { Draft, DraftStore } from "./draft_store.ts";

export class Drafts {
  readonly #store: Opener<DraftStore>;
  /** The last work on each draft or message in progress. */
  readonly #last = new Map<string, Promise<void>>();

  readonly #shared: () => boolean;

  /** @param shared whether every hirer sees the drafts of all others */
  constructor(openDb: () => Promise<DatabaseSync>, shared: () => boolean) {
    this.#shared = shared;
    this.#store = new Opener(async () => {
      const { DraftStore } = await import("./draft_store.ts");
      return new DraftStore(await openDb());
    });
  }

  /** @throws {SvcError} if the database cannot be opened */
  store(): Promise<DraftStore> {
    return this.#store.get();
  }

  /** Returns a draft that a hirer may see and that has not become a task. */
  async seenBy(key_id: string, id: string): Promise<Draft | undefined> {
    const draft = (await this.store()).get(id);
    if (draft === undefined || draft.state === "done") return undefined;
    return this.#shared() || draft.key_id === key_id ? draft : undefined;
  }

  /** Does work after all other work for the same key, so that a draft changes once at a time. */
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
