import type { Migration } from "../../os/state_db.ts";

export const MIGRATIONS: readonly Migration[] = [
  {
    was: 2,
    sql: `CREATE TABLE memory (
    scope TEXT NOT NULL CHECK (scope IN ('Session', 'Worker', 'AllSessions', 'Global', 'Always')),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (scope, key)
  ) STRICT;`,
  },
  {
    was: 4,
    sql: `DROP TABLE memory;
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
  },
  // Facts of these scopes were written without a question, and the table does not say by whom.
  {
    was: 9,
    sql: `ALTER TABLE memory ADD COLUMN written_by TEXT NOT NULL DEFAULT '';
  ALTER TABLE memory ADD COLUMN approved INTEGER NOT NULL DEFAULT 1;
  UPDATE memory SET approved = 0 WHERE category = 'fact' AND scope IN ('Global', 'Always');`,
  },
];
