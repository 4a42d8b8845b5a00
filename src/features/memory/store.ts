/** The memory's tables in `state.db`: entries with their full-text index, held entries, lobes. */
import type { DatabaseSync } from "node:sqlite";
import { type Row, Statements } from "../../os/statements.ts";
import type { Category, Entry, Scope } from "../../protocol/memory.ts";

/** A match. `rank` is FTS5's bm25: lower is better. */
export type Found = Entry & { rank: number };

const COLUMNS = "entry_id, category, scope, owner, content, tags, content_sha, created_at, " +
  "updated_at, written_by, approved";
/** True for the `(scope, owner)` pairs in :visible; null means all. */
const VISIBLE = `(:visible IS NULL OR (scope, owner) IN (
  SELECT value ->> 0, value ->> 1 FROM json_each(:visible)))
  AND (approved OR scope = 'Session' OR NOT :approved)`;
/** Ranking takes some microseconds for each entry. */
const RANKED_MAX = 500;

export class MemoryStore {
  readonly #sql: Statements;

  /** @param db has the current schema, and is closed by {@linkcode MemoryStore.close} */
  constructor(db: DatabaseSync) {
    this.#sql = new Statements(db);
    // Deleted entries must not remain in free pages.
    this.#sql.run("PRAGMA secure_delete = ON");
  }

  close(): void {
    this.#sql.close();
  }

  // ── entries ──────────────────────────────────────────────────────────────────────────────────

