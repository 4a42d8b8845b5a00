/** The loopback addresses that this machine has. */
import { noted } from "./lacking.ts";
import { granted } from "./permissions.ts";

/** Whether a test can listen at `::1`. */
export const has_ipv6 = granted("net") && noted(canListen("::1"), "IPv6");

/** The loopback addresses of both families, or of the one that there is. */
export const LOOPBACKS: readonly string[] = has_ipv6 ? ["127.0.0.1", "::1"] : ["127.0.0.1"];

/** The same as the tables of listeners in `/proc/net` have them. */
export const LISTED_LOOPBACKS: readonly string[] = ["0100007F", "00000000000000000000000001000000"]
  .slice(0, LOOPBACKS.length);

function canListen(hostname: string): boolean {
  try {
    Deno.listen({ hostname, port: 0 }).close();
    return true;
  } catch {
    return false;
  }
}
