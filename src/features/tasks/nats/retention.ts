/** Removes the oldest ended tasks with their logs and artifacts. */
import { messageOf } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { LocalArtifacts } from "../artifacts.ts";
import type { NatsArtifacts } from "./artifacts.ts";
import type { Bucket } from "./bucket.ts";
import { forgetClient } from "./clients.ts";
import type { TaskIndex } from "./index.ts";
import type { NatsReports } from "./reports.ts";

export interface RetentionParts {
  bucket: Bucket;
  index: TaskIndex;
  reports: NatsReports;
  artifacts: NatsArtifacts;
  /** The artifacts on this machine. */
  files: LocalArtifacts;
  log: Log;
  /** Whether to remove them from the server too; otherwise another process does. */
  forgets: boolean;
  /** How many ended tasks are kept. */
  keep: number;
}

/** How many tasks end between two searches for the oldest. */
const PRUNE_EVERY = 250;

export class Retention {
  readonly #parts: RetentionParts;
  #ended = 0;
  #pruning = Promise.resolve();

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** Counts a task that has ended. */
  onEnded(): void {
    if (++this.#ended % PRUNE_EVERY === 0) this.prune();
  }

  /** Removes surplus tasks, except those with pending callbacks. */
  prune(): void {
    const { index, reports, keep } = this.#parts;
    const ids = index.surplus(keep).filter((id) => !reports.has(id));
    if (ids.length > 0) this.#pruning = this.#pruning.then(() => this.#forget(ids));
  }

  /**
   * Removes the local files of tasks that other processes have removed. Call it when all tasks are
   * known.
   */
  sweep(): void {
    const { index, files, log } = this.#parts;
    const left_over = async () => {
      const ids = (await files.tasks()).filter((id) => index.get(id) === undefined);
      for (const id of ids) await files.remove(id);
    };
    this.#pruning = this.#pruning.then(left_over).catch((error) =>
      log.warn("cannot remove the files of old tasks", { error: messageOf(error) })
    );
  }

  /** Never rejects: what could not be removed is tried again the next time. */
  async #forget(ids: readonly string[]): Promise<void> {
    const { index, reports, artifacts, files, log, forgets } = this.#parts;
    try {
      if (forgets) await artifacts.remove(new Set(ids));
      for (const id of ids) {
        await files.remove(id);
        if (forgets) await this.#purge(id);
        index.forget(id);
        reports.forget(id);
      }
    } catch (error) {
      log.warn("cannot remove old tasks", { error: messageOf(error) });
    }
  }

  async #purge(id: string): Promise<void> {
    const { bucket, index } = this.#parts;
    const client = index.get(id)?.client;
    await bucket.purge(`${id}.>`);
    if (client !== undefined) await forgetClient(bucket, client);
  }

  /** Resolves when no removal is in progress. */
  async close(): Promise<void> {
    await this.#pruning;
  }
}
