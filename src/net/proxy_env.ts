/** What the environment says about proxies. */
import type { Env } from "../os/paths.ts";

const NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
/** Hosts on this machine, which no proxy can reach: models, tool servers, the daemon. */
const HERE = ["localhost", "127.0.0.0/8", "::1"];

/** Whether the environment names a proxy that fetches for this program. */
export function goesThroughProxy(env: Env): boolean {
  return NAMES.flatMap((name) => [name, name.toLowerCase()]).some((name) => Boolean(env(name)));
}

/**
 * Has all requests to this machine go there directly, whatever proxy is set. To be called before the
 * first request, which reads the environment.
 */
export function reachThisMachineDirectly(env: Pick<typeof Deno.env, "get" | "set">): void {
  if (!goesThroughProxy((name) => env.get(name))) return;
  const direct = directHosts(env.get("no_proxy") ?? env.get("NO_PROXY") ?? "");
  for (const name of ["NO_PROXY", "no_proxy"]) env.set(name, direct);
}

/**
 * Returns a list of hosts without a proxy, with those of this machine. Commas or blanks stand between
 * the hosts, as for curl.
 */
export function directHosts(listed: string): string {
  const hosts = listed.split(/[\s,]+/).filter((host) => host !== "");
  return [...hosts, ...HERE.filter((host) => !hosts.includes(host))].join(",");
}
