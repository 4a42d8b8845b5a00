/**
 * The task engine on a Restate server. This process accepts tasks and shows them; workers on any
 * machine run them. A task may be started again after its worker has died; its end is recorded once.
 */
import { delay } from "@std/async";
import { formatDuration } from "../../../base/duration.ts";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import { type Clock, SYSTEM_CLOCK } from "../../../base/clock.ts";
import type { ArtifactStore } from "../artifacts.ts";
import type { CallbackTarget } from "../callback_store.ts";
import { type ClientQuery, KEYED, type TaskClient } from "../client_store.ts";
import { newTaskId, noPageToken, noSuchTask, requireWorkers, tooManyCallbacks } from "../common.ts";
import type {
  ClientTaskPage,
  EnqueueOptions,
  QueueStatus,
  RunOptions,
  TaskEngine,
  TaskPage,
  TaskSight,
} from "../engine.ts";
import type { ExecutorRegistry } from "../executors/registry.ts";
import type { NewTask } from "../lifecycle.ts";
import type { Quota } from "../quota.ts";
import {
  FINAL_EVENTS,
  hasEnded,
  MAX_ATTEMPTS,
  type TaskLogEntry,
  type TaskQuery,
  type TaskRecord,
  type TaskRequest,
  TIMEOUT_MS,
} from "../task.ts";
import { type Entry, PAGE_TASKS, QUEUE_KEY, type QueueState } from "./api.ts";
import type { Ingress } from "./ingress.ts";
import { requestKey } from "./request_key.ts";
import { type StoredTask, storedTaskSchema } from "./stored_task.ts";

export interface RestateEngineParts {
  ingress: Ingress;
  executors: ExecutorRegistry;
  artifacts: ArtifactStore;
  log: Log;
  clock?: Clock;
}

/** How long `cancel` waits for the executor. */
const STOP_MS = 5_000;
/** How often the log of a task is read while somebody follows it. */
const LOOK_MS = 300;
/** The workers end a task at its deadline; this is when they did not. */
const LATE_MS = 2_000;
const PAGES_AT_ONCE = 4;
/** Tasks whose lines are in the log of the queue. */
const LOG_TASKS = 50;
const CLIENT_CURSOR = /^(\d{4}-\d\d-\d\dT[\d:.]{12}Z)_(t-[0-9A-Z]{26})$/;

export class RestateTaskEngine implements TaskEngine {
  readonly #parts: RestateEngineParts;
  readonly #ingress: Ingress;
  readonly #clock: Clock;
  readonly #stored = storedTaskSchema();
  /** Fires when no more tasks are accepted, and when those who still wait must be answered. */
  readonly #stopping = new AbortController();
  readonly #closed = new AbortController();
  readonly #waiting = new Set<Promise<unknown>>();

  constructor(parts: RestateEngineParts) {
    this.#parts = parts;
    this.#ingress = parts.ingress;
    this.#clock = parts.clock ?? SYSTEM_CLOCK;
  }

  get task_types(): string[] {
    return this.#parts.executors.names;
  }

  // ── taking tasks ─────────────────────────────────────────────────────────────────────────────

