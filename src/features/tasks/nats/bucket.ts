/**
 * The key-value bucket of the engine. The revision in a write decides between concurrent changes of
 * a key. A value with a `line` is also a line of the log, so a step and its line cannot exist
 * without each other.
 *
 * Keys: `<task_id>.record`, `<task_id>.callbacks`, `<task_id>.note.<…>`, `queue.record` for the
 * settings of all machines, `client.<digest>.claim` for requests that must not create a second
 * task.
 */
import {
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JsMsg,
} from "@nats-io/jetstream";
import type { TaskLogEntry } from "../task.ts";
import { type Jet, type NatsLink, RECORDS } from "./link.ts";
import { requireFits } from "./payload.ts";

/** A line of the log. */
export interface Line {
  at: string;
  event: string;
  detail?: string;
}

/** The value of a key at one revision. */
export interface Revision<T> {
  value: T;
  revision: number;
}

/** Selects the messages to read. */
export interface ReadOptions {
  /** The first revision; by default the newest of each key. */
  from?: number;
  /** Whether to wait for more after the last one. */
  live: boolean;
  /** Ends the read. */
  signal?: AbortSignal;
  /** Called when everything that existed at the start has been read. */
  onCaughtUp?(): void;
}

/** The revision of a key that does not exist yet. */
export const NONE = 0;
/** The first part of the key for the settings of all machines. */
const QUEUE = "queue";
export const SETTINGS_KEY = `${QUEUE}.record`;

/** The number of messages requested at once. */
const BATCH = 250;
/** How long a batch may take, in milliseconds: it fills immediately unless messages are missing. */
const SILENCE_MS = 1_000;

const STREAM = `KV_${RECORDS}`;
const PREFIX = `$KV.${RECORDS}.`;

export class Bucket {
  readonly #link: NatsLink;

  constructor(link: NatsLink) {
    this.#link = link;
  }

  /** Returns the value of a key. @throws {SvcError} unavailable. */
  async get<T>(key: string): Promise<Revision<T> | undefined> {
    const entry = await this.#link.use(({ records }) => records.get(key));
    if (entry === null || entry.operation !== "PUT") return undefined;
    return { value: entry.json<T>(), revision: entry.revision };
  }

