/** The daemon's interface for features. */
import type * as z from "zod";
import type { DatabaseSync } from "node:sqlite";
import type { BackgroundCommands } from "../agent/background.ts";
import type { TurnParts } from "../agent/loop.ts";
import type { Tool, ToolParts } from "../agent/tool.ts";
import type { DecideHost, WayOut } from "../agent/way_out.ts";
import type { Opener } from "../base/lazy.ts";
import type { Config } from "../config/config.ts";
import type { ConfigEditor } from "../config/config_editor.ts";
import type { CommandSpace } from "../jail/command_space.ts";
import type { Checkout } from "../jail/git_around.ts";
import type { Granted, Sandbox, SandboxScope } from "../jail/sandbox.ts";
import type { UnitPool } from "../jail/unit/pool.ts";
import type { Catalogue } from "../models/catalogue.ts";
import type { Usage } from "../models/model.ts";
import type { ModelRegistry } from "../models/registry.ts";
import type { Egress } from "../net/egress.ts";
import type { LogFile } from "../os/log.ts";
import type { Env, HomePaths } from "../os/paths.ts";
import type { Discovery } from "../protocol/discovery.ts";
import type { commandPathSchema } from "../protocol/schemas/daemon.ts";
import type { Hub } from "../session/hub.ts";
import type { Session } from "../session/session.ts";
import type { SessionState } from "../session/session_state.ts";
import type { Ids } from "../session/ids.ts";
import type { Dispatcher, Verb } from "./define.ts";

export type CommandPath = z.output<ReturnType<typeof commandPathSchema>>;

/** A daemon or a worker. */
export interface Host {
  readonly paths: HomePaths;
  readonly env: Env;
  readonly uid: number;
  readonly log: LogFile;
  readonly ids: Ids;
  readonly hub: Hub;
  /** The existing directories of the daemon's PATH. */
  path(): string;
  /** Where the PATH of commands comes from. */
  command_path(): CommandPath;
  /** Whether a desktop shell started the daemon as its child. */
  readonly sidecar: boolean;
  /** Whether a state database existed at the start. */
  readonly has_state_db: boolean;

  /** The services of an earlier feature in the list. */
  use<S>(feature: UsableFeature<S>): S;
  /** The command line's value for this start; see {@linkcode startOption}. */
  given<T>(option: StartOption<T>): T | undefined;

  // ── configuration ────────────────────────────────────────────────────────────────────────────
  config(): Config;
  /** Of the current configuration. */
  models(): ModelRegistry;
  /** Edits daemon.toml; loaded lazily. */
  config_editor(): Promise<ConfigEditor>;
  /** @throws {SvcError} when a file has an error; then nothing changes */
  reload_config(): Promise<void>;
  /** Loaded lazily. */
  catalogue(): Promise<Catalogue>;
  /** Cost of a model call, USD. */
  cost(model_id: string, usage: Usage): number;
  /** Whether a model has a price; otherwise it costs 0 in sums. */
  priced(model_id: string): boolean;

  /** Opens the state database with all tables; the caller closes it. */
  openStateDb(): Promise<DatabaseSync>;

  // ── work ─────────────────────────────────────────────────────────────────────────────────────
  /** Jailed workers for the file tools, loaded lazily. */
  units(): Promise<UnitPool>;
  /** @throws {Error} when the sandbox of daemon.toml does not work */
  sandbox(): Promise<Sandbox>;
  /** Runs commands that a person allowed outside of the sandbox. */
  unconfined(): Promise<Sandbox>;
  /** Background commands, loaded lazily. */
  readonly background: Opener<BackgroundCommands>;
  scope(workdir: string): SandboxScope;
  /** The part of the checkout around a directory that commands of the person's sessions may see. */
  checkout(workdir: string): Checkout;
  /** Directories for a session's commands; undefined without a sandbox. */
  space(session_id: string): Promise<CommandSpace | undefined>;
  /** What the person grants to commands, of a session or their own. */
  granted(session_id?: string): Promise<Granted>;
  /** What commands of a session reach: nothing, allowed hosts or all. */
  networkOf(session: Pick<SessionState, "network" | "trust">): boolean | "allowed";
  readonly asked: ToolParts["asked"];
  readonly opened: ToolParts["opened"];
  /** Opens a command's proxy, for the caller to dispose. Undefined with no or full network. */
  wayOut(session_id: string, decide?: DecideHost): Promise<WayOut | undefined>;
  /** Real paths that sessions can write. */
  writable(): readonly string[];
  /** Reports writes in a session's directory outside of calls, until the result is called. */
  watchWrites(session: Session): Promise<() => Promise<void>>;
  /** Opens the network access of one task; hired ones are limited. */
  openEgress(hired: boolean): Promise<Egress>;
  /** Shared parts of all ways to run a turn. */
  readonly turn_parts: TurnParts;
  /** Tools for models in every session, loaded lazily. */
  builtin_tools(): Promise<readonly Tool[]>;
  /** Frees memory when idle. */
  trimAtRest(): void;

  // ── the daemon itself ────────────────────────────────────────────────────────────────────────
  /** Available once all verbs are bound. */
  dispatcher(): Dispatcher;
  verbs(): readonly Verb[];
  /** The daemon's address; undefined before it listens, and in a worker. */
  discovery(): Discovery | undefined;
  /** Ports of features, by name. */
  ports(): ReadonlyMap<string, number>;
  /** Since the daemon's start. */
  uptime_ms(): number;
  stopping(): boolean;
  /** @throws {SvcError} shutting_down when the daemon is stopping */
  requireRunning(): void;
  shutdown(grace_s: number): void;
}

/** A feature as other features use it. */
export interface UsableFeature<S> {
  readonly name: string;
  open(host: Host): { readonly services: S };
}

/** An option of the command line for one start. */
export type StartOption<T> = (value: T) => GivenOption;

export interface GivenOption {
  readonly option: StartOption<never>;
  readonly value: unknown;
}
