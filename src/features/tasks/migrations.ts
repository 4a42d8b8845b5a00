import type { Migration } from "../../os/state_db.ts";

export const MIGRATIONS: readonly Migration[] = [
  {
    was: 1,
    sql: `CREATE TABLE tasks (
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
  },
  {
    was: 5,
    sql: `ALTER TABLE tasks ADD COLUMN hired INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX task_log_by_task ON task_log (task_id, seq);
  CREATE TABLE task_callbacks (
    task_id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    key_id TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;`,
  },
  {
    was: 7,
    sql: `CREATE TABLE task_clients (
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
  },
  // Until now only A2A tasks and those with a callback had a known owner.
  {
    was: 8,
    sql: `ALTER TABLE tasks ADD COLUMN owner TEXT;
  UPDATE tasks SET owner = coalesce(
    (SELECT nullif(key_id, '') FROM task_clients WHERE task_id = tasks.id),
    (SELECT key_id FROM task_callbacks AS c WHERE c.task_id = tasks.id AND c.id = ''))
  WHERE hired = 1;`,
  },
  // Finds the next task of each owner, and those that wait for a time, among many.
  `CREATE INDEX IF NOT EXISTS tasks_by_turn ON tasks (coalesce(owner, hired), seq)
    WHERE status = 'queued' AND not_before = 0;
  CREATE INDEX IF NOT EXISTS tasks_waiting ON tasks (not_before)
    WHERE status = 'queued' AND not_before > 0;`,
  // How far a task is, for the next daemon.
  `ALTER TABLE tasks ADD COLUMN work TEXT;
  CREATE INDEX IF NOT EXISTS tasks_with_work ON tasks (id) WHERE work IS NOT NULL;`,
];
