/** What the processes that run sessions and tasks are told, and what one holds of them. */
import type { Log } from "../os/log.ts";
import type { Env, HomePaths } from "../os/paths.ts";
import type { Discovery } from "../protocol/discovery.ts";
import type { DoorOptions } from "./doors.ts";
import type { TaskWorkerOptions } from "../features/tasks/open.ts";

/** What every process that runs sessions and tasks is told. */
export interface RuntimeOptions {
  paths: HomePaths;
  env: Env;
  uid: number;
  /** Also log to standard error. */
  log_stderr: boolean;
  /** Tokens of those who may hire; callbacks are signed with them. */
  hire_tokens: readonly string[];
  /** Told once, when it begins to stop. */
  onStopping?(grace_s: number): void;
}

export interface DaemonOptions extends RuntimeOptions, DoorOptions {
  /** Whether a desktop shell brought it, as its child. */
  sidecar: boolean;
}

/** A process that only runs the tasks of other machines' front doors. */
export interface WorkerOptions extends RuntimeOptions {
  tasks: TaskWorkerOptions;
  /** Whether hired tasks may reach loopback, link-local and private addresses. */
  allow_private: boolean;
}

export interface Runtime {
  readonly log: Log;
  /** Begins a graceful stop; a second call changes nothing. */
  shutdown(grace_s: number): void;
  /** Resolves when everything is stopped and recorded. */
  readonly stopped: Promise<void>;
}

export interface Daemon extends Runtime {
  readonly discovery: Discovery;
  /** Where tasks are taken for hire, if they are. */
  readonly hire_port?: number;
}

/** Another daemon of this user runs. */
export class AlreadyRunning extends Error {
  override name = "AlreadyRunning";
}
