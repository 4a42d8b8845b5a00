/** `daemon.toml`, the operator's configuration (contract.md section 7). */
import type { Price } from "../agent/models/prices.ts";
import type { ModelEntry } from "../agent/models/registry.ts";
import type { ShellSandbox } from "../agent/sandbox.ts";
import type { LogLevel } from "../platform/log.ts";
import type { Approval } from "../session/events.ts";

/** The configuration with every default filled in. */
export interface Config {
  default_model?: string;
  default_workdir?: string;
  http: { allowed_origins: string[] };
  journal: { retention_hours: number; retention_mb: number };
  agent: {
    approval: Approval;
    /** Model calls that a turn may make. */
    max_steps: number;
    /** USD a session may cost, where it has no budget of its own. */
    budget_usd?: number;
  };
  sandbox: {
    shell: ShellSandbox;
    network: boolean;
    /** Jailed tool units alive at once. */
    units: number;
  };
  /** `workers`: tasks of the queue that run at once, until it is told otherwise. */
  tasks: { workers: number };
  models: Record<string, ModelEntry>;
  /** USD per million tokens, by model id; beats the built-in table. */
  prices: Record<string, Price>;
  log: { level: LogLevel };
}

/** What holds without a file. */
export const DEFAULTS: Config = {
  http: { allowed_origins: [] },
  journal: { retention_hours: 24, retention_mb: 100 },
  agent: { approval: "ask", max_steps: 50 },
  sandbox: { shell: "auto", network: false, units: 16 },
  tasks: { workers: 2 },
  models: {},
  prices: {},
  log: { level: "info" },
};

/**
 * Reads the configuration.
 *
 * @param path the file; a missing one means all defaults.
 * @throws {SvcError} validation, naming file, line, key and the nearest known key.
 */
export async function readConfig(path: string): Promise<Config> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return structuredClone(DEFAULTS);
    throw error;
  }
  const { parseConfig } = await import("./config_file.ts");
  return parseConfig(text, path);
}
