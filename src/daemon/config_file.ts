/** Reads the text of `daemon.toml`; loaded only where there is one. */
import { isAbsolute } from "@std/path";
import { parse } from "@std/toml";
import * as z from "zod";
import { ACP_NAME } from "../acp/entry.ts";
import { messageOf, SvcError } from "../platform/errors.ts";
import { misfit } from "../platform/operator_file.ts";
import { WORKERS_MAX } from "../tasks/task.ts";
import { type Config, DEFAULTS } from "./config.ts";

const price = z.strictObject({
  input: z.number().min(0),
  output: z.number().min(0),
  cache_read: z.number().min(0).optional(),
  cache_write: z.number().min(0).optional(),
}).transform(({ input, output, cache_read = input, cache_write = input }) => {
  return { input, output, cache_read, cache_write };
});

const path = z.string().refine(isAbsolute, "must be an absolute path");

const NATS_URL = "must be nats:// or tls:// and a host, without a user or a password, which have " +
  "keys of their own; several separated by commas";

function isNatsUrl(text: string): boolean {
  return text.split(",").every((it) => {
    const url = URL.parse(it.trim());
    return url !== null && /^(?:nats|tls):$/.test(url.protocol) && url.hostname !== "" &&
      url.username === "" && url.password === "" && /^\/?$/.test(url.pathname);
  });
}

const ConfigSchema = z.strictObject({
  default_model: z.string().optional(),
  default_workdir: path.optional(),
  http: z.strictObject({
    allowed_origins: z.array(z.string()).default([...DEFAULTS.http.allowed_origins]),
  }).prefault({}),
  journal: z.strictObject({
    retention_hours: z.number().positive().default(DEFAULTS.journal.retention_hours),
    retention_mb: z.number().positive().default(DEFAULTS.journal.retention_mb),
  }).prefault({}),
  agent: z.strictObject({
    approval: z.enum(["auto", "ask", "read_only"]).default(DEFAULTS.agent.approval),
    max_steps: z.int().min(1).max(10_000).default(DEFAULTS.agent.max_steps),
    budget_usd: z.number().min(0).optional(),
  }).prefault({}),
  sandbox: z.strictObject({
    shell: z.enum(["auto", "bubblewrap", "none"]).default(DEFAULTS.sandbox.shell),
    network: z.boolean().default(DEFAULTS.sandbox.network),
    units: z.int().min(1).max(256).default(DEFAULTS.sandbox.units),
  }).prefault({}),
  tasks: z.strictObject({
    engine: z.enum(["local", "nats"]).default(DEFAULTS.tasks.engine),
    nats_url: z.string().refine(isNatsUrl, NATS_URL).default(DEFAULTS.tasks.nats_url),
    nats_creds_file: path.optional(),
    nats_nkey_file: path.optional(),
    nats_token_env: z.string().optional(),
    nats_user: z.string().optional(),
    nats_password_env: z.string().optional(),
    nats_ca_file: path.optional(),
    workers: z.int().min(0).max(WORKERS_MAX).default(DEFAULTS.tasks.workers),
    budget_usd: z.number().positive().default(DEFAULTS.tasks.budget_usd),
    workdirs: z.array(path)
      .default([...DEFAULTS.tasks.workdirs]),
  }).prefault({}),
  search: z.strictObject({
    provider: z.enum(["searxng", "brave", "tavily"]),
    base_url: z.url().optional(),
    api_key_env: z.string().optional(),
  }).refine(({ provider, base_url }) => provider !== "searxng" || base_url !== undefined, {
    message: "searxng needs base_url",
  }).optional(),
  cortex: z.strictObject({
    curator: z.boolean().default(DEFAULTS.cortex.curator),
    recall_tokens: z.int().min(0).max(100_000).default(DEFAULTS.cortex.recall_tokens),
  }).prefault({}),
  models: z.record(
    z.string(),
    z.strictObject({
      kind: z.enum(["anthropic", "openai", "google", "openai-compatible"]),
      base_url: z.url().optional(),
      api_key_env: z.string().optional(),
    }),
  ).default({}),
  acp: z.record(
    z.string().regex(ACP_NAME),
    z.strictObject({
      command: z.string().min(1),
      args: z.array(z.string()).default([]),
      env: z.array(z.string()).default([]),
      network: z.boolean().default(false),
    }),
  ).default({}),
  /** USD per million tokens, by model id; beats the built-in table. */
  prices: z.record(z.string(), price).default({}),
  update: z.strictObject({
    manifest_url: z.url().optional(),
    public_key: z.union([z.string(), z.array(z.string())]).default([]).transform((it) =>
      [it].flat()
    ),
  }).prefault({}),
  policy: z.strictObject({
    allow_project: z.boolean().default(DEFAULTS.policy.allow_project),
    project_env: z.array(z.string()).default([...DEFAULTS.policy.project_env]),
  }).prefault({}),
  log: z.strictObject({
    level: z.enum(["debug", "info", "warn", "error"]).default(DEFAULTS.log.level),
  }).prefault({}),
});

/**
 * Parses the text of a `daemon.toml`.
 *
 * @param path named in errors.
 * @throws {SvcError} validation, naming file, line, key and the nearest known key.
 */
export function parseConfig(text: string, path: string): Config {
  let table: Record<string, unknown>;
  try {
    table = parse(text);
  } catch (error) {
    const message = messageOf(error).replace(/^Parse error on line (\d+), column (\d+): /, "");
    const line = messageOf(error).match(/line (\d+)/)?.[1];
    throw new SvcError("validation", `${path}${line ? `:${line}` : ""}: ${message}`, {
      hint: "mend the line; https://toml.io describes the format",
    });
  }
  const parsed = ConfigSchema.safeParse(table);
  if (parsed.success) return parsed.data;
  throw misfit({
    path,
    schema: ConfigSchema,
    error: parsed.error,
    lineOf: (keys) => lineOf(text, keys),
  });
}

/** The line where a key is set, found by walking tables and keys; 1 when it cannot be found. */
function lineOf(text: string, keys: readonly string[]): number {
  const wanted = keys.filter((key) => !/^\d+$/.test(key));
  let table: string[] = [];
  for (const [n, line] of text.split("\n").entries()) {
    const header = line.match(/^\s*\[+\s*([^\]]+?)\s*\]+/);
    if (header) table = splitKey(header[1]);
    const assignment = line.match(/^\s*([^=#[\]]+?)\s*=/);
    const here = assignment ? [...table, ...splitKey(assignment[1])] : header ? table : [];
    if (here.length > 0 && here.join("\0") === wanted.slice(0, here.length).join("\0")) {
      if (here.length === wanted.length) return n + 1;
    }
  }
  return 1;
}

function splitKey(key: string): string[] {
  return [...key.matchAll(/"([^"]*)"|'([^']*)'|([^.\s]+)/g)].map((it) => it[1] ?? it[2] ?? it[3]);
}
