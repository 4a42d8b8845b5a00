/** Reads the text of `daemon.toml`; loaded only where there is one. */
import { isAbsolute } from "@std/path";
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { formatDuration, parseDuration } from "../base/duration.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { misfit } from "../os/operator_file.ts";
import { type Config, configOf, DEFAULTS } from "./config.ts";
import type { Section } from "./section.ts";

/** A limit that nobody would wait for is a mistake in the file. */
const DURATION_MAX_MS = 24 * 3_600_000;

const price = z.strictObject({
  input: z.number().min(0),
  output: z.number().min(0),
  cache_read: z.number().min(0).optional(),
  cache_write: z.number().min(0).optional(),
}).transform(({ input, output, cache_read = input, cache_write = input }) => {
  return { input, output, cache_read, cache_write };
});

const path = z.string().refine(isAbsolute, "must be an absolute path");

/** A text such as `30s`, in milliseconds. */
const duration = (fallback_ms: number) =>
  z.string().default(formatDuration(fallback_ms)).transform((text, context) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms > 0 && ms <= DURATION_MAX_MS) return ms;
    context.addIssue(
      `${JSON.stringify(text)} is not a duration from 1ms to 24h, such as 30s or 5m`,
    );
    return z.NEVER;
  });

/** With less than `least` no command would start. */
const limit = (fallback: number, least: number) =>
  z.int().min(0).max(2 ** 31 - 1)
    .refine((it) => it === 0 || it >= least, `must be 0 for no limit, or at least ${least}`)
    .default(fallback);

function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}

/** An origin as browsers send it: another text never matches. */
function requireOrigin(text: string, context: z.RefinementCtx): void {
  const url = URL.parse(text);
  // Only for addresses of the web: those of apps have an origin that is no URL's.
  const own = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^/?#@*\s]+$/.test(text);
  if (url?.origin === text && !text.includes("*") || own) return;
  const meant = url !== null && /^https?:$/.test(url.protocol) && !text.includes("*")
    ? `; did you mean "${url.origin}"?`
    : "";
  context.addIssue(
    `${
      JSON.stringify(text)
    } matches no page: expected scheme, host and port as browsers send them, ` +
      `such as "http://localhost:5173"${meant}`,
  );
}

/** The daemon's own keys. */
const OWN = z.strictObject({
  default_model: z.string().optional(),
  default_workdir: path.optional(),
  http: z.strictObject({
    allowed_origins: z.array(z.string().superRefine(requireOrigin)).default([
      ...DEFAULTS.http.allowed_origins,
    ]),
  }).prefault({}),
  journal: z.strictObject({
    retention_hours: z.number().positive().default(DEFAULTS.journal.retention_hours),
    retention_mb: z.number().positive().default(DEFAULTS.journal.retention_mb),
  }).prefault({}),
  agent: z.strictObject({
    approval: z.enum(["auto", "ask", "read_only"]).default(DEFAULTS.agent.approval),
    max_steps: z.int().min(1).max(10_000).default(DEFAULTS.agent.max_steps),
    budget_usd: z.number().min(0).optional(),
    critic: z.boolean().default(DEFAULTS.agent.critic),
    first_byte_timeout: duration(DEFAULTS.agent.first_byte_timeout),
    idle_timeout: duration(DEFAULTS.agent.idle_timeout),
    answer_timeout: duration(DEFAULTS.agent.answer_timeout),
  }).prefault({}),
  sandbox: z.strictObject({
    shell: z.enum(["auto", "bubblewrap", "none"]).default(DEFAULTS.sandbox.shell),
    network: z.boolean().default(DEFAULTS.sandbox.network),
    units: z.int().min(1).max(256).default(DEFAULTS.sandbox.units),
    max_processes: limit(DEFAULTS.sandbox.max_processes, 16),
    max_memory_mb: limit(DEFAULTS.sandbox.max_memory_mb, 64),
    max_open_files: limit(DEFAULTS.sandbox.max_open_files, 64),
    max_file_mb: limit(DEFAULTS.sandbox.max_file_mb, 1),
  }).prefault({}),
  models: z.record(
    z.string(),
    z.strictObject({
      kind: z.enum(["anthropic", "openai", "google", "openai-compatible"]),
      base_url: z.string().refine(isHttpUrl, "must be an http:// or https:// address").optional(),
      api_key_env: z.string().optional(),
      context_tokens: z.int().min(4_000).max(100_000_000).optional(),
      output_tokens: z.int().min(256).max(10_000_000).optional(),
    }).superRefine(({ kind, base_url }, context) => {
      if (kind !== "openai-compatible" || base_url !== undefined) return;
      const message = `is missing: kind "openai-compatible" needs an address, ` +
        `such as "http://127.0.0.1:8080/v1"`;
      context.addIssue({ code: "custom", path: ["base_url"], message });
    }),
  ).default({}),
  /** USD per million tokens, by model id; beats the built-in table. */
  prices: z.record(z.string(), price).default({}),
  log: z.strictObject({
    level: z.enum(["debug", "info", "warn", "error"]).default(DEFAULTS.log.level),
  }).prefault({}),
});

