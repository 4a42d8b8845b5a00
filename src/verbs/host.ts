/** What a daemon gives its features. */
import type { DatabaseSync } from "node:sqlite";
import type { BackgroundCommands } from "../agent/background.ts";
import type { TurnParts } from "../agent/loop.ts";
import type { Tool } from "../agent/tool.ts";
import type { DecideHost, WayOut } from "../agent/way_out.ts";
import type { Opener } from "../base/lazy.ts";
import type { Config } from "../config/config.ts";
import type { ConfigEditor } from "../config/config_editor.ts";
import type { CommandSpace } from "../jail/command_space.ts";
import type { Checkout } from "../jail/git_around.ts";
import type { Sandbox, SandboxScope } from "../jail/sandbox.ts";
import type { UnitPool } from "../jail/unit/pool.ts";
import type { Catalogue } from "../models/catalogue.ts";
import type { Usage } from "../models/model.ts";
import type { ModelRegistry } from "../models/registry.ts";
import type { Egress } from "../net/egress.ts";
import type { LogFile } from "../os/log.ts";
import type { Env, HomePaths } from "../os/paths.ts";
import type { Discovery } from "../protocol/discovery.ts";
import type { Hub } from "../session/hub.ts";
import type { Session } from "../session/session.ts";
import type { Ids } from "../session/ids.ts";
import type { Dispatcher, Verb } from "./define.ts";

/** A daemon, or a worker, as its features see it. */
export interface Host {
  readonly paths: HomePaths;
  readonly env: Env;
  readonly uid: number;
  readonly log: LogFile;
  readonly ids: Ids;
  readonly hub: Hub;
  /** The directories of the daemon's PATH that existed at its start. */
  readonly path: string;
  /** Whether a desktop shell started the daemon, as its child. */
  readonly sidecar: boolean;
  /** Whether there was a state database at the start. */
  readonly has_state_db: boolean;

  /** The services of a feature that stands before this one in the list. */
  use<S>(feature: UsableFeature<S>): S;
  /** What the command line gave a feature for this start; see {@linkcode startOption}. */
  given<T>(option: StartOption<T>): T | undefined;

  // ── configuration ────────────────────────────────────────────────────────────────────────────
  config(): Config;
  /** The models of the current configuration. */
  models(): ModelRegistry;
  /** Changes daemon.toml; loaded on first use. */
  config_editor(): Promise<ConfigEditor>;
  /** Reads the configuration again. @throws {SvcError} when a file has an error; nothing changes. */
  reload_config(): Promise<void>;
  /** The model catalogue; loaded on first use. */
  catalogue(): Promise<Catalogue>;
  /** What a model call cost, in USD. */
  cost(model_id: string, usage: Usage): number;
  /** Whether a model has a price; what has none costs 0 in all sums. */
  priced(model_id: string): boolean;

  /** Opens the state database, with the tables of all features; the caller closes it. */
  openStateDb(): Promise<DatabaseSync>;

  // ── work ─────────────────────────────────────────────────────────────────────────────────────
  /** The jailed workers of the file tools, loaded on first use. */
  units(): Promise<UnitPool>;
  /** @throws {Error} when the sandbox asked for in daemon.toml does not work. */
  sandbox(): Promise<Sandbox>;
  /** Runs commands that a person has let out of the sandbox. */
  unconfined(): Promise<Sandbox>;
  /** The commands in the background, loaded on first use. */
  readonly background: Opener<BackgroundCommands>;
  /** What a command in a directory can see. */
  scope(workdir: string): SandboxScope;
  /** What commands of the person's own sessions may know of the checkout around a directory. */
  checkout(workdir: string): Checkout;
  /** Directories of a session's commands that outlive one command; undefined without a sandbox. */
  space(session_id: string): Promise<CommandSpace | undefined>;
  /**
   * Opens the proxy for one command of a session. The caller disposes of it. Undefined if commands
   * get no network, or all of it.
   */
  wayOut(session_id: string, decide?: DecideHost): Promise<WayOut | undefined>;
  /** Real paths of the directories that sessions can write. */
  writable(): readonly string[];
  /**
   * Has what appears in a session's directory named to the person, from here on until the function that
   * it returns is called: for what writes there beside the calls of turns. Neither throws.
   */
  watchWrites(session: Session): Promise<() => Promise<void>>;
  /** Opens the way out of one task; hired ones may not go everywhere. */
  openEgress(hired: boolean): Promise<Egress>;
  /** What every way to run a turn needs. */
  readonly turn_parts: TurnParts;
  /** The tools that models are given in every session, loaded on first use. */
  builtin_tools(): Promise<readonly Tool[]>;
  /** Gives memory back if nothing works. */
  trimAtRest(): void;

  // ── the daemon itself ────────────────────────────────────────────────────────────────────────
  /** The dispatcher of all verbs, once they are bound. */
  dispatcher(): Dispatcher;
  /** All verbs. */
  verbs(): readonly Verb[];
  /** The daemon's address; undefined before it listens, and in a worker. */
  discovery(): Discovery | undefined;
  /** The ports on which features listen, by the names of the features. */
  ports(): ReadonlyMap<string, number>;
  /** Milliseconds since the daemon started. */
  uptime_ms(): number;
  stopping(): boolean;
  /** @throws {SvcError} shutting_down when the daemon is stopping. */
  requireRunning(): void;
  /** Starts a graceful stop. */
  shutdown(grace_s: number): void;
}

/** A feature, as far as others use it. */
export interface UsableFeature<S> {
  readonly name: string;
  open(host: Host): { readonly services: S };
}

/** Something that the command line gives a feature for one start. */
export type StartOption<T> = (value: T) => GivenOption;

export interface GivenOption {
  readonly option: StartOption<never>;
  readonly value: unknown;
}
