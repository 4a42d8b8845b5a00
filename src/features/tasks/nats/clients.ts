/**
 * The clients' identities for their tasks: one key for each request that must create only one task.
 */
import { type ClientPage, type ClientQuery, KEYED, type TaskClient } from "../client_store.ts";
import { noPageToken } from "../common.ts";
import { type Bucket, NONE } from "./bucket.ts";
import type { ClientRef } from "./client_ref.ts";
import type { Standing, TaskIndex } from "./index.ts";

/** What identifies a client's request. */
export type ClientRequest = Pick<TaskClient, "key_id" | "request_id">;

interface Claim {
  task_id: string;
  client: TaskClient;
}

const CURSOR = /^(\d{4}-\d\d-\d\dT[\d:.]{12}Z)_(t-[0-9A-Z]{26})$/;

/**
 * Claims a request for a task.
 *
 * @returns the id of the request's task: an earlier one if the request was made before
 * @throws {SvcError} unavailable; payload_too_large
 */
export async function claim(bucket: Bucket, task_id: string, client: TaskClient): Promise<string> {
  const key = await keyOf(client);
  const value: Claim = { task_id, client };
  if (await bucket.write(key, value, NONE) !== undefined) return task_id;
  const found = await bucket.get<Claim>(key);
  // It was removed just now.
  return found?.value.task_id ?? await claim(bucket, task_id, client);
}

/** Returns the id of the task that a request has claimed. @throws {SvcError} unavailable. */
export async function claimed(
  bucket: Bucket,
  request: ClientRequest,
): Promise<string | undefined> {
  return (await bucket.get<Claim>(await keyOf(request)))?.value.task_id;
}

/** Returns everything that is stored of a client. @throws {SvcError} unavailable. */
export async function clientOf(bucket: Bucket, ref: ClientRef): Promise<TaskClient | undefined> {
  return (await bucket.get<Claim>(await keyOf(ref)))?.value.client;
}

/** Removes a request. @throws {SvcError} unavailable. */
export async function forgetClient(bucket: Bucket, ref: ClientRef): Promise<void> {
  await bucket.purge(await keyOf(ref));
}

async function keyOf({ key_id, request_id }: ClientRequest): Promise<string> {
  const bytes = new TextEncoder().encode(`${key_id}\0${request_id}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `client.${digest.toHex()}.claim`;
}

/**
 * Lists the tasks of a client, most recently changed first.
 *
 * @throws {SvcError} validation for an invalid cursor
 */
export function tasksOf(index: TaskIndex, { limit, cursor, ...query }: ClientQuery): ClientPage {
  const found = index.find((standing) => fits(standing, query))
    .map(([id, { changed_at }]) => `${changed_at}_${id}`)
    .sort()
    .reverse();
  if (cursor !== undefined && !CURSOR.test(cursor)) throw noPageToken(cursor);
  const rest = cursor === undefined ? found : found.filter((place) => place < cursor);
  const page = rest.slice(0, limit);
  return {
    ids: page.map((place) => CURSOR.exec(place)![2]),
    total: found.length,
    next_cursor: rest.length > limit ? page.at(-1) : undefined,
  };
}

function fits(standing: Standing, query: Omit<ClientQuery, "limit" | "cursor">): boolean {
  const { key_id, context_id, status, cancelled, changed_since } = query;
  const { client } = standing;
  return client !== undefined && client.key_id === key_id &&
    !client.request_id.startsWith(KEYED) &&
    (context_id === undefined || client.context_id === context_id) &&
    (status === undefined || standing.status === status) &&
    (cancelled === undefined || standing.cancelled === cancelled) &&
    (changed_since === undefined || standing.changed_at >= changed_since);
}
