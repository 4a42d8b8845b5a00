/** The messages that people are writing, one for each session, in the state database. */
import type { DatabaseSync } from "node:sqlite";
import { Statements } from "../../os/statements.ts";
import type { Deliver, Pushing } from "../../verbs/verb.ts";

/** A change of a draft, for those who follow it. */
interface DraftChange {
  text: string;
  /** Who made it, as in `draft.set`. */
  writer?: string;
}

export class Drafts implements Disposable {
  readonly #sql: Statements;
  readonly #followers = new Map<string, Set<(change: DraftChange) => void>>();

  /** @param db is closed with the drafts */
  constructor(db: DatabaseSync) {
    this.#sql = new Statements(db);
  }

  /** Empty without a draft. */
  get(session_id: string): string {
    const row = this.#sql.get("SELECT text FROM drafts WHERE session_id = :session_id", {
      session_id,
    });
    return row === undefined ? "" : String(row.text);
  }

  /** Keeps a draft; an empty one is removed. Tells those who follow it. */
  set(session_id: string, { text, writer }: DraftChange): void {
    if (text === this.get(session_id)) return;
    if (text === "") {
      this.#sql.run("DELETE FROM drafts WHERE session_id = :session_id", { session_id });
    } else {
      this.#sql.run(
        `INSERT INTO drafts (session_id, text, changed_at) VALUES (:session_id, :text, :changed_at)
         ON CONFLICT (session_id) DO UPDATE SET text = :text, changed_at = :changed_at`,
        { session_id, text, changed_at: new Date().toISOString() },
      );
    }
    const change = { text, ...(writer !== undefined && { writer }) };
    for (const follower of this.#followers.get(session_id) ?? []) follower(change);
  }

  /** Pushes the changes of a session's draft as `draft.changed`. */
  follow(session_id: string, { event }: Deliver): Pushing {
    const follower = (change: DraftChange) =>
      void event({
        at: new Date().toISOString(),
        type: "draft.changed",
        data_json: JSON.stringify(change),
      });
    return {
      start: () => {
        const followers = this.#followers.get(session_id) ?? new Set();
        this.#followers.set(session_id, followers.add(follower));
        return Promise.resolve();
      },
      close: () => {
        const followers = this.#followers.get(session_id);
        followers?.delete(follower);
        if (followers?.size === 0) this.#followers.delete(session_id);
      },
    };
  }

  [Symbol.dispose](): void {
    this.#sql.close();
  }
}
