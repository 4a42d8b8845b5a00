/** What `svc doctor` is made of: each check looks at one thing and says how it stands. */
import type { DaemonStatus } from "../../client/status.ts";
import type { Config } from "../../config/config.ts";
import { type Env, holdsSystem, type HomePaths } from "../../os/paths.ts";
import type { IndexEntries } from "../../session/index_file.ts";
import type { Discovery } from "../../protocol/discovery.ts";

/** How one thing stands. `warn`: it works, but less well than it could; `fail`: it does not. */
export interface Finding {
  name: string;
  status: "ok" | "warn" | "fail";
  message: string;
  /** What to do about it. */
  hint?: string;
}

/** What the checks look at; gathered once. */
export interface Patient {
  paths: HomePaths;
  env: Env;
  /** The daemon that answers, if one does. */
  daemon?: DaemonStatus;
  /** Why none answers although something listens. */
  daemon_problem?: string;
  /** The discovery file, if there is one that can be read. */
  discovery?: Discovery;
  /** `daemon.toml`; undefined when it has an error. */
  config?: Config;
  config_problem?: string;
  config_hint?: string;
  /** `sessions-index.json`. */
  index: IndexEntries;
  /** Ids of the sessions that have ended, as far as that is known. */
  ended: ReadonlySet<string>;
  index_problem?: string;
}

export type Check = (patient: Patient) => Finding | Promise<Finding>;

/** The directories of sessions, as {@linkcode SessionHub.workdirs}: nothing is run from there. */
export function workdirsOf({ index, ended }: Patient): string[] {
  return Object.entries(index)
    .filter(([id, { workdir }]) => !ended.has(id) || !holdsSystem(workdir))
    .map(([, { workdir }]) => workdir);
}
