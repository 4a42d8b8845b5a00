/** Proxies in the environment. */
import type { Env } from "../os/paths.ts";

const NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** Whether the environment names a proxy for this program. */
export function goesThroughProxy(env: Env): boolean {
  return NAMES.flatMap((name) => [name, name.toLowerCase()]).some((name) => Boolean(env(name)));
}
