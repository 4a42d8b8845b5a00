/** What the processes that run sessions and tasks are told, and what one holds of them. */
import type { Log } from "../os/log.ts";
import type { Env, HomePaths } from "../os/paths.ts";
import type { Discovery } from "../protocol/discovery.ts";
import type { GivenOption } from "../verbs/host.ts";
import type { DoorOptions } from "./doors.ts";

/** What every process that runs sessions and tasks is told. */
export interface RuntimeOptions {
  paths: HomePaths;
  env: Env;
  uid: number;
  /** Also log to standard error. */
  log_stderr: boolean;
  /** Whether hired work may reach loopback, link-local and private addresses. */
  allow_private: boolean;
  /** What the command line gives features. */
  given: readonly GivenOption[];
  /** Told once, when it begins to stop. */
  onStopping?(grace_s: number): void;
}

export interface DaemonOptions extends RuntimeOptions, DoorOptions {
  /** Whether a desktop shell brought it, as its child. */
  sidecar: boolean;
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
  /** The ports on which features listen, by the names of the features. */
  readonly ports: ReadonlyMap<string, number>;
}

/** Another daemon of this user runs. */
export class AlreadyRunning extends Error {
  override name = "AlreadyRunning";
}
