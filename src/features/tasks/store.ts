/**
 * Tasks in the database. A step and its log line are one transaction; `after` decides between
 * concurrent ends of a task (done, cancelled, timed out).
 */
import type { DatabaseSync } from "node:sqlite";
import { given, type Row, Statements } from "../../os/statements.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { CallbackStore } from "./callback_store.ts";
import { ClientStore } from "./client_store.ts";
import { DETAIL_MAX, type NewTask, type Settlement, type StartedTask } from "./lifecycle.ts";
import type { TaskSight } from "./engine.ts";
import { bytesOf, type Quota, refusalOf, storedUsage } from "./quota.ts";
import { after, type Step, type TaskState } from "./states.ts";
import type { TaskLogEntry, TaskRecord, TaskStatus } from "./task.ts";

/** A queued task, and how far an earlier attempt came. */
export interface LeftTask {
  id: string;
  task_type: string;
  work: string;
}

/** A task to be added, and what its owner may use. */
export interface Arrival {
  task: NewTask;
  quota?: Quota;
}

const PRUNED_AT_ONCE = 1_000;
/** Unused pages that the database keeps for what comes next: 4 MB, or a quarter of its file. */
const FREE_PAGES_KEPT = 1_024;
const FREE_PART_KEPT = 1 / 4;
/** Pages that one step returns: 1 MB, in some milliseconds. */
const PAGES_AT_ONCE = 256;
/** A database of an older svc is rewritten at once, so only if little of it is in use. */
const REWRITTEN_BYTES_MAX = 16 * 1024 * 1024;

/** One that cannot be read must not make a list fail. */
const REQUEST = "iif(json_valid(request), request, '{}')";

const COLUMNS = "seq, id, status, task_type, created_at, started_at, completed_at, summary, " +
  `size, error, cancelled, attempts, extras, hired, ${REQUEST} ->> 'effort' AS effort,
   substr(coalesce(${REQUEST} ->> 'description', ${REQUEST} ->> 'query'), 1, 300) AS subject`;

export class TaskStore {
  readonly #db: Statements;
  readonly callbacks: CallbackStore;
  readonly clients: ClientStore;
  /** Whose task {@linkcode TaskStore.claim} started last. */
  #last_turn: Turn = BEFORE_ALL;

