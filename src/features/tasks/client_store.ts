/** How those who hire know their tasks, in the database. */
import type { Statements } from "../../os/statements.ts";
import { noPageToken } from "./common.ts";
import type { TaskStatus } from "./task.ts";

/** How the client of a hired task knows it; kept with the task, and no part of its record. */
export interface TaskClient {
  /** Of the token that the task was asked for with; empty without one. */
  key_id: string;
  /** Of the request: a second one of the same token under the same id makes no second task. */
  request_id: string;
  /** What the client groups its tasks by. */
  context_id: string;
  /** What the client said, as its protocol has it. */
  message: unknown;
}

/** Which tasks of a client are wanted. */
export interface ClientQuery {
  key_id: string;
  context_id?: string;
  status?: TaskStatus;
  /** Tells the failed tasks that were cancelled from the others. */
  cancelled?: boolean;
  /** Those that changed at that time or later: ISO 8601 in UTC, with milliseconds. */
  changed_since?: string;
  limit: number;
  /** The `next_cursor` of the page before. */
  cursor?: string;
}

/** A page of the ids of a client's tasks, those that changed last first. */
export interface ClientPage {
  ids: string[];
  /** How many there are on all pages together. */
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

  /** Adds what a client knows its task by; part of the caller's transaction. */
  add(task_id: string, { key_id, request_id, context_id, message }: TaskClient): void {
    this.#db.run(
      `INSERT INTO task_clients (task_id, key_id, request_id, context_id, message)
       VALUES (:task_id, :key_id, :request_id, :context_id, :message)`,
      { task_id, key_id, request_id, context_id, message: JSON.stringify(message) },
    );
  }

  /** The task that the same request has made before. */
  taskOf({ key_id, request_id }: TaskClient): string | undefined {
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

  /** Forgets a task; part of the caller's transaction. */
  remove(task_id: string): void {
    this.#db.run("DELETE FROM task_clients WHERE task_id = :task_id", { task_id });
  }

  /** @throws {SvcError} validation when the cursor is none. */
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
       WHERE c.key_id = :key_id
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

/** After everything that was ever written. */
const START = { at: "9999", seq: 0 };

function place(cursor: string | undefined): { at: string; seq: number } {
  if (cursor === undefined) return START;
  const [, at, seq] = CURSOR.exec(cursor) ?? [];
  if (at !== undefined) return { at, seq: Number(seq) };
  throw noPageToken(cursor);
}
