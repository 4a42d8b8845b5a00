import type { DatabaseSync } from "node:sqlite";
import type { ToolSpec } from "../models/model.ts";
import type { Bus } from "../features/bus/bus.ts";
import type { Cortex } from "../features/memory/cortex.ts";
import type { Config } from "../config/config.ts";
import type { ConfigEditor } from "../config/config_editor.ts";
import type { DaemonService } from "../features/service/open.ts";
import type { Sandbox, SandboxScope } from "../jail/sandbox.ts";
import type { ModelRegistry } from "../models/registry.ts";
import type { ExternalServers } from "../features/tool_servers/servers.ts";
import type { MissionEngine } from "../features/missions/engine.ts";
import type { HomePaths } from "../os/paths.ts";
import type { Hub } from "../session/hub.ts";
import type { TaskEngine } from "../features/tasks/engine.ts";
import type { TuiHost } from "../features/tui/host.ts";
import type { Verb } from "../verbs/define.ts";

/** The discovery record (product.md). */
export interface Discovery {
  pid: number;
  sock: string;
  port: number;
  token: string;
  version: string;
  protocol_version: number;
}

/** The parts of the daemon that verbs can use. */
export interface Services {
  readonly hub: Hub;
  readonly bus: Bus;
  readonly models: ModelRegistry;
  readonly version: string;
  /** The home of svc; no working directory may be inside it. */
  readonly home: string;
  /**
   * The sandbox for commands. @throws {Error} if the sandbox configured in daemon.toml does not
   * work.
   */
  sandbox(): Promise<Sandbox>;
  /** What a command in a directory may see. */
  scope(workdir: string): SandboxScope;
  /** The task engine, opened on first use. @throws {SvcError} if its database cannot be used. */
  tasks(): Promise<TaskEngine>;
  /** The missions, opened on first use. @throws {SvcError} if the database cannot be used. */
  missions(): Promise<MissionEngine>;
  /** Memory and lobes, loaded on first use. */
  cortex(): Promise<Cortex>;
  /** The tools that every model call begins with. */
  prefix_tools(): Promise<readonly ToolSpec[]>;
  /** The terminal UI's instances, loaded on first use. */
  tui(): Promise<TuiHost>;
  /** The tool servers of policy.yaml, loaded on first use. */
  tool_servers(): Promise<ExternalServers>;
  /** Opens `state.db`; the caller closes it. */
  open_state_db(): Promise<DatabaseSync>;
  config(): Config;
  /** Paths of the daemon's own files. */
  readonly paths: Pick<HomePaths, "config" | "log">;
  /** The editor of daemon.toml, loaded on first use. */
  config_editor(): Promise<ConfigEditor>;
  /** The background unit of this user, loaded on first use. */
  service(): Promise<DaemonService>;
  /** Every verb. */
  verbs(): readonly Verb[];
  /** The directory where a person starts to look for a workdir: an absolute path. */
  start_dir(): string;
  discovery(): Discovery;
  /** Port of the agent routes, if they are served. */
  agent_port(): number | undefined;
  /** Whether a desktop shell started the daemon as its child process. */
  readonly sidecar: boolean;
  /** Milliseconds since the daemon started. */
  uptime_ms(): number;
  /** Starts a graceful stop. */
  shutdown(grace_s: number): void;
  reload_config(): Promise<void>;
}
