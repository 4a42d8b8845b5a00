/** A task on its way through an engine: as it is taken, begun and ended, wherever that is recorded. */
import type { CallbackTarget } from "./callback_store.ts";
import type { TaskClient } from "./client_store.ts";
import type { TaskRequest } from "./task.ts";

/** Whether a task waits for a worker, or was started for a client that waits for it. */
export type TaskMode = "queue" | "sync";

export interface NewTask {
  id: string;
  mode: TaskMode;
  request: TaskRequest;
  /** Whether someone else asked for it, over the network. */
  hired: boolean;
  /** Key id of the token that it was asked for with. */
  owner?: string;
  max_attempts: number;
  timeout_ms?: number;
  /** Who is told of its end. */
  callback?: CallbackTarget;
  /** How its client knows it. */
  client?: TaskClient;
}

/** A task whose attempt has begun. */
export interface StartedTask {
  id: string;
  request: TaskRequest;
  hired: boolean;
  attempt: number;
  max_attempts: number;
  timeout_ms?: number;
}

/** How an attempt ended. */
export type Outcome =
  /** `extras`: what the deliverable has beside summary and size, as JSON. */
  | { kind: "completed"; summary: string; size: number; extras: string }
  | { kind: "failed"; error: string; cancelled?: boolean; extras?: string }
  /** Another attempt follows, not before that time. */
  | { kind: "retry"; error: string; not_before: number }
  /** The attempt was cut off and does not count. */
  | { kind: "returned"; reason: string };

/** How one attempt at a task ended. */
export interface Settlement {
  id: string;
  attempt: number;
  outcome: Outcome;
}

/** What a task lost with its daemon fails with. */
export const LOST = "lost when the daemon stopped";
/** What a task lost with a worker elsewhere fails with, before the worker's name. */
export const LOST_WITH_WORKER = "lost with its worker";

/** Characters of a log line's detail; the task itself has all of it. */
export const DETAIL_MAX = 1000;
