/** Reads the text of `daemon.toml`; loaded only where there is one. */
import { parse } from "@std/toml";
import * as z from "zod";
import { messageOf, SvcError } from "../platform/errors.ts";
import { nearestOf } from "../platform/nearest.ts";
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

const ConfigSchema = z.strictObject({
  default_model: z.string().optional(),
  default_workdir: z.string().optional(),
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
    workers: z.int().min(0).max(WORKERS_MAX).default(DEFAULTS.tasks.workers),
  }).prefault({}),
  models: z.record(
    z.string(),
    z.strictObject({
      kind: z.enum(["anthropic", "openai", "google", "openai-compatible"]),
      base_url: z.url().optional(),
      api_key_env: z.string().optional(),
    }),
  ).default({}),
  /** USD per million tokens, by model id; beats the built-in table. */
  prices: z.record(z.string(), price).default({}),
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
  const [issue] = parsed.error.issues;
  const keys = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0];
    const known = knownKeys(keys);
    const nearest = nearestOf(key, known);
    const full = [...keys, key].join(".");
    throw new SvcError(
      "validation",
      `${path}:${lineOf(text, [...keys, key])}: unknown key ${full}`,
      {
        hint: nearest
          ? `did you mean ${[...keys, nearest].join(".")}?`
          : `known keys: ${known.join(", ")}`,
      },
    );
  }
  throw new SvcError(
    "validation",
    `${path}:${lineOf(text, keys)}: ${keys.join(".")}: ${issue.message}`,
  );
}

/** The keys that may stand in the table at `path`. */
function knownKeys(path: readonly string[]): string[] {
  let schema: unknown = ConfigSchema;
  for (const key of path) {
    const inner = unwrapped(schema);
    schema = inner instanceof z.ZodRecord ? inner.valueType : (inner as z.ZodObject).shape?.[key];
  }
  return Object.keys((unwrapped(schema) as z.ZodObject).shape ?? {});
}

function unwrapped(schema: unknown): unknown {
  while (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    schema = schema.unwrap();
  }
  return schema;
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
