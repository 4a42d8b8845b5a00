/**
 * Tasks that clients name with an `Idempotency-Key`: each key of a client is one task, however
 * often and over however many connections it is requested. The task engine decides which request
 * came first.
 */
import { SvcError } from "../../protocol/errors.ts";
import { KEYED, type TaskClient } from "../tasks/client_store.ts";
import { newTaskId } from "../tasks/common.ts";
import type { TaskEngine } from "../tasks/engine.ts";
import { hasEnded, type TaskRecord } from "../tasks/task.ts";
import { contentHash, readIdempotencyKey } from "./idempotency_key.ts";

/** A request with a key, as its header has it. */
export interface KeyedRequest {
  engine: TaskEngine;
  /** The key id of the client's token; empty if no token is needed. */
  key_id: string;
  idempotency_key: string;
  /** The body as the client sent it. */
  body: unknown;
}

/** What identifies a new task. */
export interface NamedTask {
  id: string;
  client: TaskClient;
}

/** What is kept of a request, in place of a message. */
interface Kept {
  body_sha256: string;
}

interface Keyed {
  engine: TaskEngine;
  key: string;
  /** The id of the task, if the request creates one. */
  id: string;
  client: TaskClient & { message: Kept };
}

/** The connections that wait for the same task. */
interface Waiting {
  connections: number;
  /** Whether a client without a connection expects the task, too. */
  promised: boolean;
  stop: AbortController;
}

export class KeyedTasks {
  readonly #waiting = new Map<string, Waiting>();

  /**
   * Returns the record of the key's task, which `create` adds to the queue if there is none.
   *
   * @throws {SvcError} validation for an invalid key; conflict when it belongs to another request
   */
  async enqueue(
    request: KeyedRequest,
    create: (named: NamedTask) => Promise<TaskRecord>,
  ): Promise<TaskRecord> {
    const keyed = await keyedBy(request);
    const { waiting, leave } = this.#join(keyed);
    try {
      const record = await once(keyed, create);
      waiting.promised = true;
      return record;
    } finally {
      leave();
    }
  }

  /**
   * Waits for the key's task, which `create` runs if there is none. Its signal fires when the last
   * client that waits has disconnected.
   *
   * @param signal fires when this client disconnects
   * @throws {SvcError} validation for an invalid key; conflict when it belongs to another request
   */
  async run(
    request: KeyedRequest,
    signal: AbortSignal,
    create: (named: NamedTask, signal: AbortSignal) => Promise<TaskRecord>,
  ): Promise<TaskRecord> {
    const keyed = await keyedBy(request);
    const { waiting, leave } = this.#join(keyed);
    signal.addEventListener("abort", leave, { once: true });
    try {
      if (signal.aborted) leave();
      const record = await once(keyed, (named) => create(named, waiting.stop.signal));
      return hasEnded(record) ? record : await endOf(record.id, request.engine, signal);
    } finally {
      signal.removeEventListener("abort", leave);
      leave();
    }
  }

  #join({ client: { key_id, request_id } }: Keyed): { waiting: Waiting; leave(): void } {
    const name = `${key_id} ${request_id}`;
    const waiting = this.#waiting.get(name) ??
      { connections: 0, promised: false, stop: new AbortController() };
    this.#waiting.set(name, waiting);
    waiting.connections++;
    let left = false;
    return {
      waiting,
      leave: () => {
        if (left) return;
        left = true;
        if (--waiting.connections > 0) return;
        this.#waiting.delete(name);
        if (!waiting.promised) waiting.stop.abort();
      },
    };
  }
}

/** @throws {SvcError} validation for an invalid key */
async function keyedBy(
  { engine, key_id, idempotency_key, body }: KeyedRequest,
): Promise<Keyed> {
  const key = readIdempotencyKey(idempotency_key);
  const message = { body_sha256: await contentHash(body) };
  const id = newTaskId();
  const client = { key_id, request_id: `${KEYED}${key}`, context_id: id, message };
  return { engine, id, client, key };
}

async function once(
  { engine, id, client, key }: Keyed,
  create: (named: NamedTask) => Promise<TaskRecord>,
): Promise<TaskRecord> {
  const earlier = await find(await engine.taskOf(client), engine);
  const record = earlier ?? await create({ id, client });
  if (record.id === id) return record;
  const { message } = await engine.client(record.id) ?? client;
  if ((message as Kept).body_sha256 === client.message.body_sha256) return record;
  throw new SvcError(
    "conflict",
    `Idempotency-Key ${JSON.stringify(key)} belongs to task ${record.id}, ` +
      "which was requested with another body",
    { hint: "send the same body to get that task, or a new key for another one" },
  );
}

/** Returns what a client calls its task, without what is kept of a request with a key. */
export function shownClient(client: TaskClient | undefined): TaskClient | undefined {
  return client?.request_id.startsWith(KEYED) ? { ...client, message: null } : client;
}

/** Returns a task's record; undefined when it has been removed. */
async function find(id: string | undefined, engine: TaskEngine): Promise<TaskRecord | undefined> {
  if (id === undefined) return undefined;
  try {
    return await engine.get(id);
  } catch (error) {
    if (error instanceof SvcError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** Waits until a task has ended, or the signal fires. */
async function endOf(id: string, engine: TaskEngine, signal: AbortSignal): Promise<TaskRecord> {
  for await (const _line of engine.follow(id, { since_seq: 0, signal })) {
    // The last line ends the log.
  }
  return await engine.get(id);
}
