/**
 * The search index: a database that can be rebuilt from the journals. A row is a part of a message.
 * Its id starts with its time, so a search finds the newest rows first.
 */
import type { DatabaseSync } from "node:sqlite";
import { checkPrivate } from "../../os/files.ts";
import { stateDbFiles } from "../../os/state_db_files.ts";
import { Statements } from "../../os/statements.ts";
import {
  type Answer,
  type Found,
  type Piece,
  type Query,
  SPEAKERS,
  type Term,
} from "./messages.ts";
import type { Said } from "./said.ts";

/** An index with another schema is rebuilt. */
const SCHEMA = 1;
const TABLES = `
  CREATE TABLE sessions (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, file TEXT NOT NULL,
    offset INTEGER NOT NULL, seq INTEGER NOT NULL) STRICT;
  CREATE TABLE said (
    place INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL,
    who INTEGER NOT NULL, hidden_by TEXT, text TEXT NOT NULL) STRICT;
  CREATE INDEX said_by_session ON said (session, seq);
  CREATE VIRTUAL TABLE words USING fts5 (
    text, content = 'said', content_rowid = 'place', tokenize = 'unicode61 remove_diacritics 2');
  INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
  CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, 'row');
  CREATE TRIGGER said_inserted AFTER INSERT ON said BEGIN
    INSERT INTO words (rowid, text) VALUES (new.place, new.text);
  END;
  CREATE TRIGGER said_deleted AFTER DELETE ON said BEGIN
    INSERT INTO words (words, rowid, text) VALUES ('delete', old.place, old.text);
  END;
  PRAGMA user_version = ${SCHEMA};`;

/** Row ids in a millisecond. */
const PLACES = 4096;
/** Characters of a row, which a snippet must read. */
const PART = 8_000;
/** Matches per search. */
const LOOKED_AT = 5_000;
const RANKED = 1_000;
/** Characters of a text's beginning. */
const BEGINNING = 400;
/** Words for a prefix. */
const EXPANDED = 64;
const DELETED_AT_ONCE = 500;
/** Mark a match in a snippet; they are in no text of the index. */
const [OPEN, CLOSE] = ["\u0002", "\u0003"];

/** How far a journal was read. */
export interface Reach {
  n: number;
  /** Identifies the file. */
  file: string;
  offset: number;
  seq: number;
}

export class IndexDb {
  readonly #sql: Statements;
  #last = { at: 0, place: 0 };

  private constructor(db: DatabaseSync) {
    this.#sql = new Statements(db);
  }

