/** The flags of `svc serve` for hired tasks. */
import { urlHost } from "../base/url_host.ts";
import type { HireOptions } from "../features/hire/listener.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { HIRE_FLAGS, type SERVE } from "./table/serve_spec.ts";

const DEFAULT_ADDR = ":8440";
const TIMEOUT_MAX_MS = 2 ** 31 - 1;
/** Hosts that only this machine reaches. */
export const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/**
 * Returns the options for hired tasks, if they are accepted.
 *
 * @param tokens the tokens of SVC_SERVE_TOKENS.
 * @throws {UsageError} for an invalid value, or an address that is open to everyone.
 */
export function hireOptions(
  { flags, given }: Input<typeof SERVE>,
  tokens: readonly string[],
): HireOptions | undefined {
  if (!flags["enable-agent-routes"]) {
    const alone = given.find((name) => name in HIRE_FLAGS);
    if (alone === undefined) return undefined;
    throw new UsageError(`--${alone} requires --enable-agent-routes`);
  }
  const { hostname, port } = listenAddress("--addr", flags.addr ?? DEFAULT_ADDR);
  if (!LOOPBACK.test(hostname) && tokens.length === 0 && !flags.insecure) {
    throw new UsageError(
      `anyone who can reach ${hostname}:${port} could hire this agent`,
      "set SVC_SERVE_TOKENS, or pass --insecure",
    );
  }
  return {
    hostname,
    port,
    timeout_ms: timeout(flags["task-timeout"]),
    caps: flags.caps,
    allow_private: flags["allow-private"],
    public_url: publicUrl(flags["public-url"]),
  };
}

/** Reads the address of a listener. @throws {UsageError} naming the flag. */
export function listenAddress(flag: string, addr: string): { hostname: string; port: number } {
  const [, bracketed, plain, digits] = addr.match(/^(?:\[([^\]]+)\]|([^:[\]]*)):(\d+)$/) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) {
    throw new UsageError(`invalid value "${addr}" for ${flag}: expected host:port or :port`);
  }
  // Without a host it is loopback: clients from outside come through a proxy.
  const hostname = bracketed ?? (plain || "127.0.0.1");
  return { hostname: hostname === "localhost" ? "127.0.0.1" : hostname, port };
}

function timeout(ms: number): number {
  if (ms >= 1 && ms <= TIMEOUT_MAX_MS) return ms;
  throw new UsageError("--task-timeout must be from 1ms to 24 days, such as 90s, 10m or 1h");
}

function publicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new UsageError(
      `invalid value "${text}" for --public-url: expected an http or https address`,
    );
  }
  return url.href.replace(/\/+$/, "");
}

/** Prints where tasks are accepted for hire, and warns if anyone can hire. */
export function announceHire(
  { hostname, port }: HireOptions,
  tokens: readonly string[],
  { "emit-port-stdout": as_json }: Input<typeof SERVE>["flags"],
): void {
  const url = `http://${urlHost(hostname)}:${port}/`;
  if (as_json) console.log(JSON.stringify({ event: "agent.listening", url, port }));
  else console.log(`accepting tasks for hire at ${url}api/task`);
  if (tokens.length > 0) return;
  console.error(
    `svc: SVC_SERVE_TOKENS is empty, so anyone who can reach ${url} can hire; use this for development only`,
  );
}
