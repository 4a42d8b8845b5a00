/** The configuration as the code has it. */
import type { Price } from "../models/prices.ts";
import type { ModelEntry } from "../models/registry.ts";
import type { CommandLimits } from "../jail/command_limits.ts";
import type { ShellSandbox } from "../jail/sandbox.ts";
import type { LogLevel } from "../os/log.ts";
import type { Approval } from "../protocol/events.ts";
import type { Section } from "./section.ts";

/** The daemon's own keys, with every default filled in. */
export interface OwnKeys {
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
    /** Whether the output critic reads a person's own sessions, too. */
    critic: boolean;
    /** How long a model's answer may take: to its first byte, between bytes, in all. */
    first_byte_timeout: number;
    idle_timeout: number;
    answer_timeout: number;
  };
  sandbox: CommandLimits & {
    shell: ShellSandbox;
    network: boolean;
    /** Jailed tool units alive at once. */
    units: number;
  };
  models: Record<string, ModelEntry>;
  /** USD per million tokens, by model id; beats the built-in table. */
  prices: Record<string, Price>;
  log: { level: LogLevel };
}

/** The configuration: the daemon's own keys, and the tables of its features. */
export interface Config extends OwnKeys {
  /** The table of a feature, with every default filled in. */
  of<T>(section: Section<T>): T;
  /** Whether the file has the table of a feature. */
  has(section: Section): boolean;
}
