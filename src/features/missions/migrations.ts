import type { Migration } from "../../os/state_db.ts";

export const MIGRATIONS: readonly Migration[] = [
  {
    was: 3,
    sql: `CREATE TABLE missions (
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
  },
  { was: 6, sql: `ALTER TABLE missions ADD COLUMN "commit" TEXT;` },
];
