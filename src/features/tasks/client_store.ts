/** What hiring clients call their tasks, in the database. */
import type * as z from "zod";
import type { Statements } from "../../os/statements.ts";
import { noPageToken } from "./common.ts";
import type { clientQuerySchema } from "./schemas.ts";
import type { taskClientSchema } from "./queued_schemas.ts";

/** A hired task's identity for its client; stored with the task, but not part of its record. */
export type TaskClient = z.output<ReturnType<typeof taskClientSchema>>;

/**
 * Begins the ids of requests that clients name with a key of their own. Their tasks are not listed,
 * because other plain requests have no entry here.
 */
export const KEYED = "key:";

export interface ClientQuery extends z.output<ReturnType<typeof clientQuerySchema>> {
  key_id: string;
}

/** Most recently changed first. */
export interface ClientPage {
  ids: string[];
  /** On all pages together. */
  total: number;
  next_cursor?: string;
}

const CHANGED_AT = "coalesce(completed_at, started_at, created_at)";
const CURSOR = /^(\d{4}-\d\d-\d\dT[\d:.]{12}Z)_(\d{1,15})$/;

export class ClientStore {
  readonly #db: Statements;

  constructor(db: Statements) {
    this.#db = db;
  }

  /** Adds a client's identity for a task; part of the caller's transaction. */
  add(task_id: string, { key_id, request_id, context_id, message }: TaskClient): void {
    this.#db.run(
      `INSERT INTO task_clients (task_id, key_id, request_id, context_id, message)
       VALUES (:task_id, :key_id, :request_id, :context_id, :message)`,
      { task_id, key_id, request_id, context_id, message: JSON.stringify(message) },
    );
  }

  /** Returns the task that the same request has already created. */
  taskOf(
    { key_id, request_id }: Pick<TaskClient, "key_id" | "request_id">,
  ): string | undefined {
    const row = this.#db.get(
      "SELECT task_id FROM task_clients WHERE key_id = :key_id AND request_id = :request_id",
      { key_id, request_id },
    );
    return row?.task_id as string | undefined;
  }

  get(task_id: string): TaskClient | undefined {
    const row = this.#db.get(
      `SELECT key_id, request_id, context_id, message FROM task_clients
       WHERE task_id = :task_id`,
      { task_id },
    );
    if (row === undefined) return undefined;
    return { ...row, message: JSON.parse(row.message as string) } as TaskClient;
  }

  /** @throws {SvcError} validation for an invalid cursor */
  list({ limit, cursor, ...query }: ClientQuery): ClientPage {
    const { key_id, context_id, status, cancelled, changed_since } = query;
    const wanted = {
      key_id,
      context_id: context_id ?? null,
      status: status ?? null,
      cancelled: cancelled === undefined ? null : Number(cancelled),
      changed_since: changed_since ?? null,
    };
    const from = `FROM task_clients AS c JOIN tasks AS t ON t.id = c.task_id
       WHERE c.key_id = :key_id AND c.request_id NOT LIKE '${KEYED}%'
         AND (:context_id IS NULL OR c.context_id = :context_id)
         AND (:status IS NULL OR t.status = :status)
         AND (:cancelled IS NULL OR t.cancelled = :cancelled)
         AND (:changed_since IS NULL OR ${CHANGED_AT} >= :changed_since)`;
    const rows = this.#db.all(
      `SELECT t.id, t.seq, ${CHANGED_AT} AS changed_at ${from}
         AND (${CHANGED_AT}, t.seq) < (:at, :seq)
       ORDER BY changed_at DESC, t.seq DESC LIMIT :limit`,
      { ...wanted, ...place(cursor), limit: limit + 1 },
    );
    const total = this.#db.get(`SELECT count(*) AS n ${from}`, wanted)!.n as number;
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      ids: page.map(({ id }) => id as string),
      total,
      next_cursor: last && `${last.changed_at}_${last.seq}`,
    };
  }
}

/** A position after everything that was ever written. */
const START = { at: "9999", seq: 0 };

function place(cursor: string | undefined): { at: string; seq: number } {
  if (cursor === undefined) return START;
  const [, at, seq] = CURSOR.exec(cursor) ?? [];
  if (at !== undefined) return { at, seq: Number(seq) };
  throw noPageToken(cursor);
}
