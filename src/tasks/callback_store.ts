/** Reports of tasks' ends that are due, in the database. */
import type { Statements } from "../platform/statements.ts";

/** Where the end of a task is reported to. */
export interface CallbackTarget {
  url: string;
  /** Which secret the report is signed with; not the secret. */
  key_id: string;
}

/** A report that is due. */
export interface DueCallback extends CallbackTarget {
  task_id: string;
  /** How often it was tried. */
  tries: number;
}

/** Adds a line to the log of a task. */
type LogLine = (at: string, task_id: string, event: string, detail: string) => void;

/** There are few against the tasks: CROSS JOIN has SQLite begin with them. */
export class CallbackStore {
  readonly #db: Statements;
  readonly #log: LogLine;

  constructor(db: Statements, log: LogLine) {
    this.#db = db;
    this.#log = log;
  }

  /** Adds a report, due when its task has ended; part of the caller's transaction. */
  add(task_id: string, { url, key_id }: CallbackTarget): void {
    this.#db.run(
      "INSERT INTO task_callbacks (task_id, url, key_id) VALUES (:task_id, :url, :key_id)",
      { task_id, url, key_id },
    );
  }

  /** The reports of ended tasks that are due; see `claim` for the horizon. */
  due(now: number, horizon_ms: number): DueCallback[] {
    const rows = this.#db.all(
      `SELECT task_id, url, key_id, tries FROM task_callbacks AS c CROSS JOIN tasks ON id = task_id
       WHERE status IN ('completed', 'failed')
         AND (c.not_before <= :now OR c.not_before > :now + :horizon_ms)
       ORDER BY task_id`,
      { now, horizon_ms },
    );
    return rows as unknown as DueCallback[];
  }

  /** When the next report is due; `undefined` when none waits for a time. */
  nextDue(): number | undefined {
    const row = this.#db.get(
      `SELECT min(c.not_before) AS due FROM task_callbacks AS c CROSS JOIN tasks ON id = task_id
       WHERE status IN ('completed', 'failed')`,
    );
    return row?.due as number | null ?? undefined;
  }

  /** Tries a report again, not before that time. */
  postpone(task_id: string, not_before: number, detail: string, now: number): void {
    this.#db.transaction(() => {
      this.#db.run(
        "UPDATE task_callbacks SET tries = tries + 1, not_before = :not_before " +
          "WHERE task_id = :task_id",
        { task_id, not_before },
      );
      this.#log(new Date(now).toISOString(), task_id, "callback_retry", detail);
    });
  }

  /** Ends a report: it has arrived, or is given up. */
  end(task_id: string, event: string, detail: string, now: number): void {
    this.#db.transaction(() => {
      this.#db.run("DELETE FROM task_callbacks WHERE task_id = :task_id", { task_id });
      this.#log(new Date(now).toISOString(), task_id, event, detail);
    });
  }
}
