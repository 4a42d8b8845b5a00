import type { Hub } from "../../session/hub.ts";
import type { ConfigEditor } from "../../config/config_editor.ts";
import type { ToolSpec } from "../../models/model.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import type { HomePaths } from "../../os/paths.ts";
import type { Discovery } from "../../protocol/discovery.ts";
import type { CommandPath } from "../../verbs/host.ts";
import type { Verb } from "../../verbs/define.ts";

/** The services of the verbs about the daemon. */
export interface ControlServices {
  readonly hub: Hub;
  /** The daemon's own files. */
  readonly paths: Pick<HomePaths, "config" | "log">;
  /** Whether a desktop shell started the daemon, as its child. */
  readonly sidecar: boolean;
  command_path(): CommandPath;
  models(): ModelRegistry;
  /** The tools at the start of every model call. */
  prefix_tools(): Promise<readonly ToolSpec[]>;
  /** Changes daemon.toml; loaded on first use. */
  config_editor(): Promise<ConfigEditor>;
  /** All verbs. */
  verbs(): readonly Verb[];
  /** The directory where a search for a workdir starts: an absolute path. */
  start_dir(): string;
  discovery(): Discovery;
  /** The port of the agent routes, if they are served. */
  agent_port(): number | undefined;
  /** Milliseconds since the daemon started. */
  uptime_ms(): number;
  /** Starts a graceful stop. */
  shutdown(grace_s: number): void;
  reload_config(): Promise<void>;
}
