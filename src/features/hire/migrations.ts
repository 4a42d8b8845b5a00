import type { Migration } from "../../os/state_db.ts";

export const MIGRATIONS: readonly Migration[] = [
  `CREATE TABLE IF NOT EXISTS hire_drafts (
    id TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    context_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'cancelled', 'done')),
    changed_at TEXT NOT NULL,
    content TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS hire_drafts_by_key ON hire_drafts (key_id, changed_at);
  CREATE TABLE IF NOT EXISTS hire_draft_messages (
    key_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    draft_id TEXT NOT NULL,
    PRIMARY KEY (key_id, request_id)
  ) STRICT, WITHOUT ROWID;`,
];
