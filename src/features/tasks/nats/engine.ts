/**
 * The task engine over NATS JetStream: any number of processes accept and run tasks, on any
 * machine. A task may be started again after its worker has died; its end is recorded once.
 */
import { abortable } from "@std/async";
import { monotonicUlid } from "@std/ulid";
import { SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Env } from "../../../os/paths.ts";
import { within } from "../../../base/within.ts";
import type { LocalArtifacts } from "../artifacts.ts";
import type { CallbackTarget } from "../callback_store.ts";
import { Callbacks, type Deliver } from "../callbacks.ts";
import type { ClientQuery, TaskClient } from "../client_store.ts";
import { type Clock, SYSTEM_CLOCK } from "../../../base/clock.ts";
import { newTaskId, noSuchTask, requireWorkers } from "../common.ts";
import type {
  ClientTaskPage,
  EnqueueOptions,
  QueueStatus,
  RunOptions,
  TaskEngine,
  TaskPage,
  TaskSight,
} from "../engine.ts";
import { checkedExecutors } from "../executors/checked.ts";
import type { ExecutorRegistry } from "../executors/registry.ts";
import type { Outcome } from "../lifecycle.ts";
import {
  FINAL_EVENTS,
  hasEnded,
  KEEP_TASKS,
  MAX_ATTEMPTS,
  TASK_ID,
  type TaskLogEntry,
  type TaskQuery,
  type TaskRecord,
  type TaskRequest,
} from "../task.ts";
import { NatsArtifacts } from "./artifacts.ts";
import { Bucket, logEntries, SETTINGS_KEY } from "./bucket.ts";
import { claim, claimed, clientOf, type ClientRequest, tasksOf } from "./clients.ts";
import type { NatsConfig } from "../config.ts";
import { Feed } from "./feed.ts";
import { TaskIndex } from "./index.ts";
import { Intake } from "./intake.ts";
import { type Jet, NatsLink } from "./link.ts";
import { answerFor, countWorkers, untilIdle, watchProcesses } from "./processes.ts";
import { NatsReports } from "./reports.ts";
import { Retention } from "./retention.ts";
import { QueueSettings, type Settings } from "./settings.ts";
import { Steps } from "./steps.ts";
import { stepped, type StoredTask } from "./transitions.ts";
import { WaitingClients } from "./waiting_clients.ts";
import { Worker, type WorkerStep } from "./worker.ts";

export interface NatsEngineParts {
  config: NatsConfig;
  env: Env;
  executors: ExecutorRegistry;
  log: Log;
  /** How many queued tasks this process runs at once; with 0 it never runs any. */
  workers: number;
  /** The task types that this process runs. */
  task_types: readonly string[];
  /** The name of this process in records. */
  worker: string;
  /** Sends callbacks; without it, other processes do. */
  deliver?: Deliver;
  /** Whether it removes the oldest tasks from the server. */
  forgets: boolean;
  /** The artifacts on this machine. */
  files: LocalArtifacts;
  /** Called for each task that starts or ends in this process. */
  onStep?(step: WorkerStep): void;
  clock?: Clock;
  /** Returns a number from 0 up to 1, for jitter. */
  random?: () => number;
  /** How many ended tasks are kept; default: 10,000. */
  keep_tasks?: number;
}

/** How long to wait for a cancelled executor. */
const STOP_MS = 5_000;
/** How long a caller waits until this process knows all tasks. */
const KNOW_MS = 2_000;

/** The answers of a process that runs no tasks. */
const NO_WORKER = { workers: 0, idle: () => Promise.resolve() };

/** Opens the engine; it connects and reconnects by itself. */
export function openNatsEngine(parts: NatsEngineParts): NatsTaskEngine {
  const engine = new NatsTaskEngine(parts);
  engine.open();
  return engine;
}

