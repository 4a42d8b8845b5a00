/** The schema of the daemon's own keys; loaded only if there is a `daemon.toml`. */
import { isAbsolute } from "@std/path";
import * as z from "zod";
import { formatDuration, parseDuration } from "../base/duration.ts";
import { APPROVALS } from "../protocol/approval.ts";
import { EFFORTS } from "../protocol/effort.ts";
import { presetOf, PRESETS } from "../models/presets.ts";
import type { ModelEntry } from "../models/registry.ts";
import { modelEntrySchema } from "../protocol/schemas/model_entry.ts";
import { requireVariable } from "../jail/granted_variables.ts";
import { GRANTS } from "../jail/grants.ts";
import { parseAllowedHost } from "../net/allowed_hosts.ts";
import { parseGitHost, requireOneEach } from "../net/git_hosts.ts";
import { messageOf } from "../protocol/errors.ts";
import { DEFAULTS } from "./defaults.ts";

/** A longer timeout is probably a mistake. */
const DURATION_MAX_MS = 24 * 3_600_000;

const price = z.strictObject({
  input: z.number().min(0).describe("USD per million tokens of input"),
  output: z.number().min(0).describe("USD per million tokens of output"),
  cache_read: z.number().min(0).optional()
    .describe("The same for input that the provider has cached; default: as input"),
  cache_write: z.number().min(0).optional()
    .describe("The same for input that it caches; default: as input"),
}).transform(({ input, output, cache_read = input, cache_write = input }) => {
  return { input, output, cache_read, cache_write };
});

const path = z.string().refine(isAbsolute, "must be an absolute path");

/** A duration such as `30s`, in milliseconds. */
const duration = (fallback_ms: number) =>
  z.string().default(formatDuration(fallback_ms)).transform((text, context) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms > 0 && ms <= DURATION_MAX_MS) return ms;
    context.addIssue(
      `${JSON.stringify(text)} is not a duration from 1ms to 24h, such as 30s or 5m`,
    );
    return z.NEVER;
  });

/** Below `least`, no command would start. */
const limit = (least: number) =>
  z.int().min(0).max(2 ** 31 - 1)
    .refine((it) => it === 0 || it >= least, `must be 0 for no limit, or at least ${least}`);

function refined<T = string>(check: (value: T) => unknown) {
  return (value: T, context: z.RefinementCtx): void => {
    try {
      check(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: messageOf(error) });
    }
  };
}

/** Checks keys of providers that depend on their names. */
function requireKinds(entries: Record<string, ModelEntry>, context: z.RefinementCtx): void {
  for (const [name, { kind = presetOf(name)?.kind, ...entry }] of Object.entries(entries)) {
    const report = (key: string, message: string) =>
      context.addIssue({ code: "custom", path: [name, key], message });
    if (kind === undefined) {
      report("kind", `is missing: only ${Object.keys(PRESETS).join(", ")} have one by default`);
    } else if (entry.api !== undefined && kind !== "openai") {
      report("api", `is for kind "openai" only`);
    }
    if (entries[name].kind === "openai-compatible" && entry.base_url === undefined) {
      const message = `is missing: kind "openai-compatible" needs an address, ` +
        `such as "http://127.0.0.1:8080/v1"`;
      report("base_url", message);
    }
  }
}

