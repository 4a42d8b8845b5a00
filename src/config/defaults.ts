import type { Grant } from "../jail/grants.ts";
import { ANSWER_LIMITS } from "../models/answer_limits.ts";

/** The daemon's own defaults; the schema uses them too. */
export const DEFAULTS = {
  http: { allowed_origins: [] as string[] },
  journal: { retention_hours: 24, retention_mb: 100 },
  agent: {
    approval: "ask" as const,
    fallback: [] as string[],
    max_steps: 50,
    park_after: 2 * 60_000,
    critic: false,
    titles: true,
    first_byte_timeout: ANSWER_LIMITS.first_byte_ms,
    idle_timeout: ANSWER_LIMITS.idle_ms,
    answer_timeout: ANSWER_LIMITS.answer_ms,
  },
  sandbox: {
    shell: "auto" as const,
    network: false,
    allowed_hosts: [] as string[],
    registries: true,
    env: [] as string[],
    grant: [] as Grant[],
    git_credentials: [] as string[],
    login_path: true,
    units: 16,
    // More than builds and browsers need, far less than would stall a machine.
    max_processes: 512,
    max_open_files: 16_384,
    max_file_mb: 32_768,
    max_tmp_mb: 4096,
    max_cache_mb: 16_384,
  },
  models: {},
  prices: {},
  log: { level: "info" as const },
};