/** All keys of `daemon.toml`. */
export function configSchema(sections: readonly Section[]): z.ZodObject {
  return OWN.extend(Object.fromEntries(sections.map(({ name, schema }) => [name, schema()])));
}

/**
 * Parses the text of a `daemon.toml`.
 *
 * @param path named in errors.
 * @param sections the tables of features.
 * @throws {SvcError} validation, naming file, line, key and the nearest known key.
 */
export function parseConfig(
  text: string,
  path: string,
  sections: readonly Section[],
): Config {
  let table: Record<string, unknown>;
  try {
    table = parse(text);
  } catch (error) {
    throw syntaxError(error, text, path);
  }
  const schema = configSchema(sections);
  const parsed = schema.safeParse(table);
  if (parsed.success) {
    const own = OWN.strip().parse(table);
    const tables = sections.filter(({ name }) => Object.hasOwn(table, name))
      .map(({ name }) => [name, (parsed.data as Record<string, unknown>)[name]]);
    return configOf(own, Object.fromEntries(tables));
  }
  throw misfit({
    path,
    schema,
    error: parsed.error,
    lineOf: (keys) => lineOf(text, keys),
  });
}

/** What the parser says, with file, line and, for one that is set twice, the key. */
function syntaxError(error: unknown, text: string, path: string): SvcError {
  if (!(error instanceof TomlError)) {
    return new SvcError("validation", `${path}: ${messageOf(error)}`);
  }
  const { line, column } = error;
  // The lines below show the place, as the number of the line does.
  const [said] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
  if (!/redefine an already defined/.test(said)) {
    return new SvcError("validation", `${path}:${line}: ${said}`, {
      hint: "correct the line; https://toml.io describes the format",
    });
  }
  const keys = keysAt(text, line, column);
  const first = lineOf(text, keys);
  const where = first < line ? `, first on line ${first}` : "";
  const message = `${keys.join(".")}: is set twice${where}`;
  return new SvcError("validation", `${path}:${line}: ${message}`, {
    hint: "remove one of them",
    details: { issues: [{ path: keys, message }] },
  });
}

/** The key that begins at a place of the text, with the table that it is in. */
function keysAt(text: string, line: number, column: number): string[] {
  let keys: string[] = [];
  for (const [n, { table, set }] of settings(text).entries()) {
    if (n + 1 < line) continue;
    const rest = text.split("\n")[line - 1].slice(column - 1);
    const inline = splitKey(rest.match(/^[^={}\],]+/)?.[0] ?? "");
    keys = set === undefined ? table : [...table, ...set];
    // In a table that stands in the line itself.
    if (set !== undefined && inline.join("\0") !== set.join("\0")) keys = [...keys, ...inline];
    break;
  }
  return keys;
}

/** The line where a key is set, else the table that it belongs to; 1 when neither is found. */
function lineOf(text: string, keys: readonly string[]): number {
  const wanted = keys.filter((key) => !/^\d+$/.test(key));
  const lines = settings(text).map(({ table, set, header }) =>
    set ? [...table, ...set] : header ? table : []
  );
  for (let length = wanted.length; length > 0; length--) {
    const sought = wanted.slice(0, length).join("\0");
    const n = lines.findIndex((here) => here.length > 0 && here.join("\0") === sought);
    if (n >= 0) return n + 1;
  }
  return 1;
}

/** Of each line the table it is in, and the key that it sets. */
function settings(text: string): { table: string[]; set?: string[]; header: boolean }[] {
  let table: string[] = [];
  return text.split("\n").map((line) => {
    const header = line.match(/^\s*\[+\s*([^\]]+?)\s*\]+/);
    if (header) table = splitKey(header[1]);
    const assignment = line.match(/^\s*([^=#[\]]+?)\s*=/);
    return {
      table,
      set: assignment ? splitKey(assignment[1]) : undefined,
      header: header !== null,
    };
  });
}

function splitKey(key: string): string[] {
  return [...key.matchAll(/"([^"]*)"|'([^']*)'|([^.\s]+)/g)].map((it) => it[1] ?? it[2] ?? it[3]);
}
