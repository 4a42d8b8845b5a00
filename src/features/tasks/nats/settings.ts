/** The settings of the queue for all machines. */
import { type Bucket, type Line, NONE, type Revision, SETTINGS_KEY } from "./bucket.ts";

export interface Settings {
  paused?: boolean;
  /** How many queued tasks one process runs at once. */
  workers?: number;
  line?: Line;
}

export class QueueSettings {
  readonly #bucket: Bucket;
  readonly #onChanged: (settings: Settings) => void;
  #known: Revision<Settings> = { value: {}, revision: NONE };

  /** @param onChanged called with the new settings */
  constructor(bucket: Bucket, onChanged: (settings: Settings) => void) {
    this.#bucket = bucket;
    this.#onChanged = onChanged;
  }

  get value(): Settings {
    return this.#known.value;
  }

  /** Applies a change from the server, unless a later one is known. */
  apply(settings: Revision<Settings>): void {
    if (settings.revision <= this.#known.revision) return;
    this.#known = settings;
    this.#onChanged(settings.value);
  }

  /** Resets the settings, because the server has lost them. */
  clear(): void {
    this.#known = { value: {}, revision: NONE };
    this.#onChanged({});
  }

  /**
   * Sets a value for all machines, and records it in the log as `event`.
   *
   * @throws {SvcError} unavailable
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