  /** @param db has the current schema, and is closed by {@linkcode TaskStore.close} */
  constructor(db: DatabaseSync) {
    this.#db = new Statements(db);
    this.callbacks = new CallbackStore(this.#db, (...line) => this.log(...line));
    this.clients = new ClientStore(this.#db);
  }

  close(): void {
    this.#db.close();
  }

  // ── changes ──────────────────────────────────────────────────────────────────────────────────

  /** As {@linkcode Statements.transaction}. */
  transaction<T>(work: () => T): T {
    return this.#db.transaction(work);
  }

  /**
   * Adds tasks in one transaction; those that do not queue start as running.
   * @returns their ids, or that of the earlier task of a repeated client request
   */
  insert(tasks: readonly NewTask[], now: number): string[] {
    return this.#db.transaction(() => tasks.map((task) => this.#insert(task, now)));
  }

  /**
   * Adds tasks like {@linkcode TaskStore.insert}, except those that exceed their quota.
   *
   * @returns for each its id, or the error
   */
  admit(arrivals: readonly Arrival[], now: number): (string | SvcError)[] {
    return this.#db.transaction(() =>
      arrivals.map(({ task, quota }) =>
        this.#earlier(task) ??
          (quota && this.#refusal(task, quota, now)) ??
          this.#insert(task, now)
      )
    );
  }

  #refusal(task: NewTask, quota: Quota, now: number): SvcError | undefined {
    const usage = storedUsage(this.#db, task.owner ?? null, now);
    return refusalOf({ mode: task.mode, bytes: bytesOf(task.request) }, quota, usage, now);
  }

  /** Returns the task that the same request of a client has created before. */
  #earlier({ client }: NewTask): string | undefined {
    return client && this.clients.taskOf(client);
  }

  #insert(task: NewTask, now: number): string {
    const earlier = this.#earlier(task);
    if (earlier !== undefined) return earlier;
    const { id, mode, request, hired, owner, max_attempts, timeout_ms, callback, client } = task;
    const created_at = iso(now);
    const created: TaskState = { mode, status: "queued", attempts: 0, max_attempts, created_at };
    const { status, attempts, started_at = null, event, detail } = mode === "queue"
      ? { ...created, event: "enqueued", detail: request.task_type }
      : after(created, { kind: "started" }, now)!;
    this.#db.run(
      `INSERT INTO tasks (id, mode, status, task_type, request, created_at, started_at, attempts,
         max_attempts, timeout_ms, hired, owner)
       VALUES (:id, :mode, :status, :task_type, :request, :created_at, :started_at, :attempts,
         :max_attempts, :timeout_ms, :hired, :owner)`,
      {
        id,
        mode,
        status,
        task_type: request.task_type,
        request: JSON.stringify(request),
        created_at,
        started_at,
        attempts,
        max_attempts,
        timeout_ms: timeout_ms ?? null,
        hired: Number(hired),
        owner: owner ?? null,
      },
    );
    if (callback !== undefined) this.callbacks.add(id, callback);
    if (client !== undefined) this.clients.add(id, client);
    this.log(created_at, id, event, detail);
    return id;
  }

  /**
   * Starts the next attempt at a queued task that is due. Owners take turns, whatever the number of
   * their tasks; each owner's oldest task comes first. The operator is one owner, and all hirers
   * without a token together are another.
   *
   * @param horizon_ms a time beyond this was written before the clock jumped back, and counts as
   * due
   */
  claim(now: number, horizon_ms: number): StartedTask | undefined {
    return this.#db.transaction(() => {
      this.#wakeDue(now, horizon_ms);
      while (true) {
        const row = this.#oldestAfter(this.#last_turn) ?? this.#oldestAfter(BEFORE_ALL);
        if (row === undefined) return undefined;
        this.#last_turn = row.turn as Turn;
        const started = this.#begin(row, now);
        if (started !== undefined) return started;
      }
    });
  }

  /** Starts an attempt; a task that cannot be read fails, so that others get their turn. */
  #begin(row: Row, now: number): StartedTask | undefined {
    const state = stateOf(row);
    let request: StartedTask["request"];
    try {
      request = JSON.parse(row.request as string);
    } catch (error) {
      const unread = `cannot read its request: ${messageOf(error)}`;
      this.#take({ kind: "failed", error: unread }, state, now);
      return undefined;
    }
    this.#take({ kind: "started" }, state, now);
    return {
      id: state.id,
      request,
      hired: row.hired === 1,
      attempt: state.attempts + 1,
      max_attempts: state.max_attempts,
      timeout_ms: row.timeout_ms === null ? undefined : row.timeout_ms as number,
      left: row.work === null ? undefined : row.work as string,
    };
  }

  /**
   * Returns the oldest due task of the owner whose turn follows. It is the first entry of the index
   * after `turn`, so neither the number of owners nor that of their tasks matters.
   */
  #oldestAfter(turn: Turn): Row | undefined {
    return this.#db.get(
      `SELECT ${STATE}, request, timeout_ms, hired, work, ${TURN} AS turn
       FROM tasks INDEXED BY tasks_by_turn
       WHERE status = 'queued' AND not_before = 0 AND ${TURN} > :turn
       ORDER BY ${TURN}, seq LIMIT 1`,
      { turn },
    );
  }

  /** Moves tasks that have waited long enough to where {@linkcode TaskStore.claim} looks. */
  #wakeDue(now: number, horizon_ms: number): void {
    for (const due of ["not_before <= :time", "not_before > :time"]) {
      this.#db.run(
        `UPDATE tasks INDEXED BY tasks_waiting SET not_before = 0
         WHERE status = 'queued' AND not_before > 0 AND ${due}`,
        { time: due.includes("<") ? now : now + horizon_ms },
      );
    }
  }

  /**
   * Records outcomes in one transaction, except for tasks decided otherwise meanwhile.
   * @returns for each its task's record, or undefined
   */
  settle(settlements: readonly Settlement[], now: number): (TaskRecord | undefined)[] {
    return this.#db.transaction(() =>
      settlements.map(({ id, attempt, outcome }) => {
        const row = this.#db.get(
          `SELECT ${COLUMNS}, mode, max_attempts FROM tasks WHERE id = :id`,
          { id },
        );
        if (row?.attempts !== attempt) return undefined;
        const { mode: _mode, max_attempts: _max, ...columns } = row;
        const changed = this.#take(outcome, stateOf(row), now);
        return changed && toRecord({ ...columns, ...changed });
      })
    );
  }

  /** @returns whether this call ended the task */
  cancel(id: string, now: number): boolean {
    const cancelled = { kind: "failed", error: "cancelled", cancelled: true } as const;
    return this.#db.transaction(() => {
      return this.#take(cancelled, this.#state(id), now) !== undefined;
    });
  }

  /** Settles the tasks that an earlier daemon left running. @returns their number. */
  recover(now: number): number {
    return this.#db.transaction(() => {
      const rows = this.#db.all(`SELECT ${STATE} FROM tasks WHERE status = 'running'`);
      for (const row of rows) this.#take({ kind: "lost" }, stateOf(row), now);
      return rows.length;
    });
  }

  /** Stores how far a running task is. */
  keepWork(id: string, work: string): void {
    this.#db.run("UPDATE tasks SET work = :work WHERE id = :id AND status = 'running'", {
      id,
      work,
    });
  }

  /** Returns the tasks that go on with the work of an earlier attempt; of all, or the one. */
  left(id?: string): LeftTask[] {
    const rows = this.#db.all(
      `SELECT id, task_type, work FROM tasks INDEXED BY tasks_with_work
       WHERE work IS NOT NULL AND status = 'queued' AND id = coalesce(:id, id)`,
      { id: id ?? null },
    );
    return rows as unknown as LeftTask[];
  }

  #state(id: string): StoredState | undefined {
    const row = this.#db.get(`SELECT ${STATE} FROM tasks WHERE id = :id`, { id });
    return row && stateOf(row);
  }

  /** @returns the changed columns of the record; undefined when another step came first */
  #take(step: Step, task: StoredState | undefined, now: number): Row | undefined {
    const change = task && after(task, step, now);
    if (change === undefined) return undefined;
    const { event, detail, worker: _, cancelled = false, not_before = 0, ...rest } = change;
    const values = { ...UNSET, ...rest, cancelled: Number(cancelled) };
    this.#db.run(
      `UPDATE tasks SET status = :status, attempts = :attempts, started_at = :started_at,
         completed_at = :completed_at, summary = :summary, size = :size, error = :error,
         cancelled = :cancelled, extras = :extras, not_before = :not_before,
         work = iif(:status IN ('completed', 'failed'), NULL, work)
       WHERE seq = :seq`,
      { ...values, not_before, seq: task!.seq },
    );
    this.log(iso(now), task!.id, event, detail);
    return values;
  }

  /**
   * Removes up to a thousand of the oldest ended tasks beyond `keep`, with their log lines. Tasks
   * with pending callbacks stay. @returns the removed ids
   */
  prune(keep: number): string[] {
    return this.#db.transaction(() => {
      const rows = this.#db.all(
        `DELETE FROM tasks WHERE seq IN (
           SELECT seq FROM tasks WHERE status IN ('completed', 'failed') AND seq <= (
             SELECT seq FROM tasks WHERE status = 'completed'
             UNION ALL SELECT seq FROM tasks WHERE status = 'failed'
             ORDER BY seq DESC LIMIT 1 OFFSET :keep)
           AND id NOT IN (SELECT task_id FROM task_callbacks)
           ORDER BY seq LIMIT ${PRUNED_AT_ONCE})
         RETURNING id`,
        { keep },
      );
      const ids = rows.map(({ id }) => id as string);
      if (ids.length > 0) {
        const removed = { ids: JSON.stringify(ids) };
        for (const table of ["task_log", "task_clients"]) {
          this.#db.run(
            `DELETE FROM ${table} WHERE task_id IN (SELECT value FROM json_each(:ids))`,
            removed,
          );
        }
        // Lines about the queue go together with the tasks around them.
        this.#db.run(
          `DELETE FROM task_log WHERE task_id IS NULL
             AND seq < (SELECT min(seq) FROM task_log WHERE task_id IS NOT NULL)`,
        );
      }
      return ids;
    });
  }

  /** Whether {@linkcode TaskStore.giveBack} has something to do. */
  get has_space(): boolean {
    const { pages, free, page_bytes, fixed } = this.#pages();
    if (free <= FREE_PAGES_KEPT || free <= pages * FREE_PART_KEPT) return false;
    return !fixed || (pages - free) * page_bytes <= REWRITTEN_BYTES_MAX;
  }

  /** Returns a part of the unused space to the system, whole at any crash. */
  giveBack(): void {
    if (this.#pages().fixed) {
      this.#db.run("PRAGMA auto_vacuum = INCREMENTAL");
      this.#db.run("VACUUM");
    } else {
      this.#db.all(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
    }
    // The file itself becomes shorter only now.
    if (!this.has_space) this.#db.get("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** @returns `fixed`: whether the file cannot become shorter without being rewritten. */
  #pages() {
    const number = (name: string) => Object.values(this.#db.get(`PRAGMA ${name}`)!)[0] as number;
    return {
      pages: number("page_count"),
      free: number("freelist_count"),
      page_bytes: number("page_size"),
      fixed: number("auto_vacuum") === 0,
    };
  }

  log(at: string, task_id: string | undefined, event: string, detail?: string): void {
    this.#db.run(
      "INSERT INTO task_log (at, task_id, event, detail) VALUES (:at, :task_id, :event, :detail)",
      { at, task_id: task_id ?? null, event, detail: detail?.slice(0, DETAIL_MAX) ?? null },
    );
  }

  /** Changes a queue setting, and logs `event`. */
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

  /**
   * Newest first; `next` is where the next page begins.
   *
   * @returns `unread`: why tasks are missing that cannot be read
   */
  list(
    { state, limit, before }: { state?: TaskStatus; limit: number; before?: number },
  ): { tasks: TaskRecord[]; next?: number; unread: SvcError[] } {
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
    const tasks: TaskRecord[] = [];
    const unread: SvcError[] = [];
    for (const row of page) {
      try {
        tasks.push(toRecord(row));
      } catch (error) {
        if (!(error instanceof SvcError)) throw error;
        unread.push(error);
      }
    }
    return { tasks, next, unread };
  }

  counts(): Record<TaskStatus, number> {
    const counts = { queued: 0, running: 0, completed: 0, failed: 0 };
    for (const row of this.#db.all("SELECT status, count(*) AS n FROM tasks GROUP BY status")) {
      counts[row.status as TaskStatus] = row.n as number;
    }
    return counts;
  }

  nextDue(): number | undefined {
    const row = this.#db.get(
      "SELECT min(not_before) AS due FROM tasks INDEXED BY tasks_waiting " +
        "WHERE status = 'queued' AND not_before > 0",
      {},
    );
    return row?.due as number | null ?? undefined;
  }

  /** Oldest first. */
  tail(n: number): TaskLogEntry[] {
    const rows = this.#db.all("SELECT * FROM task_log ORDER BY seq DESC LIMIT :n", { n });
    return rows.reverse().map((row) => given(row) as unknown as TaskLogEntry);
  }

  /** Oldest first, after `since_seq`. */
  logOf(task_id: string, since_seq: number): TaskLogEntry[] {
    const rows = this.#db.all(
      "SELECT * FROM task_log WHERE task_id = :task_id AND seq > :since_seq ORDER BY seq",
      { task_id, since_seq },
    );
    return rows.map((row) => given(row) as unknown as TaskLogEntry);
  }
}

