/** Options and handles of processes that run sessions and tasks. */
import type { Log } from "../os/log.ts";
import type { Env, HomePaths } from "../os/paths.ts";
import type { Discovery } from "../protocol/discovery.ts";
import type { GivenOption } from "../verbs/host.ts";
import type { DoorOptions } from "./doors.ts";
import type { StartedBy } from "./login_path.ts";

export interface RuntimeOptions {
  paths: HomePaths;
  env: Env;
  uid: number;
  /** Default: a terminal. */
  started_by?: StartedBy;
  /** Also log to standard error. */
  log_stderr: boolean;
  /** Whether hired work may reach loopback, link-local and private addresses. */
  allow_private: boolean;
  /** Options from the command line for features. */
  given: readonly GivenOption[];
  /** Called once, when it begins to stop. */
  onStopping?(grace_s: number): void;
}

export interface DaemonOptions extends RuntimeOptions, DoorOptions {
  /** Whether a desktop shell started it as its child. */
  sidecar: boolean;
}

export interface Runtime {
  readonly log: Log;
  /** Starts a graceful stop; a second call changes nothing. */
  shutdown(grace_s: number): void;
  /** Resolves when everything is stopped and recorded. */
  readonly stopped: Promise<void>;
}

export interface Daemon extends Runtime {
  readonly discovery: Discovery;
  /** Ports of features, by name. */
  readonly ports: ReadonlyMap<string, number>;
}

export class AlreadyRunning extends Error {
  override name = "AlreadyRunning";
}
