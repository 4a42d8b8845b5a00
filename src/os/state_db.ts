/** `state.db`, the daemon's database (contract.md section 1): opened, private, at the right schema. */
import { stateDbFiles } from "./state_db_files.ts";
import type { DatabaseSync } from "node:sqlite";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { checkPrivate } from "./files.ts";

/**
 * What brings the database from one version to the next. One list for every part that keeps tables
 * here; what has been released is never edited, only followed by another.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    mode TEXT NOT NULL CHECK (mode IN ('queue', 'sync')),
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed')),
    task_type TEXT NOT NULL,
    request TEXT NOT NULL,
    created_at TEXT NOT NULL,
    started_at TEXT,
    completed_at TEXT,
    summary TEXT,
    size INTEGER,
    error TEXT,
    cancelled INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    timeout_ms INTEGER,
    not_before INTEGER NOT NULL DEFAULT 0,
    extras TEXT
  ) STRICT;
  CREATE INDEX tasks_by_status ON tasks (status, seq);
  CREATE TABLE task_log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    task_id TEXT,
    event TEXT NOT NULL,
    detail TEXT
  ) STRICT;
  CREATE TABLE task_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE memory (
    scope TEXT NOT NULL CHECK (scope IN ('Session', 'Worker', 'AllSessions', 'Global', 'Always')),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (scope, key)
  ) STRICT;`,
  `CREATE TABLE missions (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    owns_session INTEGER NOT NULL,
    workdir TEXT NOT NULL,
    spec TEXT NOT NULL,
    options TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
    error TEXT,
    created_at TEXT NOT NULL,
    completed_at TEXT,
    branch TEXT,
    base TEXT,
    cost_usd REAL NOT NULL DEFAULT 0,
    released INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX missions_by_status ON missions (status, id);
  CREATE TABLE mission_tasks (
    mission_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    session_id TEXT,
    "commit" TEXT,
    error TEXT,
    started_at TEXT,
    completed_at TEXT,
    PRIMARY KEY (mission_id, task_id)
  ) STRICT;
  CREATE TABLE mission_criteria (
    mission_id TEXT NOT NULL,
    ac_id TEXT NOT NULL,
    status TEXT NOT NULL,
    tier TEXT,
    failure_class TEXT,
    evidence_ref TEXT,
    rewritten TEXT,
    PRIMARY KEY (mission_id, ac_id)
  ) STRICT;
  CREATE TABLE mission_log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    mission_id TEXT NOT NULL,
    at TEXT NOT NULL,
    task_id TEXT,
    ac_id TEXT,
    event TEXT NOT NULL,
    detail TEXT
  ) STRICT;
  CREATE INDEX mission_log_by_mission ON mission_log (mission_id, seq);`,
  `DROP TABLE memory;
  CREATE TABLE memory (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id TEXT NOT NULL UNIQUE,
    category TEXT NOT NULL CHECK (
      category IN ('fact', 'preference', 'pattern', 'gotcha', 'anti_pattern', 'fix')),
    scope TEXT NOT NULL CHECK (scope IN ('Session', 'Worker', 'AllSessions', 'Global', 'Always')),
    owner TEXT NOT NULL,
    content TEXT NOT NULL,
    tags TEXT NOT NULL,
    content_sha TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    words TEXT NOT NULL,
    UNIQUE (scope, owner, category, content_sha)
  ) STRICT;
  CREATE VIRTUAL TABLE memory_words USING fts5 (
    words, content = 'memory', content_rowid = 'seq', tokenize = 'porter unicode61');
  INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
  CREATE TRIGGER memory_inserted AFTER INSERT ON memory BEGIN
    INSERT INTO memory_words (rowid, words) VALUES (new.seq, new.words);
  END;
  CREATE TRIGGER memory_deleted AFTER DELETE ON memory BEGIN
    INSERT INTO memory_words (memory_words, rowid, words) VALUES ('delete', old.seq, old.words);
  END;
  CREATE TABLE memory_held (entry_id TEXT PRIMARY KEY, entry TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE paused_lobes (lobe TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE tasks ADD COLUMN hired INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX task_log_by_task ON task_log (task_id, seq);
  CREATE TABLE task_callbacks (
    task_id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    key_id TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE missions ADD COLUMN "commit" TEXT;`,
  `CREATE TABLE task_clients (
    task_id TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    context_id TEXT NOT NULL,
    message TEXT NOT NULL,
    UNIQUE (key_id, request_id)
  ) STRICT, WITHOUT ROWID;
  ALTER TABLE task_callbacks RENAME TO single_callbacks;
  CREATE TABLE task_callbacks (
    task_id TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    key_id TEXT NOT NULL,
    push TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO task_callbacks (task_id, id, url, key_id, tries, not_before)
    SELECT task_id, '', url, key_id, tries, not_before FROM single_callbacks;
  DROP TABLE single_callbacks;`,
  // Whose a hired task is was known until now only where it came by A2A or was to be reported.
  `ALTER TABLE tasks ADD COLUMN owner TEXT;
  UPDATE tasks SET owner = coalesce(
    (SELECT nullif(key_id, '') FROM task_clients WHERE task_id = tasks.id),
    (SELECT key_id FROM task_callbacks AS c WHERE c.task_id = tasks.id AND c.id = ''))
  WHERE hired = 1;`,
  // Facts of these scopes were written without a question, and nothing in the table says by whom.
  `ALTER TABLE memory ADD COLUMN written_by TEXT NOT NULL DEFAULT '';
  ALTER TABLE memory ADD COLUMN approved INTEGER NOT NULL DEFAULT 1;
  UPDATE memory SET approved = 0 WHERE category = 'fact' AND scope IN ('Global', 'Always');`,
];

/**
 * Opens the database, made with mode 0600 when there is none.
 *
 * A commit is on the disk when it returns (`synchronous = FULL`). Whoever calls this closes it.
 *
 * @throws {SvcError} permission_denied when a file of it is wider than 0600, foreign or a link;
 * `schema_version` when a newer svc wrote it; `internal` when it is no database or cannot be read.
 */
export async function openStateDb(path: string): Promise<DatabaseSync> {
  const [there] = stateDbFiles(path).map((file) => checkPrivate(file, 0o600, "file"));
  // SQLite would make it as wide as the umask allows; its other files take this one's mode.
  if (!there) Deno.openSync(path, { write: true, createNew: true, mode: 0o600 }).close();
  const { DatabaseSync } = await import("node:sqlite");
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    // Little is read twice here, so the cache of SQLite stays small.
    db.exec(`PRAGMA busy_timeout = 2000;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA cache_size = -256;
      PRAGMA journal_size_limit = 4194304;`);
    migrate(db, path);
    return db;
  } catch (cause) {
    db?.close();
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("internal", `cannot open the database ${path}: ${messageOf(cause)}`, {
      hint: `move it away to start with an empty database: mv ${path} ${path}.old`,
      cause,
    });
  }
}

function migrate(db: DatabaseSync, path: string): void {
  const { user_version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  const newest = MIGRATIONS.length;
  if (user_version > newest) {
    throw new SvcError(
      "schema_version",
      `the database ${path} has schema version ${user_version}; this svc supports up to ${newest}`,
      { hint: "a newer svc wrote it; `svc update` installs a newer version" },
    );
  }
  for (let version = user_version; version < newest; version++) {
    db.exec(`BEGIN IMMEDIATE; ${MIGRATIONS[version]} PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}
