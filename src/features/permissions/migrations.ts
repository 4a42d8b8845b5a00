import type { Migration } from "../../os/state_db.ts";

export const MIGRATIONS: readonly Migration[] = [
  `CREATE TABLE IF NOT EXISTS permission_rules (
    rule_id TEXT PRIMARY KEY,
    action TEXT NOT NULL CHECK (action IN ('allow', 'ask', 'deny')),
    rule TEXT NOT NULL,
    bound TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('session', 'directory', 'everywhere')),
    place TEXT NOT NULL,
    made_at TEXT NOT NULL,
    made_by TEXT NOT NULL,
    UNIQUE (action, rule, bound, scope, place)
  ) STRICT;`,
  `CREATE TABLE IF NOT EXISTS trusted_directories (
    directory TEXT PRIMARY KEY,
    content_hash TEXT NOT NULL,
    trusted_at TEXT NOT NULL,
    trusted_by TEXT NOT NULL
  ) STRICT;`,
  `CREATE TABLE IF NOT EXISTS declined_directories (
    directory TEXT PRIMARY KEY,
    content_hash TEXT NOT NULL
  ) STRICT;`,
];
