/** Incomplete requests in the database, until their clients complete them. */
import type { DatabaseSync } from "node:sqlite";
import { type Row, Statements } from "../../../os/statements.ts";
import { noPageToken } from "../../tasks/common.ts";
import type { HireParams } from "../calls.ts";

/** An open draft waits for its client; a done one has become a task. */
export type DraftState = "open" | "cancelled" | "done";

/** An incomplete request. Its id becomes the task's. */
export interface Draft extends DraftContent {
  id: string;
  /** The id of the token that requested it; empty without one. */
  key_id: string;
  context_id: string;
  state: DraftState;
  /** ISO 8601 in UTC, with milliseconds. */
  changed_at: string;
}

interface DraftContent {
  /** The texts of the client so far. */
  texts: string[];
  /** The data of the client so far. */
  data: Record<string, unknown>;
  /** The skill that the client has named. */
  task_type?: string;
  /** The messages of both sides, as in the protocol; the last is the open question. */
  said: unknown[];
  callbacks: DraftCallback[];
}

export type DraftCallback = HireParams<"hire.set_callback">["callback"];

/** Selects drafts of a client that have not become tasks. */
export interface DraftQuery {
  key_id: string;
  context_id?: string;
  cancelled?: boolean;
  /** Only drafts that changed at this time or later. */
  changed_since?: string;
}

/** The most drafts kept for a client, those that changed last. */
const KEPT_MAX = 500;
const CURSOR = /^(\d{4}-\d\d-\d\dT[\d:.]{12}Z)_(t-[0-9A-Z]{26})$/;

export class DraftStore {
  readonly #db: Statements;
  readonly #kept_max: number;

  /** @param db a database with the current schema; {@linkcode DraftStore.close} closes it */
  constructor(db: DatabaseSync, kept_max = KEPT_MAX) {
    this.#db = new Statements(db);
    this.#kept_max = kept_max;
  }

  close(): void {
    this.#db.close();
  }

  /** Stores a draft. @param request_id of its message, which will not be carried out again */
  put(draft: Draft, request_id?: string): void {
    const { id, key_id, context_id, state, changed_at, ...content } = draft;
    this.#db.transaction(() => {
      this.#db.run(
        `INSERT INTO hire_drafts (id, key_id, context_id, state, changed_at, content)
         VALUES (:id, :key_id, :context_id, :state, :changed_at, :content)
         ON CONFLICT (id) DO UPDATE SET
           state = excluded.state, changed_at = excluded.changed_at, content = excluded.content`,
        { id, key_id, context_id, state, changed_at, content: JSON.stringify(content) },
      );
      if (request_id === undefined) return;
      this.#db.run(
        `INSERT OR IGNORE INTO hire_draft_messages (key_id, request_id, draft_id)
         VALUES (:key_id, :request_id, :id)`,
        { key_id, request_id, id },
      );
      this.#prune(key_id);
    });
  }

  #prune(key_id: string): void {
    const removed = this.#db.all(
      `DELETE FROM hire_drafts WHERE id IN (
         SELECT id FROM hire_drafts WHERE key_id = :key_id
         ORDER BY changed_at DESC, id DESC LIMIT -1 OFFSET :kept_max)
       RETURNING id`,
      { key_id, kept_max: this.#kept_max },
    );
    for (const { id } of removed) {
      this.#db.run("DELETE FROM hire_draft_messages WHERE draft_id = :id AND key_id = :key_id", {
        id,
        key_id,
      });
    }
  }

  get(id: string): Draft | undefined {
    const row = this.#db.get("SELECT * FROM hire_drafts WHERE id = :id", { id });
    return row && toDraft(row);
  }

  /** Returns the id of a message's draft. */
  draftOf(key_id: string, request_id: string): string | undefined {
    const row = this.#db.get(
      `SELECT draft_id FROM hire_draft_messages
       WHERE key_id = :key_id AND request_id = :request_id`,
      { key_id, request_id },
    );
    return row?.draft_id as string | undefined;
  }

  /**
   * Lists drafts, most recently changed first.
   *
   * @throws {SvcError} validation for an invalid cursor
   */
  list(
    { key_id, context_id, cancelled, changed_since }: DraftQuery,
    limit: number,
    cursor?: string,
  ): { drafts: Draft[]; total: number; next_cursor?: string } {
    const wanted = {
      key_id,
      context_id: context_id ?? null,
      state: cancelled === undefined ? null : cancelled ? "cancelled" : "open",
      changed_since: changed_since ?? null,
    };
    const from = `FROM hire_drafts WHERE key_id = :key_id AND state <> 'done'
         AND (:context_id IS NULL OR context_id = :context_id)
         AND (:state IS NULL OR state = :state)
         AND (:changed_since IS NULL OR changed_at >= :changed_since)`;
    const rows = this.#db.all(
      `SELECT * ${from} AND (changed_at, id) < (:at, :id)
       ORDER BY changed_at DESC, id DESC LIMIT :limit`,
      { ...wanted, ...place(cursor), limit: limit + 1 },
    );
    const drafts = rows.slice(0, limit).map(toDraft);
    const last = rows.length > limit ? drafts.at(-1) : undefined;
    return {
      drafts,
      total: this.#db.get(`SELECT count(*) AS n ${from}`, wanted)!.n as number,
      next_cursor: last && `${last.changed_at}_${last.id}`,
    };
  }
}

function place(cursor: string | undefined): { at: string; id: string } {
  if (cursor === undefined) return { at: "9999", id: "" };
  const [, at, id] = CURSOR.exec(cursor) ?? [];
  if (at !== undefined) return { at, id };
  throw noPageToken(cursor);
}

function toDraft({ content, ...row }: Row): Draft {
  return { ...row, ...JSON.parse(content as string) } as Draft;
}
