/** What a daemon takes up again once its sessions are back. */
import type { DatabaseSync } from "node:sqlite";
import type { MissionEngine } from "../features/missions/engine.ts";
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import type { TaskEngine } from "../features/tasks/engine.ts";
import type { Opener } from "../base/lazy.ts";

export interface ResumeParts {
  log: Log;
  tasks: Opener<TaskEngine>;
  missions: Opener<MissionEngine>;
  openStateDb(): Promise<DatabaseSync>;
  /** Whether there may be queued tasks. */
  has_tasks: boolean;
  /** Whether there is a database: without one there are no missions, and nothing is loaded. */
  has_state_db: boolean;
}

/** Has queued tasks and missions go on after `restored`; nothing waits for it, failures are logged. */
export function resumeAfter(restored: Promise<void>, parts: ResumeParts): void {
  const { log, tasks, has_tasks, has_state_db } = parts;
  const logged = (message: string) => (error: unknown) =>
    log.error(message, { error: messageOf(error) });
  restored.catch(logged("cannot restore the sessions"));
  if (has_tasks) {
    restored.then(() => tasks.get()).catch(logged("cannot open the task queue"));
  }
  if (has_state_db) {
    restored.then(() => resumeMissions(parts))
      .catch(logged("cannot resume the missions"));
  }
}

/** Opens the missions if one is unfinished: otherwise nothing of them is loaded. */
async function resumeMissions({ openStateDb, missions }: ResumeParts): Promise<void> {
  const db = await openStateDb();
  try {
    const { hasUnfinishedMissions } = await import("../features/missions/store.ts");
    if (!hasUnfinishedMissions(db)) return;
  } finally {
    db.close();
  }
  await missions.get();
}
