/** Missions in the database: a change is on the disk when the call returns. */
import type { DatabaseSync } from "node:sqlite";
import { given, type Row, Statements } from "../../os/statements.ts";
import type {
  CriterionState,
  Mission,
  MissionLogEntry,
  MissionOptions,
  MissionStatus,
  TaskState,
} from "./mission.ts";

/** Characters of a log line's detail. */
const DETAIL_MAX = 40 * 1024;

const UNFINISHED = "released = 0";

export type LogLine = Omit<MissionLogEntry, "seq" | "at">;

export class MissionStore {
  readonly #db: Statements;

  /** @param db a database of the current schema; {@linkcode MissionStore.close} closes it. */
  constructor(db: DatabaseSync) {
    this.#db = new Statements(db);
  }

  close(): void {
    this.#db.close();
  }

  /** Adds a mission with its tasks and criteria, all pending. */
  insert(mission: Mission): void {
    const { id, spec, options, branch, owns_session } = mission;
    this.#db.transaction(() => {
      this.#db.run(
        `INSERT INTO missions (id, session_id, owns_session, workdir, spec, options, status,
           created_at, branch, base)
         VALUES (:id, :session_id, :owns_session, :workdir, :spec, :options, :status,
           :created_at, :branch, :base)`,
        {
          id,
          session_id: mission.session_id,
          owns_session: Number(owns_session),
          workdir: mission.workdir,
          spec: JSON.stringify(spec),
          options: JSON.stringify(options),
          status: mission.status,
          created_at: mission.created_at,
          branch: branch?.name ?? null,
          base: branch?.base ?? null,
        },
      );
      for (const { tasks, acceptance_criteria } of spec.sessions) {
        for (const task of tasks) {
          this.#db.run(
            "INSERT INTO mission_tasks (mission_id, task_id, status) VALUES (:id, :task, 'pending')",
            { id, task: task.id },
          );
        }
        for (const criterion of acceptance_criteria) {
          this.#db.run(
            "INSERT INTO mission_criteria (mission_id, ac_id, status) VALUES (:id, :ac, 'pending')",
            { id, ac: criterion.id },
          );
        }
      }
    });
  }

  /** Ends a mission. @returns whether it was running. */
  finish(
    id: string,
    status: Exclude<MissionStatus, "running">,
    error: string | undefined,
    at: string,
  ): boolean {
    const { changes } = this.#db.run(
      `UPDATE missions SET status = :status, error = :error, completed_at = :at
       WHERE id = :id AND status = 'running'`,
      { id, status, error: error ?? null, at },
    );
    return changes > 0;
  }

  /** Resumes an ended mission: what is not done is pending again. */
  reopen(
    id: string,
    session: { session_id: string; owns_session: boolean },
    options: MissionOptions,
  ): void {
    this.#db.transaction(() => {
      this.#db.run(
        `UPDATE missions SET status = 'running', error = NULL, completed_at = NULL,
           session_id = :session_id, owns_session = :owns, options = :options, released = 0
         WHERE id = :id`,
        {
          id,
          session_id: session.session_id,
          owns: Number(session.owns_session),
          options: JSON.stringify(options),
        },
      );
      this.#db.run(
        `UPDATE mission_tasks SET status = 'pending', error = NULL, attempts = 0
         WHERE mission_id = :id AND status <> 'completed'`,
        { id },
      );
      this.#db.run(
        `UPDATE mission_criteria SET status = 'pending'
         WHERE mission_id = :id AND status NOT IN ('passed', 'soft_passed')`,
        { id },
      );
    });
  }

  /** Records the commit that brought a mission's result to its workdir. */
  deliver(id: string, commit: string): void {
    this.#db.run(`UPDATE missions SET "commit" = :commit WHERE id = :id`, { id, commit });
  }

  /** Records that an ended mission has left nothing to remove. */
  release(id: string): void {
    this.#db.run("UPDATE missions SET released = 1 WHERE id = :id", { id });
  }

  /** Gives a mission another session of its own. */
  move(id: string, session_id: string): void {
    this.#db.run(
      "UPDATE missions SET session_id = :session_id, owns_session = 1 WHERE id = :id",
      { id, session_id },
    );
  }

  /** Changes a task; absent members stay, `undefined` empties them. */
  setTask(mission_id: string, { task_id, ...changes }: Partial<TaskState> & { task_id: string }) {
    this.#update("mission_tasks", { mission_id, task_id }, changes);
  }

  /** Changes a criterion, like {@linkcode MissionStore.setTask}. */
  setCriterion(
    mission_id: string,
    { ac_id, rewritten, ...changes }: Partial<CriterionState> & { ac_id: string },
  ) {
    const check = rewritten === undefined ? {} : { rewritten: JSON.stringify(rewritten) };
    this.#update("mission_criteria", { mission_id, ac_id }, { ...changes, ...check });
  }

  #update(table: string, key: Row, changes: Record<string, string | number | undefined>): void {
    const columns = Object.keys(changes);
    if (columns.length === 0) return;
    const values = columns.map((name) => [name, changes[name] ?? null]);
    const set = columns.map((name) => `"${name}" = :${name}`).join(", ");
    const where = Object.keys(key).map((name) => `${name} = :${name}`).join(" AND ");
    this.#db.run(`UPDATE ${table} SET ${set} WHERE ${where}`, {
      ...Object.fromEntries(values),
      ...key,
    });
  }

  addCost(id: string, usd: number): void {
    this.#db.run("UPDATE missions SET cost_usd = cost_usd + :usd WHERE id = :id", { id, usd });
  }

  /** Adds a line to a mission's log. @returns its seq. */
  log(mission_id: string, at: string, { task_id, ac_id, event, detail }: LogLine): number {
    const { lastInsertRowid } = this.#db.run(
      `INSERT INTO mission_log (mission_id, at, task_id, ac_id, event, detail)
       VALUES (:mission_id, :at, :task_id, :ac_id, :event, :detail)`,
      {
        mission_id,
        at,
        task_id: task_id ?? null,
        ac_id: ac_id ?? null,
        event,
        detail: detail?.slice(0, DETAIL_MAX) ?? null,
      },
    );
    return Number(lastInsertRowid);
  }

  get(id: string): Mission | undefined {
    const row = this.#db.get("SELECT * FROM missions WHERE id = :id", { id });
    return row && toMission(row);
  }

  /** Up to `limit` missions, newest first, and where the next page begins. */
  list(
    { status, limit, before }: { status?: MissionStatus; limit: number; before?: string },
  ): { missions: Mission[]; next?: string } {
    const rows = this.#db.all(
      `SELECT * FROM missions WHERE id < :before
       ${status === undefined ? "" : "AND status = :status"} ORDER BY id DESC LIMIT :limit`,
      { before: before ?? "~", limit: limit + 1, ...(status === undefined ? {} : { status }) },
    );
    const missions = rows.slice(0, limit).map(toMission);
    return { missions, next: rows.length > limit ? missions.at(-1)!.id : undefined };
  }

  /** Missions that have not ended, or have left something to remove; oldest first. */
  unfinished(): Mission[] {
    return this.#db.all(`SELECT * FROM missions WHERE ${UNFINISHED} ORDER BY id`).map(toMission);
  }

  /** The newest mission of a spec in a workdir, in any status. */
  newestOf(workdir: string, spec_id: string): Mission | undefined {
    const rows = this.#db.all("SELECT * FROM missions WHERE workdir = :workdir ORDER BY id DESC", {
      workdir,
    });
    return rows.map(toMission).find(({ spec }) => spec.id === spec_id);
  }

  /** The state of a mission's tasks, by id. */
  tasks(mission_id: string): Map<string, TaskState> {
    const rows = this.#db.all("SELECT * FROM mission_tasks WHERE mission_id = :mission_id", {
      mission_id,
    });
    return new Map(rows.map(({ mission_id: _, ...row }) => {
      const state = given(row) as unknown as TaskState;
      return [state.task_id, state];
    }));
  }

  /** The state of a mission's criteria, by id. */
  criteria(mission_id: string): Map<string, CriterionState> {
    const rows = this.#db.all("SELECT * FROM mission_criteria WHERE mission_id = :mission_id", {
      mission_id,
    });
    return new Map(rows.map(({ mission_id: _, rewritten, ...row }) => {
      const state = given(row) as unknown as CriterionState;
      if (rewritten !== null) state.rewritten = JSON.parse(rewritten as string);
      return [state.ac_id, state];
    }));
  }

  /** Up to `limit` lines of a mission's log: those after `since_seq`, else the newest. */
  logs(
    mission_id: string,
    { since_seq, limit }: { since_seq?: number; limit: number },
  ): MissionLogEntry[] {
    const forward = since_seq !== undefined;
    const rows = this.#db.all(
      `SELECT seq, at, task_id, ac_id, event, detail FROM mission_log
       WHERE mission_id = :mission_id AND seq > :since
       ORDER BY seq ${forward ? "ASC" : "DESC"} LIMIT :limit`,
      { mission_id, since: since_seq ?? 0, limit },
    );
    const ordered = forward ? rows : rows.reverse();
    return ordered.map((row) => given(row) as unknown as MissionLogEntry);
  }
}

/** Whether a starting daemon has something to do for missions. */
export function hasUnfinishedMissions(db: DatabaseSync): boolean {
  return db.prepare(`SELECT 1 FROM missions WHERE ${UNFINISHED} LIMIT 1`).get() !== undefined;
}

function toMission(row: Row): Mission {
  const { branch, base, spec, options, owns_session, released: _, ...rest } = row;
  return {
    ...given(rest) as unknown as Mission,
    owns_session: owns_session === 1,
    spec: JSON.parse(spec as string),
    options: JSON.parse(options as string),
    ...(branch === null ? {} : { branch: { name: branch as string, base: base as string } }),
  };
}
