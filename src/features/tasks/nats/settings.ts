/** What has been set for the queue on all machines. */
import { type Bucket, type Line, NONE, type Revision, SETTINGS_KEY } from "./bucket.ts";

export interface Settings {
  paused?: boolean;
  /** Tasks of the queue that one process runs at once. */
  workers?: number;
  line?: Line;
}

export class QueueSettings {
  readonly #bucket: Bucket;
  readonly #onChanged: (settings: Settings) => void;
  #known: Revision<Settings> = { value: {}, revision: NONE };

  /** @param onChanged called with what holds from now on. */
  constructor(bucket: Bucket, onChanged: (settings: Settings) => void) {
    this.#bucket = bucket;
    this.#onChanged = onChanged;
  }

  get value(): Settings {
    return this.#known.value;
  }

  /** Takes what the server tells, unless something later is known. */
  apply(settings: Revision<Settings>): void {
    if (settings.revision <= this.#known.revision) return;
    this.#known = settings;
    this.#onChanged(settings.value);
  }

  /** The server has nothing any more. */
  clear(): void {
    this.#known = { value: {}, revision: NONE };
    this.#onChanged({});
  }

  /**
   * Sets something for all machines, and says so in the log as `event`.
   *
   * @throws {SvcError} unavailable.
   */
  async set<K extends "paused" | "workers">(
    name: K,
    value: Settings[K],
    { event, at }: { event: string; at: string },
  ): Promise<void> {
    const { now, changed } = await this.#bucket.change<Settings>(SETTINGS_KEY, (before = {}) => {
      if (before[name] === value) return undefined;
      return { ...before, [name]: value, line: { at, event, detail: String(value) } };
    });
    if (changed) this.apply(now!);
  }
}
