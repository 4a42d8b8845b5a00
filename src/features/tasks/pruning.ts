/** Removes old tasks and their files, and returns the space to the system. */
import { setImmediate } from "node:timers/promises";
import { messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../os/log.ts";
import type { LocalArtifacts } from "./artifacts.ts";
import type { TaskStore } from "./store.ts";

interface PruningParts {
  store: Pick<TaskStore, "prune" | "has_space" | "giveBack">;
  artifacts: Pick<LocalArtifacts, "tasks" | "remove">;
  log: Log;
  clock: Clock;
  /** Ended tasks to keep. */
  keep: number;
  /** Whether nobody waits for the database. */
  idle(): boolean;
}

/** In ended tasks. */
const PRUNE_EVERY = 250;
/** How long after a removal space is returned, if nothing else is to be done then. */
export const GIVE_BACK_AFTER_MS = 10_000;

export class Pruning {
  readonly #parts: PruningParts;
  #ended = 0;
  #removing = Promise.resolve();
  #giving = Promise.resolve();
  #cancelGiving: (() => void) | undefined;
  #closed = false;

  constructor(parts: PruningParts) {
    this.#parts = parts;
  }

  ended(): void {
    if (++this.#ended >= PRUNE_EVERY) this.prune();
  }

  /** Removes the oldest ended tasks, even if their files cannot be removed. */
  prune(): void {
    const { store, keep } = this.#parts;
    this.#ended = 0;
    try {
      const ids = store.prune(keep);
      if (ids.length > 0) this.#removing = this.#removing.then(() => this.#removeFiles(ids));
      if (store.has_space) this.#giveBackLater();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Never rejects. */
  async #removeFiles(ids: readonly string[]): Promise<void> {
    const { artifacts } = this.#parts;
    try {
      // Most tasks have none, and a failed removal takes as long as one that finds files.
      const having = new Set(await artifacts.tasks());
      for (const id of ids) {
        if (having.has(id)) await artifacts.remove(id).catch((error) => this.#failed(error));
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#parts.log.warn("cannot remove old tasks", { error: messageOf(error) });
  }

  #giveBackLater(): void {
    if (this.#closed || this.#cancelGiving !== undefined) return;
    this.#cancelGiving = this.#parts.clock.after(GIVE_BACK_AFTER_MS, () => {
      this.#cancelGiving = undefined;
      this.#giving = this.#giveBack();
    });
  }

  /** Returns space piece by piece, and goes on later when a task comes. Never rejects. */
  async #giveBack(): Promise<void> {
    const { store, log, idle } = this.#parts;
    try {
      while (!this.#closed && store.has_space) {
        if (!idle()) return this.#giveBackLater();
        store.giveBack();
        await setImmediate();
      }
    } catch (error) {
      log.warn("cannot return unused space of the database", { error: messageOf(error) });
    }
  }

  /** Resolves when the files of removed tasks are deleted, and the database is no longer used. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelGiving?.();
    await Promise.all([this.#removing, this.#giving]);
  }
}