/** Checks that a text is an origin as browsers send it; others never match. */
function requireOrigin(text: string, context: z.RefinementCtx): void {
  const url = URL.parse(text);
  // Origins of apps are not URLs' origins.
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

export const OWN = z.strictObject({
  default_model: z.string().optional()
    .describe("The model of sessions that are started without one"),
  default_workdir: path.optional()
    .describe("The working directory of sessions that are started without one: an absolute path"),
  http: z.strictObject({
    allowed_origins: z.array(z.string().superRefine(requireOrigin)).default([
      ...DEFAULTS.http.allowed_origins,
    ]).describe("Web pages besides the app that may connect: scheme, host and port"),
  }).prefault({}),
  journal: z.strictObject({
    retention_hours: z.number().positive().default(DEFAULTS.journal.retention_hours)
      .describe("Hours after which older turns are replaced by a checkpoint"),
    retention_mb: z.number().positive().default(DEFAULTS.journal.retention_mb)
      .describe("Size of a journal above which its oldest turns are, too"),
  }).prefault({}),
  agent: z.strictObject({
    approval: z.enum(APPROVALS).default(DEFAULTS.agent.approval)
      .describe("Which calls of sessions need your approval, unless a session says otherwise"),
    effort: z.enum(EFFORTS).optional()
      .describe("How long models may think; unset: the provider's default"),
    fallback: z.array(
      z.string().regex(
        /^(?!acp\/|builtin\/)[^/]+\/./,
        "must be <provider>/<model>, and neither an agent nor the embedded model",
      ),
    ).max(8).default([...DEFAULTS.agent.fallback]).describe(
      "Models that take over the rest of a turn, in this order, if its model fails for good",
    ),
    max_steps: z.int().min(1).max(10_000).default(DEFAULTS.agent.max_steps)
      .describe("Maximum number of model calls in a turn"),
    budget_usd: z.number().min(0).optional()
      .describe("Limit in USD for sessions that have no budget of their own"),
    continue: z.enum(["always", "ask", "never"]).optional().describe(
      "What happens to an interrupted turn; by default it continues after a stop, and you are asked " +
        "after a crash",
    ),
    park_after: duration(DEFAULTS.agent.park_after).describe(
      "A turn is parked if its provider asks to wait for longer than this",
    ),
    critic: z.boolean().default(DEFAULTS.agent.critic)
      .describe("Whether the output critic also reads your own sessions"),
    titles: z.boolean().default(DEFAULTS.agent.titles)
      .describe("Whether a model names sessions that have no title"),
    first_byte_timeout: duration(DEFAULTS.agent.first_byte_timeout)
      .describe("Longest wait for the first byte of an answer"),
    idle_timeout: duration(DEFAULTS.agent.idle_timeout)
      .describe("Longest pause within an answer"),
    answer_timeout: duration(DEFAULTS.agent.answer_timeout)
      .describe("Longest total time of an answer"),
  }).prefault({}),
  sandbox: z.strictObject({
    shell: z.enum(["auto", "bubblewrap", "landlock", "seatbelt", "none"]).default(
      DEFAULTS.sandbox.shell,
    )
      .describe(
        "What commands run in; auto: bubblewrap if it works here, or else Landlock or Seatbelt",
      ),
    network: z.union([z.boolean(), z.literal("allowed")], {
      error: 'must be true, false or "allowed"',
    }).default(DEFAULTS.sandbox.network)
      .describe('Whether commands reach the network; "allowed" for the allowed hosts only'),
    allowed_hosts: z.array(z.string().superRefine(refined(parseAllowedHost))).max(1_000).default([
      ...DEFAULTS.sandbox.allowed_hosts,
    ]).describe(
      'With network = "allowed": hosts such as "example.com", "*.example.com", "localhost:4873"',
    ),
    registries: z.boolean().default(DEFAULTS.sandbox.registries)
      .describe("Whether to also allow the package registries that match a directory's manifests"),
    env: z.array(z.string().superRefine(refined(requireVariable))).max(1_000).default([
      ...DEFAULTS.sandbox.env,
    ]).describe(
      'More variables for commands: "JAVA_HOME" with the daemon\'s value, or "CI=1"',
    ),
    grant: z.array(z.enum(GRANTS, {
      error: ({ input }) => `${JSON.stringify(input)} is not one of ${GRANTS.join(", ")}`,
    })).default([...DEFAULTS.sandbox.grant]).describe(
      `What of the machine commands can reach: ${GRANTS.map((it) => `"${it}"`).join(", ")}`,
    ),
    git_credentials: z.array(z.string().superRefine(refined(parseGitHost))).max(100).superRefine(
      refined(requireOneEach),
    ).default([...DEFAULTS.sandbox.git_credentials]).describe(
      'With network = "allowed": hosts at which the git of commands uses your credentials, such as ' +
        '"github.com"',
    ),
    login_path: z.boolean().default(DEFAULTS.sandbox.login_path).describe(
      "Whether a daemon that no terminal started asks your login shell for its PATH",
    ),
    units: z.int().min(1).max(256).default(DEFAULTS.sandbox.units)
      .describe("Maximum number of jailed tool units"),
    max_processes: limit(16).default(DEFAULTS.sandbox.max_processes)
      .describe("Processes of a session's commands together; 0 for no limit"),
    max_memory_mb: limit(64).optional().describe(
      "Memory of a session's commands together; unset: half of the machine's; 0 for no limit",
    ),
    max_open_files: limit(64).default(DEFAULTS.sandbox.max_open_files)
      .describe("Open files of each process; 0 for no limit"),
    max_file_mb: limit(1).default(DEFAULTS.sandbox.max_file_mb)
      .describe("Size of each file that a command writes; 0 for no limit"),
    max_tmp_mb: limit(16).default(DEFAULTS.sandbox.max_tmp_mb)
      .describe("Size of the /tmp of a session's commands; 0 for no limit"),
    max_cache_mb: limit(16).default(DEFAULTS.sandbox.max_cache_mb)
      .describe("Size of the caches of a directory's commands; 0 for no limit"),
  }).prefault({}),
  models: z.record(z.string(), modelEntrySchema()).superRefine(requireKinds).default({}),
  prices: z.record(z.string(), price).default({})
    .describe("USD per million tokens, by model id; overrides the catalogue"),
  log: z.strictObject({
    level: z.enum(["debug", "info", "warn", "error"]).default(DEFAULTS.log.level)
      .describe("The least important messages in the log"),
  }).prefault({}),
});