  /**
   * Changes a key.
   *
   * @param revision its current revision; {@linkcode NONE} for a new key
   * @returns its new revision; undefined when somebody else has changed it meanwhile
   * @throws {SvcError} unavailable; payload_too_large
   */
  async write(key: string, value: unknown, revision: number): Promise<number | undefined> {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    return await this.#link.use(async ({ nc, records }) => {
      requireFits(nc, bytes);
      try {
        if (revision === NONE) return await records.create(key, bytes);
        return await records.update(key, bytes, revision);
      } catch (error) {
        if (isConflict(error)) return undefined;
        throw error;
      }
    });
  }

  /**
   * Changes a key despite concurrent changes.
   *
   * @param next returns the new value; undefined to keep the current one
   * @returns the current value, and whether it was changed
   * @throws {SvcError} unavailable; payload_too_large; anything that `next` throws
   */
  async change<T>(
    key: string,
    next: (value: T | undefined) => T | undefined,
  ): Promise<{ now?: Revision<T>; changed: boolean }> {
    while (true) {
      const found = await this.get<T>(key);
      const value = next(found?.value);
      if (value === undefined) return { now: found, changed: false };
      const revision = await this.write(key, value, found?.revision ?? NONE);
      if (revision !== undefined) return { now: { value, revision }, changed: true };
    }
  }

  /** Removes keys with their history. @param keys a key, or a pattern with `*` and `>` */
  async purge(keys: string): Promise<void> {
    await this.#link.use(({ jsm }) => jsm.streams.purge(STREAM, { filter: `${PREFIX}${keys}` }));
  }

  /**
   * Yields messages in order.
   *
   * @param keys a key, or a pattern with `*` and `>`
   * @throws {SvcError} unavailable
   */
  async *read(keys: string, options: ReadOptions): AsyncGenerator<JsMsg> {
    const { live, signal, onCaughtUp } = options;
    let { from } = options;
    for await (const message of this.#backlog(keys, from, signal)) {
      from = message.seq + 1;
      yield message;
    }
    if (signal?.aborted) return;
    onCaughtUp?.();
    if (live) yield* this.#news(keys, from, signal);
  }

  /** Yields the existing messages. */
  async *#backlog(
    keys: string,
    from: number | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<JsMsg> {
    while (!signal?.aborted) {
      const consumer = await this.#link.use((jet) => reader(jet, keys, from));
      try {
        let { num_pending: left } = await consumer.info(true);
        // Missing messages of a batch were purged meanwhile or lost on the way; a new consumer
        // shows which.
        for (let came = BATCH; left > 0 && came === BATCH;) {
          came = 0;
          const batch = await consumer.fetch({ max_messages: BATCH, expires: SILENCE_MS });
          for await (const message of until(batch, signal)) {
            came++;
            left = message.info.pending;
            from = message.seq + 1;
            yield message;
            if (left === 0) break;
          }
        }
        if (left === 0) return;
      } finally {
        await forget(consumer);
      }
    }
  }

  /** Yields new messages until the signal fires. */
  async *#news(
    keys: string,
    from: number | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<JsMsg> {
    const consumer = await this.#link.use((jet) => reader(jet, keys, from));
    try {
      yield* until(await consumer.consume(), signal);
    } finally {
      await forget(consumer);
    }
  }

  /** Returns the lines of a task's log so far. @throws {SvcError} unavailable. */
  async lines(task_id: string): Promise<TaskLogEntry[]> {
    const entries: TaskLogEntry[] = [];
    for await (const message of this.read(`${task_id}.>`, { from: 1, live: false })) {
      entries.push(...logEntries(message));
    }
    return entries;
  }

  /** Returns the newest `n` lines of the log, oldest first. @throws {SvcError} unavailable. */
  async tail(n: number): Promise<TaskLogEntry[]> {
    const { first_seq, last_seq } = await this.#link.use(async ({ jsm }) =>
      (await jsm.streams.info(STREAM)).state
    );
    // Removed tasks leave gaps.
    for (let from = last_seq - 2 * n;; from = first_seq) {
      const entries: TaskLogEntry[] = [];
      const read = this.read(">", { from: Math.max(from, first_seq), live: false });
      for await (const message of read) entries.push(...logEntries(message));
      if (entries.length >= n || from <= first_seq) return entries.slice(-n);
    }
  }
}

function reader({ js }: Jet, keys: string, from: number | undefined): Promise<Consumer> {
  return js.consumers.get(STREAM, {
    filter_subjects: `${PREFIX}${keys}`,
    ...(from === undefined
      ? { deliver_policy: DeliverPolicy.LastPerSubject }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: Math.max(from, 1) }),
  });
}

/** Yields messages until the signal fires. */
async function* until(
  messages: ConsumerMessages,
  signal: AbortSignal | undefined,
): AsyncGenerator<JsMsg> {
  const stop = () => void messages.close();
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    yield* messages;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Removes a consumer from the server immediately; the server itself would do so after a while. */
async function forget(consumer: Consumer): Promise<void> {
  await consumer.delete().catch(() => {});
}

/** Splits the key of a message into its parts. */
export function keyOf({ subject }: JsMsg): string[] {
  return subject.slice(PREFIX.length).split(".");
}

/** Returns the lines that a message adds to the log. */
export function logEntries(message: JsMsg): TaskLogEntry[] {
  const [name] = keyOf(message);
  const { line } = message.json<{ line?: Line }>();
  if (line === undefined) return [];
  return [{ seq: message.seq, ...(name === QUEUE ? {} : { task_id: name }), ...line }];
}

function isConflict(error: unknown): boolean {
  return error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
      error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown);
}
