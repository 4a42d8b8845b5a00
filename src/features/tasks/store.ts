/**
 * Tasks in the database. Each change of a task and its line in the log are one transaction. The
 * `WHERE` clause of the change decides between concurrent ends of a task (done, cancelled, timed
 * out).
 */
import type { DatabaseSync } from "node:sqlite";
import { given, type Row, Statements } from "../../os/statements.ts";
import { CallbackStore } from "./callback_store.ts";
import { ClientStore } from "./client_store.ts";
import {
  DETAIL_MAX,
  LOST,
  type NewTask,
  type Outcome,
  type Settlement,
  type StartedTask,
} from "./lifecycle.ts";
import type { TaskSight } from "./engine.ts";
import type { TaskLogEntry, TaskRecord, TaskStatus } from "./task.ts";

const PRUNED_AT_ONCE = 1_000;

const COLUMNS = "seq, id, status, task_type, created_at, started_at, completed_at, summary, " +
  "size, error, cancelled, attempts, extras, hired, request ->> 'effort' AS effort, " +
  "substr(coalesce(request ->> 'description', request ->> 'query'), 1, 300) AS subject";

export class TaskStore {
  readonly #db: Statements;
  readonly callbacks: CallbackStore;
  readonly clients: ClientStore;

  /** @param db a database with the current schema; {@linkcode TaskStore.close} closes it */
  constructor(db: DatabaseSync) {
    this.#db = new Statements(db);
    this.callbacks = new CallbackStore(this.#db, (...line) => this.log(...line));
    this.clients = new ClientStore(this.#db);
  }

  close(): void {
    this.#db.close();
  }

  // ── changes ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Adds tasks in one transaction: queued ones as queued, others as running.
   *
   * @returns their records; an earlier one if a client has made the same request before
   */
  insert(tasks: readonly NewTask[], now: number): TaskRecord[] {
    const at = iso(now);
    return this.#db.transaction(() =>
      tasks.map((task) => {
        const { id, mode, request, hired, owner, max_attempts, timeout_ms, callback, client } =
          task;
        const earlier = client && this.clients.taskOf(client);
        if (earlier !== undefined) return this.get(earlier)!;
        const running = mode === "sync";
        this.#db.run(
          `INSERT INTO tasks (id, mode, status, task_type, request, created_at, started_at,
             attempts, max_attempts, timeout_ms, hired, owner)
           VALUES (:id, :mode, :status, :task_type, :request, :at, :started_at,
             :attempts, :max_attempts, :timeout_ms, :hired, :owner)`,
          {
            id,
            mode,
            status: running ? "running" : "queued",
            task_type: request.task_type,
            request: JSON.stringify(request),
            at,
            started_at: running ? at : null,
            attempts: running ? 1 : 0,
            max_attempts,
            timeout_ms: timeout_ms ?? null,
            hired: Number(hired),
            owner: owner ?? null,
          },
        );
        if (callback !== undefined) this.callbacks.add(id, callback);
        if (client !== undefined) this.clients.add(id, client);
        if (running) this.log(at, id, "started", "attempt 1 of 1");
        else this.log(at, id, "enqueued", request.task_type);
        return this.get(id)!;
      })
    );
  }

