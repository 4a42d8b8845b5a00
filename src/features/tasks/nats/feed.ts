/** Receives every change on the server in order; everything known in this process comes from it. */
import type { JsMsg } from "@nats-io/jetstream";
import { delay } from "@std/async";
import { messageOf } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import { type Bucket, keyOf, SETTINGS_KEY } from "./bucket.ts";
import type { TaskIndex } from "./index.ts";
import type { NatsReports, StoredCallbacks } from "./reports.ts";
import type { QueueSettings, Settings } from "./settings.ts";
import type { StoredTask } from "./transitions.ts";

export interface FeedParts {
  bucket: Bucket;
  index: TaskIndex;
  reports: NatsReports;
  settings: QueueSettings;
  log: Log;
  /** Called when a callback may be due. */
  onReport(): void;
  /** Called when everything that existed at the start of a connection is known. */
  onCaughtUp(): void;
}

/** The keys that are received: records, callbacks, settings. */
const KEYS = "*.*";
const AGAIN_MS = 1_000;

export class Feed {
  readonly #parts: FeedParts;
  readonly #caught_up = Promise.withResolvers<void>();
  /** Distinguishes the bucket from one that the server has created since. */
  #created = "";
  /** The last change that was received. */
  #seen = 0;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  /** Resolves when everything that existed before is known for the first time. */
  get caught_up(): Promise<void> {
    return this.#caught_up.promise;
  }

  /**
   * Receives every change as it is made, until the signal fires. Never rejects.
   *
   * @param created when the server created the bucket
   */
  async follow(created: string, signal: AbortSignal): Promise<void> {
    if (created !== this.#created) this.#beginAnew(created);
    const { bucket, log } = this.#parts;
    const onCaughtUp = () => {
      this.#caught_up.resolve();
      this.#parts.onCaughtUp();
    };
    while (!signal.aborted) {
      const from = this.#seen === 0 ? undefined : this.#seen + 1;
      try {
        for await (const message of bucket.read(KEYS, { from, live: true, signal, onCaughtUp })) {
          this.#seen = message.seq;
          this.#take(message);
        }
      } catch (error) {
        log.debug("cannot follow the tasks", { error: messageOf(error) });
        await delay(AGAIN_MS, { signal }).catch(() => {});
      }
    }
  }

  /** The server was set up anew and has lost everything that is known here. */
  #beginAnew(created: string): void {
    const { index, reports, settings } = this.#parts;
    this.#created = created;
    this.#seen = 0;
    index.clear();
    reports.clear();
    settings.clear();
  }

  #take(message: JsMsg): void {
    try {
      this.#apply(message);
    } catch (error) {
      const { subject } = message;
      this.#parts.log.warn("skipping an invalid message", {
        subject,
        error: messageOf(error),
      });
    }
  }

  #apply(message: JsMsg): void {
    const { index, reports, settings, onReport } = this.#parts;
    const [name, kind] = keyOf(message);
    const { seq: revision } = message;
    if (kind === "callbacks") {
      reports.apply(name, { value: message.json<StoredCallbacks>(), revision });
      onReport();
    } else if (`${name}.${kind}` === SETTINGS_KEY) {
      settings.apply({ value: message.json<Settings>(), revision });
    } else {
      index.apply({ value: message.json<StoredTask>(), revision });
    }
  }
}
