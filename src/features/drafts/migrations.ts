import type { Migration } from "../../os/state_db.ts";

export const MIGRATIONS: readonly Migration[] = [
  `CREATE TABLE IF NOT EXISTS drafts (
    session_id TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    changed_at TEXT NOT NULL
  ) STRICT;`,
];
