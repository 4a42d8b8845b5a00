/** The pending callbacks of tasks, in the database. */
import type * as z from "zod";
import type { Row, Statements } from "../../os/statements.ts";
import { tooManyCallbacks } from "./common.ts";
import { CALLBACKS_MAX } from "./task.ts";
import type { callbackTargetSchema } from "./queued_schemas.ts";

/** The target of a callback. */
export type CallbackTarget = z.output<ReturnType<typeof callbackTargetSchema>>;

export interface DueCallback extends CallbackTarget {
  task_id: string;
  tries: number;
}

type LogLine = (at: string, task_id: string, event: string, detail: string) => void;

export type NamedCallback = Pick<DueCallback, "task_id" | "id">;

export interface Reports {
  /** Returns due callbacks of ended tasks. A time beyond the horizon counts as due. */
  due(now: number, horizon_ms: number): DueCallback[];
  /** Returns when the next callback is due. */
  nextDue(): number | undefined;
  postpone(
    callback: NamedCallback,
    not_before: number,
    detail: string,
    now: number,
  ): void | Promise<void>;
  /** Ends a callback: it was delivered, or svc gave up. */
  end(callback: NamedCallback, event: string, detail: string, now: number): void | Promise<void>;
}

/** Few tasks have callbacks: CROSS JOIN makes SQLite begin with them. */
export class CallbackStore implements Reports {
  readonly #db: Statements;
  readonly #log: LogLine;

  constructor(db: Statements, log: LogLine) {
    this.#db = db;
    this.#log = log;
  }

  /** Adds a callback, due when its task has ended; part of the caller's transaction. */
  add(task_id: string, { id, url, key_id, push }: CallbackTarget): void {
    this.#db.run(
      `INSERT INTO task_callbacks (task_id, id, url, key_id, push)
       VALUES (:task_id, :id, :url, :key_id, :push)`,
      { task_id, id, url, key_id, push: push === undefined ? null : JSON.stringify(push) },
    );
  }

  /** Adds or replaces a callback. @throws {SvcError} conflict when the task has too many. */
  set(task_id: string, callback: CallbackTarget): void {
    this.#db.transaction(() => {
      this.remove(task_id, callback.id);
      if (this.of(task_id).length >= CALLBACKS_MAX) throw tooManyCallbacks(task_id);
      this.add(task_id, callback);
    });
  }

  /** Returns the callbacks of a task that are still to be sent. */
  of(task_id: string): CallbackTarget[] {
    const rows = this.#db.all(
      "SELECT id, url, key_id, push FROM task_callbacks WHERE task_id = :task_id ORDER BY id",
      { task_id },
    );
    return rows.map(toCallback<CallbackTarget>);
  }

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
