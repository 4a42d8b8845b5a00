/** Parses a policy file; loaded only if there is one. */
import { parse } from "@std/yaml";
import * as z from "zod";
import { parseDuration } from "../../base/duration.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { misfit } from "../../os/operator_file.ts";
import { deploy_target } from "./deploy_target.ts";
import type { Policy, ServerEntry } from "./policy.ts";

/** Longer time limits are probably mistakes. */
const DURATION_MAX_MS = 24 * 3_600_000;

const duration = (fallback: string) =>
  z.string().default(fallback).transform((text, context) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms > 0 && ms <= DURATION_MAX_MS) return ms;
    context.addIssue(
      `${JSON.stringify(text)} is not a duration from 1ms to 24h, such as 30s or 5m`,
    );
    return z.NEVER;
  });

const variable = z.string().regex(
  /^[A-Za-z_][A-Za-z0-9_]*$/,
  "must be the name of an environment variable",
);

/** A client that was registered by hand. */
const oauth_client = z.strictObject({
  client_id: z.string().min(1),
  client_secret_env: variable.optional()
    .describe("The environment variable of the daemon that holds the client's secret"),
  port: z.int().min(1).max(65_535)
    .describe("The port of the registered redirect address http://127.0.0.1:<port>/callback"),
});

export type OAuthClient = z.output<typeof oauth_client>;

const fields = z.strictObject({
  name: z.string().regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "must be 1 to 64 letters, digits, dots, hyphens or underscores",
  ),
  transport: z.enum(["stdio", "http"]),
  command: z.string().min(1).optional(),
  args: z.array(z.string()).optional(),
  env: z.record(variable, z.string()).optional(),
  url: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  auth_env: variable.optional(),
  oauth: oauth_client.optional(),
  trust: z.enum(["trusted", "untrusted"]).default("untrusted"),
  max_concurrent: z.int().min(1).max(1024).default(8),
  timeout: duration("30s"),
  idle_timeout: duration("5m"),
  enabled: z.boolean().default(true),
});

const PolicySchema = z.strictObject({
  mcp_servers: z.array(fields.transform(toEntry)).default([]).superRefine(namedOnce("server")),
  deploy_targets: z.array(deploy_target).default([]).superRefine(namedOnce("target")),
});

/** Returns a check that the entries of a list have different names. */
function namedOnce(what: string) {
  return (entries: readonly { name: string }[], context: z.RefinementCtx) => {
    const names = new Set<string>();
    for (const [n, { name }] of entries.entries()) {
      if (names.size < names.add(name).size) continue;
      context.addIssue({
        code: "custom",
        path: [n, "name"],
        message: `${JSON.stringify(name)} is already used by a ${what} above`,
      });
    }
  };
}

/** The keys that an entry of each transport must and must not have. */
const GOES_WITH = {
  stdio: { needed: "command", foreign: ["url", "headers", "oauth"] },
  http: { needed: "url", foreign: ["command", "args", "env"] },
} as const;

function toEntry(raw: z.output<typeof fields>, context: z.RefinementCtx): ServerEntry {
  const { command, args = [], env = {}, url, headers = {}, oauth, ...more } = raw;
  const { timeout, idle_timeout, ...rest } = more;
  const { needed, foreign } = GOES_WITH[raw.transport];
  const stray = foreign.find((key) => raw[key] !== undefined);
  if (stray !== undefined) {
    context.addIssue({
      code: "custom",
      path: [stray],
      message: `is not allowed for transport ${raw.transport}`,
    });
    return z.NEVER;
  }
  const problem = raw[needed] === undefined
    ? `is required for transport ${raw.transport}`
    : url === undefined
    ? undefined
    : urlProblem(url);
  if (problem !== undefined) {
    context.addIssue({ code: "custom", path: [needed], message: problem });
    return z.NEVER;
  }
  const common = { ...rest, timeout_ms: timeout, idle_ms: idle_timeout };
  return raw.transport === "stdio"
    ? { ...common, transport: "stdio", command: command!, args, env }
    : { ...common, transport: "http", url: url!, headers, ...(oauth && { oauth }) };
}

/** Returns why a server's address cannot be used (product.md, Tool-protocol catalog rule 1). */
function urlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return "is not a URL";
  if (url.username !== "" || url.password !== "") {
    return "must not contain a credential; name its variable in auth_env";
  }
  if (url.protocol === "https:") return undefined;
  const local = url.hostname === "localhost" || url.hostname === "127.0.0.1";
  if (url.protocol === "http:" && local) return undefined;
  return "must be https; plain http is allowed only for http://localhost and http://127.0.0.1";
}

/**
 * Parses a policy file's text.
 *
 * @param path for errors
 * @throws {SvcError} validation, naming file, line, key and the nearest known key
 */
export function parsePolicy(text: string, path: string): Policy {
  let table: unknown;
  try {
    table = parse(text) ?? {};
  } catch (error) {
    const [, message, line] = messageOf(error).match(/^(.*?)(?: at line (\d+)[^]*)?$/)!;
    throw new SvcError("validation", `${path}${line ? `:${line}` : ""}: ${message}`, {
      hint: "fix the line; https://yaml.org describes the format",
    });
  }
  const parsed = PolicySchema.safeParse(table);
  if (parsed.success) {
    const { mcp_servers: servers, deploy_targets } = parsed.data;
    return { servers, deploy_targets };
  }
  throw misfit({
    path,
    schema: PolicySchema,
    error: parsed.error,
    lineOf: (keys) => lineOf(text, keys),
  });
}

/** Finds the line of a key or a list entry by its indentation; 1 if it is not found. */
function lineOf(text: string, keys: readonly string[]): number {
  const open: { indent: number; key: string; item: boolean }[] = [];
  let best = { depth: 0, line: 1 };
  const enter = (indent: number, key: string, item: boolean, line: number) => {
    open.push({ indent, key, item });
    const depth = open.findIndex((it, n) => it.key !== keys[n]);
    const matched = depth < 0 ? open.length : depth;
    if (matched > best.depth && matched <= keys.length) best = { depth: matched, line };
  };
  for (const [n, whole] of text.split("\n").entries()) {
    let rest = whole.trimStart();
    if (rest === "" || rest.startsWith("#")) continue;
    let indent = whole.length - rest.length;
    for (let item; (item = rest.match(/^-(?:\s+|$)/)) !== null;) {
      let last = -1;
      while (open.length > 0) {
        const { indent: at, key, item } = open.at(-1)!;
        if (at < indent || (at === indent && !item)) break;
        if (at === indent) last = Number(key);
        open.pop();
      }
      enter(indent, String(last + 1), true, n + 1);
      rest = rest.slice(item[0].length);
      indent += item[0].length;
    }
    const key = rest.match(/^(?:"([^"]*)"|'([^']*)'|([^\s:#{[][^:]*?))\s*:(?:\s|$)/);
    if (key === null) continue;
    while (open.length > 0 && open.at(-1)!.indent >= indent) open.pop();
    enter(indent, key[1] ?? key[2] ?? key[3], false, n + 1);
  }
  return best.line;
}
