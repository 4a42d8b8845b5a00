/** Removes old tasks and their files. */
import { messageOf } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import type { ArtifactStore } from "./artifacts.ts";
import type { TaskStore } from "./store.ts";

interface PruningParts {
  store: Pick<TaskStore, "prune">;
  artifacts: Pick<ArtifactStore, "remove">;
  log: Log;
  /** Ended tasks to keep. */
  keep: number;
}

/** In ended tasks. */
const PRUNE_EVERY = 250;

export class Pruning {
  readonly #parts: PruningParts;
  #ended = 0;
  #removing = Promise.resolve();

  constructor(parts: PruningParts) {
    this.#parts = parts;
  }

  ended(): void {
    if (++this.#ended >= PRUNE_EVERY) this.prune();
  }

  /** Removes the oldest ended tasks, even if their files cannot be removed. */
  prune(): void {
    const { store, artifacts, log, keep } = this.#parts;
    this.#ended = 0;
    const failed = (error: unknown) =>
      log.warn("cannot remove old tasks", { error: messageOf(error) });
    try {
      const ids = store.prune(keep);
      this.#removing = this.#removing.then(async () => {
        for (const id of ids) await artifacts.remove(id).catch(failed);
      });
    } catch (error) {
      failed(error);
    }
  }

  /** Resolves when the files of removed tasks are gone. */
  close(): Promise<void> {
    return this.#removing;
  }
}