/**
 * Whose task it is, for taking turns: the key id of a token, 1 for hirers without one, 0 for the
 * operator. SQLite puts numbers before text. The index tasks_by_turn has the same expression.
 */
const TURN = "coalesce(owner, hired)";
type Turn = string | number;
const BEFORE_ALL: Turn = -1;

const STATE = "seq, id, mode, status, attempts, max_attempts, created_at, started_at";

interface StoredState extends TaskState {
  seq: number;
  id: string;
}

function stateOf(row: Row): StoredState {
  const { seq, id, mode, status, attempts, max_attempts, created_at, started_at } = row;
  const state = { seq, id, mode, status, attempts, max_attempts, created_at };
  return { ...state, started_at: started_at ?? undefined } as StoredState;
}

const UNSET = {
  started_at: null,
  completed_at: null,
  summary: null,
  size: null,
  error: null,
  extras: null,
};

/** @throws {SvcError} internal for one that cannot be read */
function toRecord({ seq: _, extras, cancelled, hired, ...row }: Row): TaskRecord {
  return {
    ...given(row),
    ...(extras === null ? {} : extrasOf(row.id as string, extras as string)),
    ...(cancelled === 1 ? { cancelled: true } : {}),
    ...(hired === 1 ? { hired: true } : {}),
  } as TaskRecord;
}

function extrasOf(id: string, extras: string): Partial<TaskRecord> {
  try {
    return JSON.parse(extras);
  } catch (error) {
    throw new SvcError("internal", `cannot read task ${id}: extras: ${messageOf(error)}`);
  }
}

function iso(now: number): string {
  return new Date(now).toISOString();
}
