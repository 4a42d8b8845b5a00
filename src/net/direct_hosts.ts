/** Which hosts are reached without the proxy that the environment names. */

/** Hosts on this machine, which no proxy can reach: models, tool servers, the daemon. */
const HERE = ["localhost", "127.0.0.0/8", "::1"];

/**
 * Has all requests to this machine go there directly, although a proxy is set. To be called before the
 * first request, which reads the environment.
 */
export function reachThisMachineDirectly(env: Pick<typeof Deno.env, "get" | "set">): void {
  const direct = directHosts(env.get("no_proxy") ?? env.get("NO_PROXY") ?? "");
  for (const name of ["NO_PROXY", "no_proxy"]) env.set(name, direct);
}

/**
 * Returns a list of hosts without a proxy, with those of this machine. Commas or blanks stand between
 * the hosts and case does not matter, as for curl; Deno compares with names in lower case.
 */
export function directHosts(listed: string): string {
  const hosts = listed.toLowerCase().split(/[\s,]+/).filter((host) => host !== "");
  return [...hosts, ...HERE.filter((host) => !hosts.includes(host))].join(",");
}
