/** Reports of tasks' ends that are due, in the database. */
import type { Row, Statements } from "../../os/statements.ts";
import { tooManyCallbacks } from "./common.ts";
import { CALLBACKS_MAX } from "./task.ts";

/** Where the end of a task is reported to. */
export interface CallbackTarget {
  /** Tells the reports of one task apart; empty for the one that its request asked for. */
  id: string;
  url: string;
  /** Which secret the report is signed with; not the secret. */
  key_id: string;
  /** What else its sender is to know: of no meaning here, and JSON. */
  push?: unknown;
}

/** A report that is due. */
export interface DueCallback extends CallbackTarget {
  task_id: string;
  /** How often it was tried. */
  tries: number;
}

/** Adds a line to the log of a task. */
type LogLine = (at: string, task_id: string, event: string, detail: string) => void;

/** Which report is meant. */
export type NamedCallback = Pick<DueCallback, "task_id" | "id">;

/** The reports that are due, wherever they are kept. */
export interface Reports {
  /** The reports of ended tasks that are due; a time further off than the horizon has come. */
  due(now: number, horizon_ms: number): DueCallback[];
  /** When the next report is due; `undefined` when none waits for a time. */
  nextDue(): number | undefined;
  /** Tries a report again, not before that time. */
  postpone(
    callback: NamedCallback,
    not_before: number,
    detail: string,
    now: number,
  ): void | Promise<void>;
  /** Ends a report: it has arrived, or is given up. */
  end(callback: NamedCallback, event: string, detail: string, now: number): void | Promise<void>;
}

/** There are few against the tasks: CROSS JOIN has SQLite begin with them. */
export class CallbackStore implements Reports {
  readonly #db: Statements;
  readonly #log: LogLine;

  constructor(db: Statements, log: LogLine) {
    this.#db = db;
    this.#log = log;
  }

  /** Adds a report, due when its task has ended; part of the caller's transaction. */
  add(task_id: string, { id, url, key_id, push }: CallbackTarget): void {
    this.#db.run(
      `INSERT INTO task_callbacks (task_id, id, url, key_id, push)
       VALUES (:task_id, :id, :url, :key_id, :push)`,
      { task_id, id, url, key_id, push: push === undefined ? null : JSON.stringify(push) },
    );
  }

  /**
   * Adds a report, or replaces the one of its id.
   *
   * @throws {SvcError} conflict when the task has too many.
   */
  set(task_id: string, callback: CallbackTarget): void {
    this.#db.transaction(() => {
      this.remove(task_id, callback.id);
      if (this.of(task_id).length >= CALLBACKS_MAX) throw tooManyCallbacks(task_id);
      this.add(task_id, callback);
    });
  }

  /** The reports of a task that are still to be sent. */
  of(task_id: string): CallbackTarget[] {
    const rows = this.#db.all(
      "SELECT id, url, key_id, push FROM task_callbacks WHERE task_id = :task_id ORDER BY id",
      { task_id },
    );
    return rows.map(toCallback<CallbackTarget>);
  }

  /** Takes a report back, if there is one of that id. */
  remove(task_id: string, id: string): void {
    this.#db.run("DELETE FROM task_callbacks WHERE task_id = :task_id AND id = :id", {
      task_id,
      id,
    });
  }

  due(now: number, horizon_ms: number): DueCallback[] {
    const rows = this.#db.all(
      `SELECT task_id, c.id, url, key_id, push, tries
       FROM task_callbacks AS c CROSS JOIN tasks AS t ON t.id = task_id
       WHERE status IN ('completed', 'failed')
         AND (c.not_before <= :now OR c.not_before > :now + :horizon_ms)
       ORDER BY task_id, c.id`,
      { now, horizon_ms },
    );
    return rows.map(toCallback<DueCallback>);
  }

  nextDue(): number | undefined {
    const row = this.#db.get(
      `SELECT min(c.not_before) AS due
       FROM task_callbacks AS c CROSS JOIN tasks AS t ON t.id = task_id
       WHERE status IN ('completed', 'failed')`,
    );
    return row?.due as number | null ?? undefined;
  }

  postpone({ task_id, id }: NamedCallback, not_before: number, detail: string, now: number): void {
    this.#db.transaction(() => {
      this.#db.run(
        "UPDATE task_callbacks SET tries = tries + 1, not_before = :not_before " +
          "WHERE task_id = :task_id AND id = :id",
        { task_id, id, not_before },
      );
      this.#log(new Date(now).toISOString(), task_id, "callback_retry", detail);
    });
  }

  end({ task_id, id }: NamedCallback, event: string, detail: string, now: number): void {
    this.#db.transaction(() => {
      this.remove(task_id, id);
      this.#log(new Date(now).toISOString(), task_id, event, detail);
    });
  }
}

function toCallback<T extends CallbackTarget>({ push, ...row }: Row): T {
  return { ...row, ...(push === null ? {} : { push: JSON.parse(push as string) }) } as unknown as T;
}