  /** @param words of content and tags, for the index */
  insert({ tags, approved, ...entry }: Entry, words: readonly string[]): void {
    this.#sql.run(
      `INSERT INTO memory (${COLUMNS}, words) VALUES (:entry_id, :category, :scope, :owner,
         :content, :tags, :content_sha, :created_at, :updated_at, :written_by, :approved, :words)`,
      { ...entry, approved: Number(approved), tags: JSON.stringify(tags), words: words.join(" ") },
    );
  }

  /** Sets the time of the same entry, and returns its id. */
  touch(
    { scope, owner, category, content_sha, approved }: Entry,
    now: string,
  ): string | undefined {
    const row = this.#sql.get(
      `UPDATE memory SET updated_at = :now, approved = approved OR :approved WHERE scope = :scope AND owner = :owner
         AND category = :category AND content_sha = :content_sha RETURNING entry_id`,
      { scope, owner, category, content_sha, approved: Number(approved), now },
    );
    return row?.entry_id as string | undefined;
  }

  entry(entry_id: string): Entry | undefined {
    const row = this.#sql.get(`SELECT ${COLUMNS} FROM memory WHERE entry_id = :entry_id`, {
      entry_id,
    });
    return row && toEntry(row);
  }

  /** Returns the id of the entry with the same content for the same sessions. */
  same({ scope, owner, category, content_sha }: Entry): string | undefined {
    const row = this.#sql.get(
      `SELECT entry_id FROM memory WHERE scope = :scope AND owner = :owner
         AND category = :category AND content_sha = :content_sha`,
      { scope, owner, category, content_sha },
    );
    return row?.entry_id as string | undefined;
  }

  /** Deletes an entry with its held change, also from the log. @returns false if there is none. */
  remove(entry_id: string): boolean {
    const there = this.#sql.transaction(() => {
      const deleted = this.#delete(entry_id);
      if (deleted) this.drop(entry_id);
      return deleted;
    });
    if (there) this.#emptyLog();
    return there;
  }

  #delete(entry_id: string): boolean {
    const { changes } = this.#sql.run("DELETE FROM memory WHERE entry_id = :entry_id", {
      entry_id,
    });
    return changes > 0;
  }

  /** Deleted entries must not remain in the write-ahead log. */
  #emptyLog(): void {
    this.#sql.get("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Deletes an owner's entries of a scope, also from the log. */
  removeOwned(scope: Scope, owner: string): void {
    this.#sql.run("DELETE FROM memory WHERE scope = :scope AND owner = :owner", { scope, owner });
    this.#sql.run(
      "DELETE FROM memory_held WHERE entry ->> 'scope' = :scope AND entry ->> 'owner' = :owner",
      { scope, owner },
    );
    this.#emptyLog();
  }

  count(): number {
    return this.#sql.get("SELECT count(*) AS count FROM memory")!.count as number;
  }

  /**
   * Returns the best matches of FTS5 terms, best first.
   * @param among where to look, and whether entries beyond the session's own need approval;
   * default: all
   */
  search(
    terms: readonly string[],
    limit: number,
    among?: { scopes: [Scope, string][]; approved: boolean },
  ): Found[] {
    const match = this.#telling(terms).join(" OR ");
    if (match === "") return [];
    const rows = this.#sql.all(
      `SELECT * FROM (
         SELECT ${COLUMNS}, rank FROM memory_words JOIN memory ON seq = memory_words.rowid
         WHERE memory_words MATCH :match AND ${VISIBLE}
         ORDER BY memory_words.rowid DESC LIMIT ${RANKED_MAX})
       ORDER BY rank LIMIT :limit`,
      {
        match,
        limit,
        visible: among === undefined ? null : JSON.stringify(among.scopes),
        approved: Number(among?.approved ?? false),
      },
    );
    return rows.map((row) => ({ ...toEntry(row), rank: row.rank as number }));
  }

  /**
   * Returns the rarest terms, with few enough matches to rank: common terms say little. A single
   * common term gets its newest matches.
   */
  #telling(terms: readonly string[]): string[] {
    const counted = terms.map((term) => {
      const row = this.#sql.get(
        `SELECT count(*) AS count FROM (
           SELECT 1 FROM memory_words WHERE memory_words MATCH :term LIMIT ${RANKED_MAX})`,
        { term },
      );
      return { term, count: row!.count as number };
    });
    let ranked = 0;
    return counted
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.count - b.count)
      .filter(({ count }, n) => (ranked += count) <= RANKED_MAX || n === 0)
      .map(({ term }) => term);
  }

  /** Newest first. */
  ofScope(scope: Scope): Entry[] {
    return this.#sql.all(
      `SELECT ${COLUMNS} FROM memory WHERE scope = :scope ORDER BY updated_at DESC, seq DESC`,
      { scope },
    ).map(toEntry);
  }

  /** Most recently written first; `next` is where the next page begins. */
  list(
    { scope, category, before, limit }: {
      scope?: Scope;
      category?: Category;
      before?: number;
      limit: number;
    },
  ): { entries: Entry[]; next?: number } {
    const rows = this.#sql.all(
      `SELECT seq, ${COLUMNS} FROM memory WHERE seq < :before
         AND (:scope IS NULL OR scope = :scope) AND (:category IS NULL OR category = :category)
       ORDER BY seq DESC LIMIT :limit`,
      {
        before: before ?? Number.MAX_SAFE_INTEGER,
        scope: scope ?? null,
        category: category ?? null,
        limit: limit + 1,
      },
    );
    const page = rows.slice(0, limit);
    const next = rows.length > limit ? page.at(-1)!.seq as number : undefined;
    return { entries: page.map(toEntry), next };
  }

  /** In order of their keys. */
  byKey(scope: Scope, prefix: string, limit: number): Entry[] {
    return this.#sql.all(
      `SELECT ${COLUMNS}, category || '/' || entry_id AS key FROM memory
       WHERE scope = :scope AND substr(key, 1, length(:prefix)) = :prefix
       ORDER BY key LIMIT :limit`,
      { scope, prefix, limit },
    ).map(toEntry);
  }

  // ── audited writes ───────────────────────────────────────────────────────────────────────────

  /** Stores an entry invisibly until {@linkcode MemoryStore.release}. */
  hold(entry: Entry): void {
    this.#sql.run(
      "INSERT OR REPLACE INTO memory_held (entry_id, entry) VALUES (:entry_id, :entry)",
      { entry_id: entry.entry_id, entry: JSON.stringify(entry) },
    );
  }

  held(): Entry[] {
    return this.#sql.all("SELECT entry FROM memory_held")
      .map(({ entry }) => ({ written_by: "", approved: false, ...JSON.parse(entry as string) }));
  }

  /** Makes a held entry visible; it replaces its earlier version. */
  release(entry: Entry, words: readonly string[]): void {
    const replaced = this.#sql.transaction(() => {
      const there = this.#delete(entry.entry_id);
      this.insert(entry, words);
      this.drop(entry.entry_id);
      return there;
    });
    if (replaced) this.#emptyLog();
  }

  drop(entry_id: string): void {
    this.#sql.run("DELETE FROM memory_held WHERE entry_id = :entry_id", { entry_id });
  }

  // ── lobes ────────────────────────────────────────────────────────────────────────────────────

  pausedLobes(): Set<string> {
    return new Set(
      this.#sql.all("SELECT lobe FROM paused_lobes").map(({ lobe }) => lobe as string),
    );
  }

  setLobePaused(lobe: string, paused: boolean): void {
    const sql = paused
      ? "INSERT OR IGNORE INTO paused_lobes (lobe) VALUES (:lobe)"
      : "DELETE FROM paused_lobes WHERE lobe = :lobe";
    this.#sql.run(sql, { lobe });
  }
}

function toEntry(row: Row): Entry {
  const { entry_id, category, scope, owner, content, tags, content_sha, created_at, updated_at } =
    row as unknown as Omit<Entry, "tags"> & { tags: string };
  const { written_by, approved } = row as unknown as { written_by: string; approved: number };
  const entry = { entry_id, category, scope, owner, content, tags: JSON.parse(tags) };
  return { ...entry, content_sha, created_at, updated_at, written_by, approved: approved === 1 };
}