  async enqueue(request: TaskRequest, options: EnqueueOptions = {}): Promise<TaskRecord> {
    const { max_attempts = MAX_ATTEMPTS, hired = false, quota, ...rest } = options;
    const { id = newTaskId(), ...origin } = rest;
    const task = { ...origin, request, hired, max_attempts, mode: "queue" as const };
    return (await this.#add(task, id, quota)).record;
  }

  run(request: TaskRequest, options: RunOptions = {}): Promise<TaskRecord> {
    const { onNote, signal, timeout_ms = TIMEOUT_MS, hired = false, quota, ...rest } = options;
    const { id = newTaskId(), ...origin } = rest;
    const task = { ...origin, request, hired, timeout_ms, max_attempts: MAX_ATTEMPTS };
    const running = (async () => {
      const stored = await this.#add({ ...task, mode: "sync" }, id, quota);
      if (stored.record.id !== id || hasEnded(stored.record)) return stored.record;
      return await this.#endOf(stored, { signal, timeout_ms, onNote });
    })().finally(() => this.#waiting.delete(running));
    this.#waiting.add(running);
    return running;
  }

  /** Adds a task; for a repeated client request, returns the earlier one. */
  async #add(
    { client, ...rest }: Omit<NewTask, "id">,
    fresh: string,
    quota: Quota | undefined,
  ): Promise<StoredTask> {
    if (this.#stopping.signal.aborted) {
      throw new SvcError("shutting_down", "the daemon is stopping and accepts no tasks");
    }
    const { request, hired } = rest;
    await this.#parts.executors.get(request.task_type).check?.(request, hired);
    const id = client === undefined ? fresh : await this.#claim(fresh, client);
    const task: NewTask = { ...rest, id, client };
    const added = await this.#ingress.call("svc-task", id, "add", {
      now: this.#clock.now(),
      task,
      quota,
    });
    if ("task" in added) return this.#read(id, added.task);
    const { code, message, hint, details } = added.refused;
    throw new SvcError(code, message, { hint, details });
  }

  async #claim(task_id: string, client: TaskClient): Promise<string> {
    return await this.#ingress.call("svc-request", await requestKey(client), "claim", { task_id });
  }

  /** Waits for the end of a task, and ends it if its client leaves or time is up. */
  async #endOf(
    stored: StoredTask,
    { signal, timeout_ms, onNote }: Pick<RunOptions, "signal" | "onNote"> & { timeout_ms: number },
  ): Promise<TaskRecord> {
    const { record: { id, task_type } } = stored;
    const late = new AbortController();
    const cancelTimer = this.#clock.after(timeout_ms + LATE_MS, () => late.abort());
    const over = new AbortController();
    const signals = [late.signal, this.#closed.signal, ...(signal === undefined ? [] : [signal])];
    const enough = AbortSignal.any(signals);
    const notes = onNote && this.#tellNotes(id, onNote, AbortSignal.any([enough, over.signal]));
    try {
      for (let run: number | undefined = stored.run; run !== undefined;) {
        const settled = await this.#ingress.ended({ id, run }, task_type, enough);
        if (settled === undefined) break;
        run = settled.ended ? undefined : settled.run;
      }
    } catch (error) {
      if (!enough.aborted) throw error;
      if (signal?.aborted) return await this.#fail(id, "cancelled by the client", true);
      if (this.#closed.signal.aborted) {
        throw new SvcError("shutting_down", `the daemon is stopping; task ${id} goes on`);
      }
      return await this.#fail(id, `deadline of ${formatDuration(timeout_ms)} exceeded`);
    } finally {
      cancelTimer();
      const told = notes ?? Promise.resolve();
      await Promise.race([told, delay(LOOK_MS * 2, { persistent: false })]);
      over.abort();
    }
    return await this.get(id);
  }

  /** Ends a task from outside; one that has ended stays as it is. */
  async #fail(id: string, error: string, cancelled?: true): Promise<TaskRecord> {
    const input = { now: this.#clock.now(), error, cancelled };
    const { task } = await this.#ingress.call("svc-task", id, "fail", input);
    if (task === null) throw noSuchTask(id, false);
    return this.#read(id, task).record;
  }

  /** Never rejects. */
  async #tellNotes(id: string, onNote: (text: string) => void, signal: AbortSignal) {
    try {
      for await (const { event, detail } of this.follow(id, { since_seq: 0, signal })) {
        if (event === "note" && detail !== undefined) onNote(detail);
      }
    } catch (error) {
      this.#parts.log.debug("notes of a task were lost", { task_id: id, error: messageOf(error) });
    }
  }

  // ── looking ──────────────────────────────────────────────────────────────────────────────────

  async get(id: string, { hired = false, owned_by }: TaskSight = {}): Promise<TaskRecord> {
    const { record, task } = await this.#require(id, hired);
    const in_sight = (task.hired || !hired) && (owned_by?.(task.owner) ?? true);
    if (in_sight) return record;
    throw noSuchTask(id, hired);
  }

  async #require(id: string, hired = false): Promise<StoredTask> {
    this.#requireOpen();
    const found = await this.#ingress.call("svc-task", id, "get");
    if (found === null) throw noSuchTask(id, hired);
    return this.#read(id, found);
  }

  /** @throws {SvcError} internal, naming the task, for one that another version has written */
  #read(id: string, value: unknown): StoredTask {
    const read = this.#stored.safeParse(value);
    if (read.success) return read.data;
    const [{ path, message }] = read.error.issues;
    throw new SvcError("internal", `cannot read task ${id}: ${path.join(".")}: ${message}`);
  }

  async list({ state, limit, cursor }: TaskQuery): Promise<TaskPage> {
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
      throw new SvcError(
        "validation",
        `cursor must be the next_cursor of an earlier page, got "${cursor}"`,
      );
    }
    const tasks: TaskRecord[] = [];
    const before = cursor === undefined ? undefined : Number(cursor);
    for await (const batch of this.#entries(before, limit)) {
      const records = await Promise.all(batch.map((entry) => this.#recordOf(entry)));
      for (const [n, record] of records.entries()) {
        if (record === undefined || (state !== undefined && record.status !== state)) continue;
        if (tasks.length === limit) return { tasks, next_cursor: String(batch[n].seq + 1) };
        tasks.push(record);
      }
    }
    return { tasks };
  }

  /** Yields entries, newest first, in batches of about `limit`. */
  async *#entries(before: number | undefined, limit: number): AsyncGenerator<Entry[]> {
    const { next_seq, oldest_seq, fresh } = await this.#state();
    const newest = new Map(fresh.map((entry) => [entry.seq, entry]));
    const top = Math.min(before ?? next_seq, next_seq) - 1;
    const oldest = Math.floor(oldest_seq / PAGE_TASKS);
    const pages = Math.min(PAGES_AT_ONCE, Math.ceil((limit + 1) / PAGE_TASKS) + 1);
    for (let page = Math.floor(top / PAGE_TASKS); page >= oldest; page -= pages) {
      const numbers = Array.from({ length: pages }, (_, n) => page - n).filter((n) => n >= oldest);
      const stored = await Promise.all(
        numbers.map((n) => this.#ingress.call("svc-page", String(n), "get")),
      );
      const entries = new Map(stored.flat().map((entry) => [entry.seq, entry]));
      const [low, high] = [numbers.at(-1)! * PAGE_TASKS, (page + 1) * PAGE_TASKS];
      for (const [seq, entry] of newest) if (seq >= low && seq < high) entries.set(seq, entry);
      yield [...entries.values()].filter(({ seq }) => seq <= top).sort((a, b) => b.seq - a.seq);
    }
  }

  async #recordOf({ id, record }: Entry): Promise<TaskRecord | undefined> {
    return record ?? (await this.#find(id))?.record;
  }

  /** Returns a task; undefined if it is gone, or cannot be read. */
  async #find(id: string): Promise<StoredTask | undefined> {
    try {
      return await this.#require(id);
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
      if (error.code === "internal") this.#parts.log.warn(error.message);
      else if (error.code !== "not_found") throw error;
      return undefined;
    }
  }

  async #state(): Promise<QueueState> {
    this.#requireOpen();
    const now = this.#clock.now();
    return await this.#ingress.call("svc-queue", QUEUE_KEY, "state", { now });
  }

  async status(): Promise<QueueStatus> {
    const { paused, workers, busy, counts } = await this.#state();
    return { paused, workers, busy, ...counts };
  }

  /** Of the newest tasks, and of the queue. */
  async log({ n }: { n: number }): Promise<TaskLogEntry[]> {
    const { lines } = await this.#state();
    const { tasks } = await this.list({ limit: LOG_TASKS });
    const steps = await Promise.all(tasks.map(({ id }) => this.#linesAfter(id, 0)));
    return [...lines, ...steps.flat()]
      .sort((a, b) => a.at < b.at ? -1 : Number(a.at > b.at))
      .slice(-n)
      .map((line, seq) => ({ ...line, seq: seq + 1 }));
  }

  async *follow(
    id: string,
    { since_seq, signal }: { since_seq: number; signal: AbortSignal },
  ): AsyncGenerator<TaskLogEntry> {
    const ended = hasEnded(await this.get(id));
    const over = AbortSignal.any([signal, this.#closed.signal]);
    let after = since_seq;
    while (!signal.aborted) {
      this.#requireOpen();
      for (const line of await this.#linesAfter(id, after)) {
        after = line.seq;
        yield line;
        if (FINAL_EVENTS.has(line.event)) return;
      }
      if (ended) return;
      await delay(LOOK_MS, { signal: over }).catch(() => {});
    }
  }

  async steps(id: string): Promise<TaskLogEntry[]> {
    await this.get(id);
    return await this.#linesAfter(id, 0);
  }

  async #linesAfter(id: string, since_seq: number): Promise<TaskLogEntry[]> {
    return await this.#ingress.call("svc-task", id, "lines", { since_seq });
  }

  async taskOf(request: Pick<TaskClient, "key_id" | "request_id">): Promise<string | undefined> {
    this.#requireOpen();
    return await this.#ingress.call("svc-request", await requestKey(request), "get") ?? undefined;
  }

  async client(id: string): Promise<TaskClient | undefined> {
    return (await this.#find(id))?.task.client;
  }

  /** Reads all tasks of the client's token, because those that changed last may be anywhere. */
  async listOf(query: ClientQuery): Promise<ClientTaskPage> {
    const { limit, cursor } = query;
    if (cursor !== undefined && !CLIENT_CURSOR.test(cursor)) throw noPageToken(cursor);
    const turn = query.key_id === "" ? "h" : `k ${query.key_id}`;
    const found: { place: string; record: TaskRecord }[] = [];
    for await (const batch of this.#entries(undefined, PAGE_TASKS * PAGES_AT_ONCE)) {
      const own = batch.filter((entry) => entry.turn === turn);
      const tasks = await Promise.all(own.map(({ id }) => this.#find(id)));
      for (const stored of tasks) {
        if (stored === undefined || !fits(stored, query)) continue;
        const { record } = stored;
        found.push({ place: `${changedAt(record)}_${record.id}`, record });
      }
    }
    found.sort((a, b) => a.place < b.place ? 1 : -1);
    const rest = cursor === undefined ? found : found.filter(({ place }) => place < cursor);
    const page = rest.slice(0, limit);
    return {
      tasks: page.map(({ record }) => record),
      total: found.length,
      next_cursor: rest.length > limit ? page.at(-1)?.place : undefined,
    };
  }

  async openArtifact(id: string, name: string): Promise<ReadableStream<Uint8Array> | undefined> {
    const { artifacts = [] } = await this.get(id);
    const known = artifacts.find((it) => it.name === name);
    return known && await this.#parts.artifacts.open(id, known);
  }

  // ── steering ─────────────────────────────────────────────────────────────────────────────────

  async cancel(id: string): Promise<TaskRecord> {
    const earlier = await this.get(id);
    if (earlier.cancelled) return earlier;
    const input = { now: this.#clock.now(), error: "cancelled", cancelled: true as const };
    const { task, changed } = await this.#ingress.call("svc-task", id, "fail", input);
    if (task === null) throw noSuchTask(id, false);
    const { record, run } = this.#read(id, task);
    if (!changed && !record.cancelled) {
      throw new SvcError("conflict", `task ${id} is already ${record.status}`);
    }
    if (changed && record.attempts > 0) {
      // It is cancelled, whether or not its executor ends in time.
      const wait = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(STOP_MS)]);
      await this.#ingress.ended({ id, run }, record.task_type, wait).catch(() => {});
    }
    return record;
  }

  async setCallback(id: string, callback: CallbackTarget): Promise<void> {
    await this.get(id);
    const { set } = await this.#ingress.call("svc-task", id, "set_callback", { callback });
    if (!set) throw tooManyCallbacks(id);
  }

  async callbacks(id: string): Promise<CallbackTarget[]> {
    await this.get(id);
    const callbacks = await this.#ingress.call("svc-task", id, "callbacks");
    return callbacks.sort((a, b) => a.id < b.id ? -1 : 1);
  }

  async removeCallback(id: string, callback_id: string): Promise<void> {
    await this.get(id);
    await this.#ingress.call("svc-task", id, "remove_callback", { id: callback_id });
  }

  pause(): Promise<void> {
    return this.#set({ paused: true });
  }

  resume(): Promise<void> {
    return this.#set({ paused: false });
  }

  async setWorkers(workers: number): Promise<void> {
    requireWorkers(workers);
    await this.#set({ workers });
  }

  async #set(settings: { paused?: boolean; workers?: number }): Promise<void> {
    this.#requireOpen();
    const now = this.#clock.now();
    await this.#ingress.call("svc-queue", QUEUE_KEY, "settings", { now, ...settings });
  }

  // ── stopping ─────────────────────────────────────────────────────────────────────────────────

  async close(grace_ms = 0): Promise<void> {
    this.#stopping.abort();
    const waiting = Promise.allSettled(this.#waiting);
    if (grace_ms > 0) await Promise.race([waiting, delay(grace_ms, { persistent: false })]);
    this.#closed.abort();
    await waiting;
  }

  #requireOpen(): void {
    if (this.#closed.signal.aborted) throw new SvcError("shutting_down", "the daemon is stopping");
  }
}

function changedAt({ completed_at, started_at, created_at }: TaskRecord): string {
  return completed_at ?? started_at ?? created_at;
}

function fits({ record, task: { client } }: StoredTask, query: ClientQuery): boolean {
  const { key_id, context_id, status, cancelled, changed_since } = query;
  return client !== undefined && client.key_id === key_id && !client.request_id.startsWith(KEYED) &&
    (context_id === undefined || client.context_id === context_id) &&
    (status === undefined || record.status === status) &&
    (cancelled === undefined || (record.cancelled ?? false) === cancelled) &&
    (changed_since === undefined || changedAt(record) >= changed_since);
}
