/** The parts of `svc doctor`: each check examines one thing. */
import type { DaemonStatus } from "../../client/status.ts";
import type { Config } from "../../config/config.ts";
import { type Env, holdsSystem, type HomePaths } from "../../os/paths.ts";
import type { IndexEntries } from "../../session/index_file.ts";
import type { Discovery } from "../../protocol/discovery.ts";

/** `warn`: it works, but less well than it could; `fail`: it does not work. */
export interface CheckResult {
  status: "ok" | "warn" | "fail";
  message: string;
  /** What to do about it. */
  hint?: string;
}

/** A result with the name of its check. */
export interface Finding extends CheckResult {
  name: string;
}

/** What the checks examine; gathered once. */
export interface Patient {
  paths: HomePaths;
  env: Env;
  /** The daemon, if it answers. */
  daemon?: DaemonStatus;
  /** Why it does not answer although something listens. */
  daemon_problem?: string;
  /** The discovery file, if it can be read. */
  discovery?: Discovery;
  /** `daemon.toml`; undefined if it has an error. */
  config?: Config;
  config_problem?: string;
  config_hint?: string;
  index: IndexEntries;
  /** Ids of the sessions that are known to have ended. */
  ended: ReadonlySet<string>;
  index_problem?: string;
}

export type Check = (patient: Patient) => CheckResult | Promise<CheckResult>;

/** The directories of sessions, as {@linkcode SessionHub.workdirs}: programs there are not run. */
export function workdirsOf({ index, ended }: Patient): string[] {
  return Object.entries(index)
    .filter(([id, { workdir }]) => !ended.has(id) || !holdsSystem(workdir))
    .map(([, { workdir }]) => workdir);
}
