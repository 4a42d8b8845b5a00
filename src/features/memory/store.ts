/** The memory's tables in `state.db`: entries and their full-text index, what is held back, lobes. */
import type { DatabaseSync } from "node:sqlite";
import { type Row, Statements } from "../../os/statements.ts";
import type { Category, Entry, Scope } from "../../protocol/memory.ts";

/** An entry that was found, and how well its words fit: FTS5's bm25, lower is better. */
export type Found = Entry & { rank: number };

const COLUMNS = "entry_id, category, scope, owner, content, tags, content_sha, created_at, " +
  "updated_at, written_by, approved";
/** Whether an entry belongs to a `(scope, owner)` of :visible; everything does where that is null. */
const VISIBLE = `(:visible IS NULL OR (scope, owner) IN (
  SELECT value ->> 0, value ->> 1 FROM json_each(:visible)))
  AND (approved OR scope = 'Session' OR NOT :approved)`;
/** Entries that are ranked for one search: it is what takes the time, some microseconds each. */
const RANKED_MAX = 500;

export class MemoryStore {
  readonly #sql: Statements;

  /** @param db a database of the current schema; {@linkcode MemoryStore.close} closes it. */
  constructor(db: DatabaseSync) {
    this.#sql = new Statements(db);
    // What is forgotten must not lie on in free pages.
    this.#sql.run("PRAGMA secure_delete = ON");
  }

  close(): void {
    this.#sql.close();
  }

  // ── entries ──────────────────────────────────────────────────────────────────────────────────

  /** @param words of content and tags, as the index is to have them. */
  insert({ tags, approved, ...entry }: Entry, words: readonly string[]): void {
    this.#sql.run(
      `INSERT INTO memory (${COLUMNS}, words) VALUES (:entry_id, :category, :scope, :owner,
         :content, :tags, :content_sha, :created_at, :updated_at, :written_by, :approved, :words)`,
      { ...entry, approved: Number(approved), tags: JSON.stringify(tags), words: words.join(" ") },
    );
  }

  /** The id of the entry that says the same to the same sessions, with its time moved to `now`. */
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

  /** The entry of that id. */
  entry(entry_id: string): Entry | undefined {
    const row = this.#sql.get(`SELECT ${COLUMNS} FROM memory WHERE entry_id = :entry_id`, {
      entry_id,
    });
    return row && toEntry(row);
  }

  /** The id of the entry that says the same to the same sessions. */
  same({ scope, owner, category, content_sha }: Entry): string | undefined {
    const row = this.#sql.get(
      `SELECT entry_id FROM memory WHERE scope = :scope AND owner = :owner
         AND category = :category AND content_sha = :content_sha`,
      { scope, owner, category, content_sha },
    );
    return row?.entry_id as string | undefined;
  }

  /**
   * Forgets an entry for good, in the log too, and what it was to become.
   *
   * @returns false when there is none of that id.
   */
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

  /** What is no longer in the database must not lie on in its write-ahead log. */
  #emptyLog(): void {
    this.#sql.get("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Forgets what belongs to one owner of a scope for good, in the log too. */
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
   * Finds the entries that match FTS5 terms best, the best first.
   *
   * @param among the scopes and owners to look in, and whether only what a person has approved counts
   * beyond the session itself; all when it is left out.
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
   * The rarest of the terms, so many that not too much is to be ranked: common ones tell little. Of
   * a single common one the newest entries have to do.
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

  /** The entries of a scope, the newest first. */
  ofScope(scope: Scope): Entry[] {
    return this.#sql.all(
      `SELECT ${COLUMNS} FROM memory WHERE scope = :scope ORDER BY updated_at DESC, seq DESC`,
      { scope },
    ).map(toEntry);
  }

  /** Up to `limit` entries, those written last first, with what the next page begins at. */
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

  /** The entries of a scope whose key begins with `prefix`, in order of their keys. */
  byKey(scope: Scope, prefix: string, limit: number): Entry[] {
    return this.#sql.all(
      `SELECT ${COLUMNS}, category || '/' || entry_id AS key FROM memory
       WHERE scope = :scope AND substr(key, 1, length(:prefix)) = :prefix
       ORDER BY key LIMIT :limit`,
      { scope, prefix, limit },
    ).map(toEntry);
  }

  // ── audited writes ───────────────────────────────────────────────────────────────────────────

  /** Keeps an entry where nobody sees it until {@linkcode MemoryStore.release}. */
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

  /** Makes a held entry one of the memory's, in the place of what it was before. */
  release(entry: Entry, words: readonly string[]): void {
    const replaced = this.#sql.transaction(() => {
      const there = this.#delete(entry.entry_id);
      this.insert(entry, words);
      this.drop(entry.entry_id);
      return there;
    });
    if (replaced) this.#emptyLog();
  }

  /** Forgets a held entry. */
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
