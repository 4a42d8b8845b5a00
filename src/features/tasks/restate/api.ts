/**
 * The services that svc registers with Restate, and what their handlers take and return. Engines
 * call them over the ingress, workers serve them and call each other.
 *
 * A task is the object `svc-task`; `svc-queue` decides whose turn it is; each attempt is one run of
 * the workflow `svc-run-<task type>`. All handlers but that one end at once, so that a new version
 * of svc takes over whatever waits.
 */
import type { CallbackTarget } from "../callback_store.ts";
import type { NewTask, Outcome, StartedTask } from "../lifecycle.ts";
import type { Quota } from "../quota.ts";
import type { TaskLogEntry, TaskRecord } from "../task.ts";
import type { StoredTask } from "./stored_task.ts";

/** Why a task is not accepted: the fields of an `SvcError`. */
export interface Refused {
  code: "budget_exceeded" | "unavailable";
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
}

/** The input of one attempt. */
export interface Run extends StartedTask {
  /** Distinguishes the attempts, also those that do not count. */
  run: number;
  mode: NewTask["mode"];
}

/** The process that an attempt belongs to. */
export interface Holder {
  process: string;
  machine: string;
  /** Its name in records. */
  worker: string;
}

/** What the queue and the pages know of a task. */
export interface Entry {
  seq: number;
  id: string;
  turn: string;
  /** Of its request and artifacts. */
  bytes: number;
  /** How it ended. */
  ended?: "completed" | "failed";
  /** Absent while the task has not ended, and if the record is large. */
  record?: TaskRecord;
}

/** All times are in milliseconds since 1970, by the clock of the caller. */
interface At {
  now: number;
}

export interface Note extends At {
  text: string;
}

export interface Enter extends At {
  id: string;
  mode: NewTask["mode"];
  hired: boolean;
  owner?: string;
  /** Of the request. */
  bytes: number;
  quota?: Quota;
}

export type Entered = { seq: number; granted: boolean } | { refused: Refused };

export interface Move extends At {
  id: string;
  seq: number;
  mode: NewTask["mode"];
  hired: boolean;
  owner?: string;
  /** `line`: it waits for its turn; `backoff`: for another attempt. */
  from: "running" | "line" | "backoff";
  to: "line" | "backoff" | "ended";
  /** Of an ended task. */
  record?: TaskRecord;
  /** A process that has died. */
  lost?: string;
}

/** A task had ended when its turn came. */
export interface Missed extends At {
  id: string;
  turn: string;
}

export interface Dropped {
  page: number;
  /** How many tasks were on it. */
  ended: Record<"completed" | "failed", number>;
  /** What each owner has back. */
  bytes: Record<string, number>;
}

export interface Settle extends At {
  run: number;
  outcome: Ended;
  /** The name of the process that had the attempt, in records. */
  worker: string;
  /** A process that has died. */
  lost?: string;
}

export interface Settled {
  /** Whether no other attempt follows. */
  ended: boolean;
  /** The latest attempt. */
  run: number;
}

/** How an attempt ended. */
export type Ended = Outcome | { kind: "lost" };

export interface QueueState {
  paused: boolean;
  /** Queued tasks that run at once. */
  workers: number;
  busy: number;
  counts: Record<TaskRecord["status"], number>;
  next_seq: number;
  /** The oldest task that is still kept. */
  oldest_seq: number;
  /** What is not on a page yet. */
  fresh: Entry[];
  /** Lines about the whole queue. */
  lines: Omit<TaskLogEntry, "seq">[];
}

/** An attempt that wants to work on a target alone. */
export interface Taker {
  task_id: string;
  run: number;
  machine: string;
}

export interface Held extends Taker {
  left?: true;
}

/** The state of an attempt whose process has lost its connection to Restate. */
export interface Orphan {
  beats: number;
  lost?: true;
  outcome?: Outcome;
}

export interface Api {
  "svc-task": {
    add(input: At & { task: NewTask; quota?: Quota }): { task: StoredTask } | { refused: Refused };
    get(): StoredTask | null;
    /** The queue gives it a turn. */
    granted(input: At & { turn: string }): void;
    /** A wait before another attempt is over. */
    due(input: At & { run: number }): void;
    settle(input: Settle): Settled;
    /** Ends it from outside. */
    fail(input: At & { error: string; cancelled?: true }): {
      task: StoredTask | null;
      changed: boolean;
    };
    note(input: { run: number; notes: Note[] }): void;
    lines(input: { since_seq: number }): TaskLogEntry[];
    set_callback(input: { callback: CallbackTarget }): { set: boolean };
    remove_callback(input: { id: string }): void;
    callbacks(): CallbackTarget[];
    deliver(input: { id: string; tries: number }): void;
    forget(): void;
  };
  "svc-queue": {
    enter(input: Enter): Entered;
    move(input: Move): void;
    missed(input: Missed): void;
    settings(input: At & { paused?: boolean; workers?: number }): void;
    /** A worker says that it runs; 0 slots: it stops. */
    announce(input: At & { process: string; slots: number }): void;
    state(input: At): QueueState;
    /** A page has been removed. */
    dropped(input: Dropped): void;
  };
  /** Tasks by number, {@linkcode PAGE_TASKS} on a page. */
  "svc-page": {
    put(input: { entries: Entry[] }): void;
    get(): Entry[];
    drop(): void;
  };
  /** What a client's request has created. */
  "svc-request": {
    claim(input: { task_id: string }): string;
    get(): string | null;
    forget(): void;
  };
  "svc-orphan": {
    beat(input: { outcome?: Outcome }): Orphan;
    look(): Orphan;
    /** @param input `beats`: only if it was not heard of since */
    give_up(input: { beats?: number }): Orphan;
    forget(): void;
  };
  /** Lets one deploy of a target run at a time. */
  "svc-target": {
    /** Takes it, or says who has it. */
    take(input: Taker): { held?: Held };
    /** @param input `left`: the attempt's process has died, and what it started may still run */
    free(input: Taker & { left: boolean }): void;
  };
}

export const PAGE_TASKS = 100;
/** The key of the one queue. */
export const QUEUE_KEY = "all";

/** The workflow that runs tasks of a type. Its key is `<task id>.<run>`. */
export function runService(task_type: string): string {
  return `svc-run-${task_type}`;
}

export function runKey({ id, run }: { id: string; run: number }): string {
  return `${id}.${run}`;
}

/** The key of the object `svc-orphan` for an attempt that a process has taken. */
export function orphanKey(run: { id: string; run: number }, { process }: Holder): string {
  return `${runKey(run)}.${process}`;
}

export type Result<S extends keyof Api, H extends keyof Api[S]> = Api[S][H] extends
  (...args: never) => infer R ? R : never;
export type Args<S extends keyof Api, H extends keyof Api[S]> = Api[S][H] extends
  (...args: infer A) => unknown ? A : never;