  /**
   * Starts the next attempt at the oldest queued task that is due.
   *
   * @param horizon_ms a time beyond this was written before the clock jumped back, and counts as
   * due
   */
  claim(now: number, horizon_ms: number): StartedTask | undefined {
    return this.#db.transaction(() => {
      const at = iso(now);
      const row = this.#db.get(
        `UPDATE tasks SET status = 'running', attempts = attempts + 1,
           started_at = max(:at, created_at)
         WHERE seq = (SELECT seq FROM tasks WHERE status = 'queued'
           AND (not_before <= :now OR not_before > :now + :horizon_ms) ORDER BY seq LIMIT 1)
         RETURNING id, request, attempts, max_attempts, timeout_ms, hired`,
        { at, now, horizon_ms },
      );
      if (row === undefined) return undefined;
      const attempt = row.attempts as number;
      this.log(at, row.id as string, "started", `attempt ${attempt} of ${row.max_attempts}`);
      return {
        id: row.id as string,
        request: JSON.parse(row.request as string),
        hired: row.hired === 1,
        attempt,
        max_attempts: row.max_attempts as number,
        timeout_ms: row.timeout_ms === null ? undefined : row.timeout_ms as number,
      };
    });
  }

  /**
   * Records how attempts ended, in one transaction, except for tasks that were decided otherwise
   * meanwhile.
   */
  settle(settlements: readonly Settlement[], now: number): void {
    this.#db.transaction(() => {
      for (const { id, attempt, outcome } of settlements) {
        this.#settle(id, attempt, outcome, iso(now));
      }
    });
  }

  #settle(id: string, attempt: number, outcome: Outcome, at: string): void {
    const { sql, values, detail } = settlement(outcome);
    const { changes } = this.#db.run(
      `UPDATE tasks SET ${sql} WHERE id = :id AND status = 'running' AND attempts = :attempt`,
      { ...values, ...(sql.includes(":at") ? { at } : {}), id, attempt },
    );
    if (changes === 0) return;
    const cancelled = outcome.kind === "failed" && outcome.cancelled;
    this.log(at, id, cancelled ? "cancelled" : outcome.kind, detail);
  }

  /** Cancels a task that has not ended. @returns whether this call ended it. */
  cancel(id: string, now: number): boolean {
    const at = iso(now);
    return this.#db.transaction(() => {
      const { changes } = this.#db.run(
        `UPDATE tasks SET status = 'failed', error = 'cancelled', cancelled = 1,
           completed_at = max(:at, coalesce(started_at, created_at))
         WHERE id = :id AND status IN ('queued', 'running')`,
        { at, id },
      );
      if (changes > 0) this.log(at, id, "cancelled");
      return changes > 0;
    });
  }

  /** Settles the tasks that an earlier daemon left running. @returns their number. */
  recover(now: number): number {
    const at = iso(now);
    return this.#db.transaction(() => {
      const rows = this.#db.all(
        "SELECT id, mode, attempts, max_attempts FROM tasks WHERE status = 'running'",
        {},
      );
      for (const { id, mode, attempts, max_attempts } of rows) {
        const again = mode === "queue" && attempts! < max_attempts!;
        const error = mode === "queue" ? `${LOST}, attempt ${attempts} of ${max_attempts}` : LOST;
        this.#settle(
          id as string,
          attempts as number,
          again ? { kind: "retry", error, not_before: 0 } : { kind: "failed", error },
          at,
        );
      }
      return rows.length;
    });
  }

  /**
   * Removes the oldest ended tasks and their lines in the log, up to a thousand at a time. Tasks
   * with pending callbacks stay.
   *
   * @param keep how many ended tasks stay
   * @returns the ids of the removed tasks
   */
  prune(keep: number): string[] {
    return this.#db.transaction(() => {
      const rows = this.#db.all(
        `DELETE FROM tasks WHERE seq IN (
           SELECT seq FROM tasks WHERE status IN ('completed', 'failed') AND seq <= (
             SELECT seq FROM tasks WHERE status IN ('completed', 'failed')
             ORDER BY seq DESC LIMIT 1 OFFSET :keep)
           AND id NOT IN (SELECT task_id FROM task_callbacks)
           ORDER BY seq LIMIT ${PRUNED_AT_ONCE})
         RETURNING id`,
        { keep },
      );
      const ids = rows.map(({ id }) => id as string);
      for (const id of ids) {
        this.#db.run("DELETE FROM task_log WHERE task_id = :id", { id });
        this.clients.remove(id);
      }
      if (ids.length > 0) {
        // Lines about the queue itself are removed together with the tasks around them.
        this.#db.run(
          `DELETE FROM task_log WHERE task_id IS NULL
             AND seq < (SELECT min(seq) FROM task_log WHERE task_id IS NOT NULL)`,
          {},
        );
      }
      return ids;
    });
  }

  /** Adds a line to the log. */
  log(at: string, task_id: string | undefined, event: string, detail?: string): void {
    this.#db.run(
      "INSERT INTO task_log (at, task_id, event, detail) VALUES (:at, :task_id, :event, :detail)",
      { at, task_id: task_id ?? null, event, detail: detail?.slice(0, DETAIL_MAX) ?? null },
    );
  }

  /** Changes a setting of the queue, and records it in the log as `event`. */
  set(name: string, value: string, event: string, now: number): void {
    this.#db.transaction(() => {
      this.#db.run(
        `INSERT INTO task_settings (name, value) VALUES (:name, :value)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
        { name, value },
      );
      this.log(iso(now), undefined, event, value);
    });
  }

  // ── looking ──────────────────────────────────────────────────────────────────────────────────

  setting(name: string): string | undefined {
    const row = this.#db.get("SELECT value FROM task_settings WHERE name = :name", { name });
    return row?.value as string | undefined;
  }

  get(id: string, { hired = false, owned_by }: TaskSight = {}): TaskRecord | undefined {
    const row = this.#db.get(
      `SELECT ${COLUMNS}, owner FROM tasks WHERE id = :id AND hired >= :hired`,
      { id, hired: Number(hired) },
    );
    if (row === undefined) return undefined;
    const { owner, ...rest } = row;
    if (owned_by?.(owner === null ? undefined : owner as string) === false) return undefined;
    return toRecord(rest);
  }

  /** Returns up to `limit` tasks, newest first, and where the next page begins. */
  list(
    { state, limit, before }: { state?: TaskStatus; limit: number; before?: number },
  ): { tasks: TaskRecord[]; next?: number } {
    const rows = this.#db.all(
      `SELECT ${COLUMNS} FROM tasks WHERE seq < :before
       ${state === undefined ? "" : "AND status = :state"} ORDER BY seq DESC LIMIT :limit`,
      {
        before: before ?? Number.MAX_SAFE_INTEGER,
        limit: limit + 1,
        ...(state === undefined ? {} : { state }),
      },
    );
    const page = rows.slice(0, limit);
    const next = rows.length > limit ? page.at(-1)?.seq as number : undefined;
    return { tasks: page.map(toRecord), next };
  }

  counts(): Record<TaskStatus, number> {
    const counts = { queued: 0, running: 0, completed: 0, failed: 0 };
    for (const row of this.#db.all("SELECT status, count(*) AS n FROM tasks GROUP BY status", {})) {
      counts[row.status as TaskStatus] = row.n as number;
    }
    return counts;
  }

  /** Returns when the next waiting task is due; `undefined` when none waits. */
  nextDue(): number | undefined {
    const row = this.#db.get(
      "SELECT min(not_before) AS due FROM tasks WHERE status = 'queued'",
      {},
    );
    return row?.due as number | null ?? undefined;
  }

  /** Returns the newest `n` lines of the log, oldest first. */
  tail(n: number): TaskLogEntry[] {
    const rows = this.#db.all("SELECT * FROM task_log ORDER BY seq DESC LIMIT :n", { n });
    return rows.reverse().map((row) => given(row) as unknown as TaskLogEntry);
  }

  /** Returns the lines of one task after `since_seq`, oldest first. */
  logOf(task_id: string, since_seq: number): TaskLogEntry[] {
    const rows = this.#db.all(
      "SELECT * FROM task_log WHERE task_id = :task_id AND seq > :since_seq ORDER BY seq",
      { task_id, since_seq },
    );
    return rows.map((row) => given(row) as unknown as TaskLogEntry);
  }
}

const ENDED_AT = "completed_at = max(:at, started_at)";

/** Converts an outcome into a change of its task's row. */
function settlement(outcome: Outcome): { sql: string; values: Row; detail?: string } {
  switch (outcome.kind) {
    case "completed": {
      const { summary, size, extras } = outcome;
      return {
        sql:
          `status = 'completed', summary = :summary, size = :size, extras = :extras, ${ENDED_AT}`,
        values: { summary, size, extras },
        detail: `${size} bytes`,
      };
    }
    case "failed": {
      const { error, cancelled = false, extras = null } = outcome;
      return {
        sql:
          `status = 'failed', error = :error, cancelled = :cancelled, extras = :extras, ${ENDED_AT}`,
        values: { error, cancelled: Number(cancelled), extras },
        detail: error,
      };
    }
    case "retry":
      return {
        sql: "status = 'queued', started_at = NULL, not_before = :not_before",
        values: { not_before: outcome.not_before },
        detail: outcome.error,
      };
    case "returned":
      return {
        sql: "status = 'queued', started_at = NULL, attempts = attempts - 1, not_before = 0",
        values: {},
        detail: outcome.reason,
      };
  }
}

function toRecord({ seq: _, extras, cancelled, hired, ...row }: Row): TaskRecord {
  return {
    ...given(row),
    ...(extras === null ? {} : JSON.parse(extras as string)),
    ...(cancelled === 1 ? { cancelled: true } : {}),
    ...(hired === 1 ? { hired: true } : {}),
  } as TaskRecord;
}

function iso(now: number): string {
  return new Date(now).toISOString();
}
