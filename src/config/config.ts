/** `daemon.toml`, the operator's configuration (contract.md section 7). */
import type { AcpEntry } from "../models/acp_entry.ts";
import { ANSWER_LIMITS } from "../models/answer_limits.ts";
import type { Price } from "../models/prices.ts";
import type { ModelEntry } from "../models/registry.ts";
import type { CommandLimits } from "../jail/command_limits.ts";
import type { ShellSandbox } from "../jail/sandbox.ts";
import type { LogLevel } from "../os/log.ts";
import type { Approval } from "../protocol/events.ts";
import type { NatsConfig } from "./nats.ts";

/** Tasks of the queue that may run at once. */
export const WORKERS_MAX = 64;

export type SearchProvider = "searxng" | "brave" | "tavily";

/** `[search]` of daemon.toml. */
export interface SearchConfig {
  provider: SearchProvider;
  /** Of the provider; needed for SearXNG, which everyone runs for themselves. */
  base_url?: string;
  /** The variable of the daemon's environment that holds the key. */
  api_key_env?: string;
}

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
  tasks: NatsConfig & {
    /** Where tasks are kept: here, or on a NATS server for any number of machines. */
    engine: "local" | "nats";
    /** Tasks of the queue that run at once, until it is told otherwise. */
    workers: number;
    /** USD that one task may cost. */
    budget_usd: number;
    /** Directories that hired work may be done in, with all that is below them. */
    workdirs: string[];
  };
  hire: {
    /** Whether every hirer sees the tasks of all others. */
    shared: boolean;
  };
  /** Where research looks for sources; none: in those only that it is given. */
  search?: SearchConfig;
  cortex: {
    /** Whether a model reads each turn when it is over, for what is worth remembering. */
    curator: boolean;
    /** Tokens that a prompt may be given of the memory; 0 for none. */
    recall_tokens: number;
  };
  models: Record<string, ModelEntry>;
  /** Agents of the Agent Client Protocol, by the name in their model id, `acp/<name>`. */
  acp: Record<string, AcpEntry>;
  /** USD per million tokens, by model id; beats the built-in table. */
  prices: Record<string, Price>;
  /** Where `svc update` looks, beside or instead of what the build names. */
  update: {
    /** A `{channel}` in it stands for the channel's name. */
    manifest_url?: string;
    /** Keys that releases may be signed with; none: the build's own. */
    public_key: string[];
  };
  policy: {
    /** Whether a project's `svc.policy.yaml` is read. */
    allow_project: boolean;
    /** Variables that the tool servers of a project may be given. */
    project_env: string[];
  };
  log: { level: LogLevel };
}

/** What holds without a file. */
export const DEFAULTS: Config = {
  http: { allowed_origins: [] },
  journal: { retention_hours: 24, retention_mb: 100 },
  agent: {
    approval: "ask",
    max_steps: 50,
    critic: false,
    first_byte_timeout: ANSWER_LIMITS.first_byte_ms,
    idle_timeout: ANSWER_LIMITS.idle_ms,
    answer_timeout: ANSWER_LIMITS.answer_ms,
  },
  sandbox: {
    shell: "auto",
    network: false,
    units: 16,
    // Far above what builds and browsers need, far below what makes a machine stand still.
    max_processes: 4096,
    max_memory_mb: 0,
    max_open_files: 16_384,
    max_file_mb: 32_768,
  },
  tasks: {
    engine: "local",
    nats_url: "nats://127.0.0.1:4222",
    workers: 2,
    budget_usd: 5,
    workdirs: [],
  },
  hire: { shared: false },
  cortex: { curator: true, recall_tokens: 1000 },
  models: {},
  acp: {},
  prices: {},
  update: { public_key: [] },
  policy: { allow_project: false, project_env: [] },
  log: { level: "info" },
};
