/** The forgetting of ended tasks, with the files that they made. */
import { messageOf } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import type { ArtifactStore } from "./artifacts.ts";
import type { TaskStore } from "./store.ts";

export interface PruningParts {
  store: Pick<TaskStore, "prune">;
  artifacts: Pick<ArtifactStore, "remove">;
  log: Log;
  /** How many ended tasks stay. */
  keep: number;
}

/** The oldest are forgotten whenever so many more have ended. */
const PRUNE_EVERY = 250;

export class Pruning {
  readonly #parts: PruningParts;
  #ended = 0;
  #removing = Promise.resolve();

  constructor(parts: PruningParts) {
    this.#parts = parts;
  }

  /** Counts a task that has ended. */
  ended(): void {
    if (++this.#ended >= PRUNE_EVERY) this.prune();
  }

  /** Forgets the oldest ended tasks; one whose files cannot be removed is gone all the same. */
  prune(): void {
    const { store, artifacts, log, keep } = this.#parts;
    this.#ended = 0;
    const failed = (error: unknown) =>
      log.warn("old tasks cannot be removed", { error: messageOf(error) });
    try {
      const ids = store.prune(keep);
      this.#removing = this.#removing.then(async () => {
        for (const id of ids) await artifacts.remove(id).catch(failed);
      });
    } catch (error) {
      failed(error);
    }
  }

  /** Resolves when the files of what was forgotten are removed. */
  close(): Promise<void> {
    return this.#removing;
  }
}
