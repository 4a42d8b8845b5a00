import type { DatabaseSync } from "node:sqlite";
import type { Bus } from "../bus/bus.ts";
import type { Config } from "../daemon/config.ts";
import type { ModelRegistry } from "../agent/models/registry.ts";
import type { Hub } from "../session/hub.ts";
import type { TaskEngine } from "../tasks/engine.ts";

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
  /** The task engine, opened at its first use. @throws {SvcError} when its database will not do. */
  tasks(): Promise<TaskEngine>;
  /** Opens `state.db`; the caller closes it. */
  open_state_db(): Promise<DatabaseSync>;
  config(): Config;
  discovery(): Discovery;
  /** Milliseconds since the daemon started. */
  uptime_ms(): number;
  /** Begins a graceful stop. */
  shutdown(grace_s: number): void;
  reload_config(): Promise<void>;
}