  /**
   * Opens the index; rebuilds it if it is damaged or has another schema.
   * @throws {SvcError} permission_denied when others can access a file of it
   */
  static async open(path: string): Promise<IndexDb> {
    const { DatabaseSync } = await import("node:sqlite");
    for (let tries = 0;; tries++) {
      const [there] = stateDbFiles(path).map((file) => checkPrivate(file, 0o600, "file"));
      if (!there) Deno.openSync(path, { write: true, createNew: true, mode: 0o600 }).close();
      let db: DatabaseSync | undefined;
      try {
        db = new DatabaseSync(path);
        db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
          PRAGMA secure_delete = ON; PRAGMA cache_size = -4096;
          PRAGMA journal_size_limit = 4194304;`);
        const { user_version } = db.prepare("PRAGMA user_version").get() as Record<string, number>;
        if (user_version === 0) db.exec(`BEGIN IMMEDIATE; ${TABLES} COMMIT`);
        else if (user_version !== SCHEMA) throw new Error(`it has the schema ${user_version}`);
        else db.prepare("SELECT n FROM sessions LIMIT 1").get();
        return new IndexDb(db);
      } catch (error) {
        db?.close();
        if (tries > 0) throw error;
        removeIndex(path);
      }
    }
  }

  close(): void {
    this.#sql.close();
  }

  /** By session id. */
  reaches(): Map<string, Reach> {
    const rows = this.#sql.all("SELECT n, id, file, offset, seq FROM sessions");
    return new Map(rows.map(({ id, ...reach }) => [id as string, reach as unknown as Reach]));
  }

  /** Adds a session, whose journal is then read from the start. */
  begin(id: string, file: string): Reach {
    const row = this.#sql.get(
      `INSERT INTO sessions (id, file, offset, seq) VALUES (:id, :file, 0, 0) RETURNING n`,
      { id, file },
    )!;
    return { n: row.n as number, file, offset: 0, seq: 0 };
  }

  /** Runs `work` in a transaction. */
  step(work: () => void): void {
    this.#sql.transaction(work);
  }

  reached({ n, offset, seq }: Reach): void {
    this.#sql.run("UPDATE sessions SET offset = :offset, seq = :seq WHERE n = :n", {
      n,
      offset,
      seq,
    });
  }

  /** @param at in milliseconds since 1970 */
  add({ n }: Reach, at: number, { seq, who, text }: Said): void {
    for (let from = 0; from < text.length; from += PART) {
      const part = text.slice(from, from + PART).replaceAll(/\p{Cc}/gu, " ").toWellFormed();
      if (part.trim() === "") continue;
      this.#sql.run(
        `INSERT INTO said (place, session, seq, who, text) VALUES (:place, :n, :seq, :who, :part)`,
        { place: this.#place(at), n, seq, who: SPEAKERS.indexOf(who), part },
      );
    }
  }

  /** Returns a free row id for a time. */
  #place(at: number): number {
    // A checkpoint's messages have one time: continue after the last row.
    let place = at === this.#last.at ? this.#last.place + 1 : at * PLACES;
    while (this.#sql.get("SELECT 1 FROM said WHERE place = :place", { place })) place++;
    this.#last = { at, place };
    return place;
  }

  /** Hides what a rewind or a withdrawal took back. */
  hide({ n }: Reach, rewind_id: string, from_seq: number, to_seq: number): void {
    this.#sql.run(
      `UPDATE said SET hidden_by = :rewind_id
       WHERE session = :n AND seq BETWEEN :from_seq AND :to_seq AND hidden_by IS NULL`,
      { n, rewind_id, from_seq, to_seq },
    );
  }

  /** Undoes {@linkcode IndexDb.hide}. */
  unhide({ n }: Reach, rewind_id: string): void {
    this.#sql.run(
      "UPDATE said SET hidden_by = NULL WHERE session = :n AND hidden_by = :rewind_id",
      {
        n,
        rewind_id,
      },
    );
  }

  /** Removes rows of a session. @returns whether none is left */
  removeSome(n: number): boolean {
    const { changes } = this.#sql.run(
      `DELETE FROM said WHERE place IN (
         SELECT place FROM said WHERE session = :n LIMIT ${DELETED_AT_ONCE})`,
      { n },
    );
    if (changes === DELETED_AT_ONCE) return false;
    this.#sql.run("DELETE FROM sessions WHERE n = :n", { n });
    return true;
  }

  /** Deleted text must not remain in the write-ahead log. */
  emptyLog(): void {
    this.#sql.get("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Returns a page of matches. */
  search(
    { terms, who, whole, among, since, until, before, limit, order }: Query,
  ): Omit<Answer, "pending"> {
    const match = terms.map((term) => this.#matchOf(term)).join(" AND ");
    const all = terms.length === 0;
    const best = order === "best" && !all;
    const looked_at = best ? RANKED : LOOKED_AT;
    const rows = this.#sql.all(
      `SELECT m.place, id, said.seq, who FROM (
         SELECT rowid AS place, ${best ? "rank" : "0"} AS score FROM ${all ? "said" : "words"}
         WHERE ${all ? "who IN (SELECT value FROM json_each(:who))" : "words MATCH :match"}
           AND rowid >= CAST(:since AS INTEGER) AND rowid < CAST(:before AS INTEGER)
         ORDER BY rowid DESC LIMIT ${looked_at}) AS m
       JOIN said ON said.place = m.place JOIN sessions ON sessions.n = said.session
       WHERE hidden_by IS NULL AND who IN (SELECT value FROM json_each(:who))
         AND (:among IS NULL OR id IN (SELECT value FROM json_each(:among)))
       ORDER BY score, m.place DESC LIMIT :limit`,
      {
        ...all ? {} : { match },
        since: (since ?? 0) * PLACES,
        before: Math.min(
          before ?? Infinity,
          ((until ?? Infinity) + 1) * PLACES,
          Number.MAX_SAFE_INTEGER,
        ),
        who: JSON.stringify(who.map((it) => SPEAKERS.indexOf(it))),
        among: among === undefined ? null : JSON.stringify(among),
        limit: limit + 1,
      },
    );
    const page = rows.slice(0, limit);
    const found = page.map(({ place, id, seq, who }): Found => ({
      session_id: id as string,
      seq: seq as number,
      at: new Date(Math.floor((place as number) / PLACES)).toISOString(),
      who: SPEAKERS[who as number],
      snippet: all ? [] : this.#snippet(match, place as number),
      ...whole && { text: this.#beginning(place as number) },
    }));
    const next = !best && rows.length > limit ? page.at(-1)!.place as number : undefined;
    return { found, next };
  }

  /**
   * Returns a term for FTS5. A prefix becomes a list of words, because FTS5 would read all of them
   * before it finds the first match.
   */
  #matchOf({ words, prefix }: Term): string {
    if (!prefix) return `"${words.join(" ")}"`;
    const begin = words.at(-1)!.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
    const rows = this.#sql.all(
      `SELECT term FROM vocabulary WHERE term >= :begin AND term < :end LIMIT ${EXPANDED}`,
      { begin, end: `${begin}\u{10ffff}` },
    );
    const endings = rows.length > 0 ? rows.map(({ term }) => String(term)) : [begin];
    return `(${endings.map((it) => `"${[...words.slice(0, -1), it].join(" ")}"`).join(" OR ")})`;
  }

  rowsOf({ n }: Reach): number {
    return this.#sql.get("SELECT count(*) AS rows FROM said WHERE session = :n", { n })!
      .rows as number;
  }

  #beginning(place: number): string {
    const row = this.#sql.get(
      `SELECT substr(text, 1, ${BEGINNING}) AS text FROM said WHERE place = :place`,
      { place },
    );
    return String(row?.text ?? "");
  }

  #snippet(match: string, place: number): Piece[] {
    const row = this.#sql.get(
      `SELECT snippet(words, 0, :open, :close, '…', 24) AS text FROM words
       WHERE words MATCH :match AND rowid = :place`,
      { match, place, open: OPEN, close: CLOSE },
    );
    return String(row?.text ?? "").split(OPEN).flatMap((part, n): Piece[] => {
      if (n === 0) return part === "" ? [] : [{ text: part }];
      const [text, rest = ""] = part.split(CLOSE);
      return [{ text, match: true }, ...(rest === "" ? [] : [{ text: rest }])];
    });
  }
}

export function removeIndex(path: string): void {
  for (const file of stateDbFiles(path)) {
    try {
      Deno.removeSync(file);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}
