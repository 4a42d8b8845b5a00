/** Forgets the oldest ended tasks, with their log and what they made. */
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
  /** What executors keep of tasks on this machine. */
  files: LocalArtifacts;
  log: Log;
  /** Whether they are removed from the server, too; else others do that. */
  forgets: boolean;
  /** How many ended tasks are kept. */
  keep: number;
}

/** Tasks that end before the oldest are looked for again. */
const PRUNE_EVERY = 250;

export class Retention {
  readonly #parts: RetentionParts;
  #ended = 0;
  #pruning = Promise.resolve();

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** Another task has ended. */
  onEnded(): void {
    if (++this.#ended % PRUNE_EVERY === 0) this.prune();
  }

  /** Forgets what is too much; one whose end is still to be reported stays. */
  prune(): void {
    const { index, reports, keep } = this.#parts;
    const ids = index.surplus(keep).filter((id) => !reports.has(id));
    if (ids.length > 0) this.#pruning = this.#pruning.then(() => this.#forget(ids));
  }

  /** Removes what is on this machine of tasks that others have forgotten. All tasks are known. */
  sweep(): void {
    const { index, files, log } = this.#parts;
    const left_over = async () => {
      const ids = (await files.tasks()).filter((id) => index.get(id) === undefined);
      for (const id of ids) await files.remove(id);
    };
    this.#pruning = this.#pruning.then(left_over).catch((error) =>
      log.warn("files of old tasks cannot be removed", { error: messageOf(error) })
    );
  }

  /** Never rejects: what cannot be removed is so at the next time. */
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
      log.warn("old tasks cannot be removed", { error: messageOf(error) });
    }
  }

  async #purge(id: string): Promise<void> {
    const { bucket, index } = this.#parts;
    const client = index.get(id)?.client;
    await bucket.purge(`${id}.>`);
    if (client !== undefined) await forgetClient(bucket, client);
  }

  /** Resolves when nothing is being removed. */
  async close(): Promise<void> {
    await this.#pruning;
  }
}
