import type { DatabaseSync } from "node:sqlite";
import type { ToolSpec } from "../agent/models/model.ts";
import type { Bus } from "../bus/bus.ts";
import type { Cortex } from "../cortex/cortex.ts";
import type { Config } from "../daemon/config.ts";
import type { ConfigEditor } from "../daemon/config_editor.ts";
import type { DaemonService } from "../daemon/service.ts";
import type { Sandbox, SandboxScope } from "../agent/sandbox.ts";
import type { ModelRegistry } from "../agent/models/registry.ts";
import type { ExternalServers } from "../mcp/external.ts";
import type { MissionEngine } from "../mission/engine.ts";
import type { HomePaths } from "../platform/paths.ts";
import type { Hub } from "../session/hub.ts";
import type { TaskEngine } from "../tasks/engine.ts";
import type { TuiHost } from "../tui/host.ts";
import type { Verb } from "./define.ts";

/** The discovery record (product.md). */
export interface Discovery {
  pid: number;
  sock: string;
  port: number;
  token: string;
  version: string;
  protocol_version: number;
}

/** What verbs reach of the daemon. */
export interface Services {
  readonly hub: Hub;
  readonly bus: Bus;
  readonly models: ModelRegistry;
  readonly version: string;
  /** The home of svc; no working directory lies in it. */
  readonly home: string;
  /** Where commands run. @throws {Error} when the sandbox asked for in daemon.toml does not work. */
  sandbox(): Promise<Sandbox>;
  /** What a command in a directory may see. */
  scope(workdir: string): SandboxScope;
  /** The task engine, opened at its first use. @throws {SvcError} when its database will not do. */
  tasks(): Promise<TaskEngine>;
  /** The missions, opened at their first use. @throws {SvcError} when the database will not do. */
  missions(): Promise<MissionEngine>;
  /** Memory and lobes, loaded at their first use. */
  cortex(): Promise<Cortex>;
  /** The tools that every model call begins with. */
  prefix_tools(): Promise<readonly ToolSpec[]>;
  /** The terminal UI's instances, loaded at their first use. */
  tui(): Promise<TuiHost>;
  /** The tool servers of policy.yaml, loaded at their first use. */
  tool_servers(): Promise<ExternalServers>;
  /** Opens `state.db`; the caller closes it. */
  open_state_db(): Promise<DatabaseSync>;
  config(): Config;
  /** Where the daemon's own files lie. */
  readonly paths: Pick<HomePaths, "config" | "log">;
  /** What changes daemon.toml, loaded at its first use. */
  config_editor(): Promise<ConfigEditor>;
  /** The background unit of this user, loaded at its first use. */
  service(): Promise<DaemonService>;
  /** Every verb there is. */
  verbs(): readonly Verb[];
  /** Where a person begins to look for a workdir: an absolute path. */
  start_dir(): string;
  discovery(): Discovery;
  /** Port of the agent routes, where they are served. */
  agent_port(): number | undefined;
  /** Whether a desktop shell brought the daemon, as its child. */
  readonly sidecar: boolean;
  /** Milliseconds since the daemon started. */
  uptime_ms(): number;
  /** Begins a graceful stop. */
  shutdown(grace_s: number): void;
  reload_config(): Promise<void>;
}