export class NatsTaskEngine implements TaskEngine {
  readonly #parts: NatsEngineParts;
  readonly #clock: Clock;
  readonly #process = monotonicUlid();
  readonly #link: NatsLink;
  readonly #bucket: Bucket;
  readonly #steps: Steps;
  readonly #reports: NatsReports;
  readonly #artifacts: NatsArtifacts;
  readonly #settings: QueueSettings;
  readonly #retention: Retention;
  readonly #feed: Feed;
  readonly #intake: Intake;
  readonly #waiting: WaitingClients;
  readonly #worker: Worker | undefined;
  readonly #callbacks: Callbacks | undefined;
  /** The background work of a connection. */
  readonly #works = new Set<Promise<unknown>>();
  /** Fires when no more tasks are accepted, and at the end. */
  readonly #stopping = new AbortController();
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(parts: NatsEngineParts) {
    this.#parts = parts;
    const { config, env, log, executors, worker, deliver } = parts;
    const { clock = SYSTEM_CLOCK, keep_tasks: keep = KEEP_TASKS } = parts;
    this.#clock = clock;
    const link = this.#link = new NatsLink({
      config,
      env,
      log,
      name: `svc ${worker}`,
      onConnected: (jet, over) => this.#onConnected(jet, over),
    });
    const bucket = this.#bucket = new Bucket(link);
    const index = new TaskIndex((task, revision) => this.#onStep(task, revision));
    const steps = this.#steps = new Steps(bucket, index);
    const reports = this.#reports = new NatsReports(bucket, steps, clock.now);
    const artifacts = this.#artifacts = new NatsArtifacts(link);
    this.#settings = new QueueSettings(bucket, (settings) => this.#onSettings(settings));
    this.#retention = new Retention({ ...parts, bucket, index, reports, artifacts, keep });
    this.#feed = new Feed({
      bucket,
      index,
      reports,
      settings: this.#settings,
      log,
      onReport: () => this.#callbacks?.pump(),
      onCaughtUp: () => this.#retention.sweep(),
    });
    const stopping = this.#stopping.signal;
    const intake = new Intake({ link, steps, reports, executors, log, clock, stopping });
    this.#intake = intake;
    this.#waiting = new WaitingClients({
      link,
      steps,
      intake,
      log,
      clock,
      follow: (id, signal) => this.follow(id, { since_seq: 0, signal }),
      claim: (id, client) => claim(this.#bucket, id, client),
    });
    this.#worker = parts.workers === 0 ? undefined : new Worker({
      ...parts,
      executors: checkedExecutors(executors),
      bucket,
      steps,
      artifacts,
      clock,
      random: parts.random ?? Math.random,
      record: (task) => intake.record(task),
      runner: { process: this.#process, worker },
    });
    this.#callbacks = deliver && new Callbacks({
      reports,
      take: (callback, horizon_ms) => reports.take(callback, horizon_ms),
      log,
      clock,
      deliver,
    });
  }

  /** Starts to connect. */
  open(): void {
    this.#link.open();
  }

  get task_types(): string[] {
    return this.#parts.executors.names;
  }

  // ── what others do ───────────────────────────────────────────────────────────────────────────

  #onConnected(jet: Jet, over: AbortSignal): void {
    const { log } = this.#parts;
    const watching = AbortSignal.any([over, this.#closed.signal]);
    this.#inBackground(this.#feed.follow(jet.created, watching));
    const look = { steps: this.#steps, log, now: this.#clock.now };
    this.#inBackground(watchProcesses(jet, look, watching));
    answerFor(jet, this.#process, this.#worker ?? NO_WORKER);
    if (this.#worker === undefined) return;
    const taking = AbortSignal.any([over, this.#stopping.signal]);
    this.#inBackground(this.#work(jet, this.#worker, taking));
  }

  /** Starts to take tasks, once the settings are known. */
  async #work(jet: Jet, worker: Worker, signal: AbortSignal): Promise<void> {
    await abortable(this.#feed.caught_up, signal).catch(() => {});
    await worker.work(jet, signal);
  }

  #inBackground(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#works.delete(tracked));
    this.#works.add(tracked);
  }

  #onStep(task: StoredTask, revision: number): void {
    const { id } = task.record;
    this.#worker?.decided(id, revision);
    if (!hasEnded(task.record)) return;
    if (this.#reports.has(id)) this.#callbacks?.pump();
    this.#retention.onEnded();
  }

  #onSettings({ paused, workers = this.#parts.workers }: Settings): void {
    this.#worker?.setLimit(workers, paused ?? false);
  }

  // ── taking tasks ─────────────────────────────────────────────────────────────────────────────

  async enqueue(request: TaskRequest, options: EnqueueOptions = {}): Promise<TaskRecord> {
    const { max_attempts = MAX_ATTEMPTS, hired = false, client, quota: _, ...rest } = options;
    const { id: fresh = newTaskId(), ...origin } = rest;
    await this.#intake.check(request, hired);
    const id = client === undefined ? fresh : await claim(this.#bucket, fresh, client);
    const earlier = id === fresh ? undefined : await this.#steps.get(id);
    if (earlier !== undefined) return earlier.value.record;
    const task = { ...origin, id, request, hired, max_attempts, client };
    return await this.#intake.accept({ ...task, mode: "queue" });
  }

  run(request: TaskRequest, options: RunOptions = {}): Promise<TaskRecord> {
    return this.#waiting.run(request, options);
  }

  // ── looking ──────────────────────────────────────────────────────────────────────────────────

  async get(id: string, { hired = false, owned_by }: TaskSight = {}): Promise<TaskRecord> {
    this.#requireNotClosed();
    const task = (await this.#steps.get(id))?.value;
    // A task from before there were owners belongs to the client in its record.
    const owner = task?.owner ?? (task?.client?.key_id || undefined);
    const in_sight = task !== undefined && (task.hired || !hired) && (owned_by?.(owner) ?? true);
    if (in_sight) return task.record;
    throw noSuchTask(id, hired);
  }

  async list({ state, limit, cursor }: TaskQuery): Promise<TaskPage> {
    if (cursor !== undefined && !TASK_ID.test(cursor)) {
      throw new SvcError(
        "validation",
        `cursor must be the next_cursor of an earlier page, got "${cursor}"`,
      );
    }
    await this.#requireKnowing();
    const ids = this.#steps.index.newest({ state, limit: limit + 1, before: cursor });
    const tasks = await this.#recordsOf(ids.slice(0, limit));
    return { tasks, next_cursor: ids.length > limit ? ids[limit - 1] : undefined };
  }

  async status(): Promise<QueueStatus> {
    await this.#requireKnowing();
    const { paused = false } = this.#settings.value;
    const { index } = this.#steps;
    const workers = await this.#link.use(countWorkers);
    return { paused, workers, busy: index.busy, ...index.counts() };
  }

  async log({ n }: { n: number }): Promise<TaskLogEntry[]> {
    this.#requireNotClosed();
    return await this.#bucket.tail(n);
  }

  async *follow(
    id: string,
    { since_seq, signal }: { since_seq: number; signal: AbortSignal },
  ): AsyncGenerator<TaskLogEntry> {
    const ended = hasEnded(await this.get(id));
    const stop = AbortSignal.any([signal, this.#closed.signal]);
    const from = since_seq + 1;
    for await (
      const message of this.#bucket.read(`${id}.>`, { from, live: !ended, signal: stop })
    ) {
      for (const entry of logEntries(message)) {
        yield entry;
        if (FINAL_EVENTS.has(entry.event)) return;
      }
    }
  }

  async steps(id: string): Promise<TaskLogEntry[]> {
    await this.get(id);
    return await this.#bucket.lines(id);
  }

  async taskOf(request: ClientRequest): Promise<string | undefined> {
    this.#requireNotClosed();
    return await claimed(this.#bucket, request);
  }

  async client(id: string): Promise<TaskClient | undefined> {
    this.#requireNotClosed();
    const client = (await this.#steps.get(id))?.value.client;
    return client && await clientOf(this.#bucket, client);
  }

  async listOf(query: ClientQuery): Promise<ClientTaskPage> {
    await this.#requireKnowing();
    const { ids, ...page } = tasksOf(this.#steps.index, query);
    return { ...page, tasks: await this.#recordsOf(ids) };
  }

  async #recordsOf(ids: readonly string[]): Promise<TaskRecord[]> {
    const found = await Promise.all(ids.map((id) => this.#steps.get(id)));
    return found.flatMap((it) => it?.value.record ?? []);
  }

  async openArtifact(id: string, name: string): Promise<ReadableStream<Uint8Array> | undefined> {
    const { artifacts = [] } = await this.get(id);
    const artifact = artifacts.find((it) => it.name === name);
    return artifact && await this.#artifacts.open(id, artifact);
  }

  // ── steering ─────────────────────────────────────────────────────────────────────────────────

  async cancel(id: string): Promise<TaskRecord> {
    this.#requireNotClosed();
    let process: string | undefined;
    const outcome: Outcome = { kind: "failed", error: "cancelled", cancelled: true };
    const change = await this.#steps.change(id, (task) => {
      process = task.process;
      return stepped(task, outcome, this.#clock.now());
    });
    if (change === undefined) throw noSuchTask(id, false);
    const { record } = change.task;
    if (!change.changed && !record.cancelled) {
      throw new SvcError("conflict", `task ${id} is already ${record.status}`);
    }
    if (process !== undefined) {
      const wait = { process, task_id: id, timeout_ms: STOP_MS };
      // It is cancelled, whether or not its executor ends in time.
      await this.#link.use((jet) => untilIdle(jet, wait)).catch(() => {});
    }
    return record;
  }

  async setCallback(id: string, callback: CallbackTarget): Promise<void> {
    await this.get(id);
    await this.#reports.set(id, callback);
    this.#callbacks?.pump();
  }

  async callbacks(id: string): Promise<CallbackTarget[]> {
    await this.get(id);
    return await this.#reports.of(id);
  }

  async removeCallback(id: string, callback_id: string): Promise<void> {
    await this.get(id);
    await this.#reports.remove(id, callback_id);
  }

  async pause(): Promise<void> {
    await this.#settings.set("paused", true, this.#line("paused"));
  }

  async resume(): Promise<void> {
    await this.#settings.set("paused", undefined, this.#line("resumed"));
  }

  async setWorkers(count: number): Promise<void> {
    requireWorkers(count);
    await this.#settings.set("workers", count, this.#line("workers"));
  }

  #line(event: string): { event: string; at: string } {
    this.#requireNotClosed();
    return { event, at: new Date(this.#clock.now()).toISOString() };
  }

  // ── stopping ─────────────────────────────────────────────────────────────────────────────────

  close(grace_ms = 0): Promise<void> {
    return this.#closing ??= this.#close(grace_ms);
  }

  async #close(grace_ms: number): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#worker?.close(grace_ms), this.#waiting.close(grace_ms)]);
    await this.#callbacks?.close();
    await this.#retention.close();
    this.#closed.abort();
    await this.#link.close();
    await Promise.all(this.#works);
  }

  #requireNotClosed(): void {
    if (this.#closed.signal.aborted) throw new SvcError("shutting_down", "the daemon is stopping");
  }

  async #requireKnowing(): Promise<void> {
    this.#requireNotClosed();
    // Asks the server, so that the answer for a lost server does not come from memory.
    await this.#bucket.get(SETTINGS_KEY);
    if (await within(this.#feed.caught_up, KNOW_MS)) return;
    throw new SvcError("unavailable", "svc is still reading the tasks from NATS; try again");
  }
}
