/** The flags of `svc serve` that are about hired tasks. */
import type { HireOptions } from "../features/hire/listener.ts";
import { parseDuration } from "../base/duration.ts";
import { nearestOf } from "../base/nearest.ts";
import { TASK_TYPES } from "../features/tasks/task.ts";
import { type Flags, UsageError } from "./args.ts";

export const HIRE_FLAGS = {
  boolean: ["enable-agent-routes", "insecure", "allow-private"],
  string: ["task-timeout", "caps", "public-url"],
};

export const HIRE_HELP =
  `  --enable-agent-routes   also take tasks for hire, on a listener of their own; then
  --addr <host:port>      is that listener's address, :8440 by default (127.0.0.1)
  --task-timeout <time>   what one task may take, such as 90s, 10m or 1h; 10m by default
  --caps <types>          the task types that are offered, comma-separated; all by default
  --public-url <url>      how clients reach the listener, where a proxy stands before it
  --insecure              listen on an address of the network though SVC_SERVE_TOKENS is empty
  --allow-private         let hired tasks reach loopback and private addresses`;

const DEFAULT_ADDR = ":8440";
const DEFAULT_TIMEOUT = "10m";
const TIMEOUT_MAX_MS = 2 ** 31 - 1;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/**
 * Reads the flags.
 *
 * @param tokens of SVC_SERVE_TOKENS.
 * @returns undefined when no tasks are taken for hire.
 * @throws {UsageError} for a value that will not do, or an address that would be open to everyone.
 */
export function hireOptions(
  { boolean, string }: Flags,
  tokens: readonly string[],
): HireOptions | undefined {
  if (!boolean["enable-agent-routes"]) {
    const given = [
      ...HIRE_FLAGS.boolean.filter((name) => boolean[name]),
      ...HIRE_FLAGS.string.filter((name) => string[name] !== undefined),
    ];
    if (given.length === 0) return undefined;
    throw new UsageError(`--${given[0]} goes with --enable-agent-routes only`);
  }
  const { hostname, port } = address(string.addr ?? DEFAULT_ADDR);
  if (!LOOPBACK.test(hostname) && tokens.length === 0 && !boolean.insecure) {
    throw new UsageError(
      `everyone who reaches ${hostname}:${port} could hire: set SVC_SERVE_TOKENS, or give --insecure`,
    );
  }
  return {
    hostname,
    port,
    timeout_ms: timeout(string["task-timeout"] ?? DEFAULT_TIMEOUT),
    caps: parseCaps(string.caps),
    allow_private: boolean["allow-private"] ?? false,
    public_url: publicUrl(string["public-url"]),
  };
}

function address(addr: string): { hostname: string; port: number } {
  const [, bracketed, plain, digits] = addr.match(/^(?:\[([^\]]+)\]|([^:[\]]*)):(\d+)$/) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) {
    throw new UsageError(`--addr takes host:port or :port, got "${addr}"`);
  }
  // Without a host it is this machine's own: who is to reach it from outside comes through a proxy.
  const hostname = bracketed ?? (plain || "127.0.0.1");
  return { hostname: hostname === "localhost" ? "127.0.0.1" : hostname, port };
}

function timeout(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1 && ms <= TIMEOUT_MAX_MS) return ms;
  throw new UsageError(`--task-timeout takes a duration such as 90s, 10m or 1h, got "${text}"`);
}

function publicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new UsageError(`--public-url takes an http or https address, got "${text}"`);
  }
  return url.href.replace(/\/+$/, "");
}

/** Reads `--caps`; all types by default. @throws {UsageError} naming what is no type of task. */
export function parseCaps(csv: string | undefined): string[] {
  if (csv === undefined) return [...TASK_TYPES];
  const types = csv.split(",").map((it) => it.trim()).filter((it) => it !== "");
  const unknown = types.find((it) => !(TASK_TYPES as readonly string[]).includes(it));
  if (unknown !== undefined) {
    const nearest = nearestOf(unknown, TASK_TYPES);
    const hint = nearest ? `did you mean "${nearest}"?` : `known: ${TASK_TYPES.join(", ")}`;
    throw new UsageError(`--caps: there is no task type "${unknown}"; ${hint}`);
  }
  return types.length > 0 ? [...new Set(types)] : [...TASK_TYPES];
}

/** Reads a comma-separated list, as SVC_SERVE_TOKENS is one. */
export function parseTokens(list: string | undefined): string[] {
  return [...new Set((list ?? "").split(",").map((it) => it.trim()).filter((it) => it !== ""))];
}
