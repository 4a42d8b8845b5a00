/** `daemon.toml`, the operator's configuration (contract.md section 7). */
import { ANSWER_LIMITS } from "../models/answer_limits.ts";
import type { Config, OwnKeys } from "./keys.ts";
import type { Section } from "./section.ts";

export type * from "./keys.ts";

/** Makes a configuration. @param tables those of the file, as their sections read them. */
export function configOf(own: OwnKeys, tables: Readonly<Record<string, unknown>> = {}): Config {
  const read = new Map<Section, unknown>();
  return {
    ...own,
    of<T>(section: Section<T>): T {
      if (Object.hasOwn(tables, section.name)) return tables[section.name] as T;
      // Making a schema takes time: without the table its defaults are found when they are needed.
      if (!read.has(section)) read.set(section, section.schema().parse(undefined));
      return read.get(section) as T;
    },
    has: ({ name }) => Object.hasOwn(tables, name),
  };
}

/** What holds without a file. */
export const DEFAULTS: OwnKeys = {
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
  models: {},
  prices: {},
  log: { level: "info" },
};
