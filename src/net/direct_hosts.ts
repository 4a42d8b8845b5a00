/** Hosts to reach without the environment's proxy. */

/** This machine, which no proxy can reach: models, tool servers, the daemon. */
const HERE = ["localhost", "127.0.0.0/8", "::1"];

/** Bypasses proxies for this machine. Call it before the first request reads the environment. */
export function reachThisMachineDirectly(env: Pick<typeof Deno.env, "get" | "set">): void {
  const direct = directHosts(env.get("no_proxy") ?? env.get("NO_PROXY") ?? "");
  for (const name of ["NO_PROXY", "no_proxy"]) env.set(name, direct);
}

/**
 * Adds this machine to a list of hosts without a proxy. Commas or blanks separate the hosts, and
 * case does not matter, as in curl; Deno compares in lower case.
 */
export function directHosts(listed: string): string {
  const hosts = listed.toLowerCase().split(/[\s,]+/).filter((host) => host !== "");
  return [...hosts, ...HERE.filter((host) => !hosts.includes(host))].join(",");
}
