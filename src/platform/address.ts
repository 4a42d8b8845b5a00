/** Which internet addresses are public. */
import ipaddr from "ipaddr.js";

/** What is assigned to the public internet so far; all else of IPv6 is reserved or local. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");

/** Azure's agent of the host, at an address that looks public and answers inside of a machine only. */
const AZURE_HOST = "168.63.129.16";

/**
 * Whether an address is of a host on the public internet, by the special-purpose registries of IANA.
 * An IPv6 address that carries an IPv4 address (mapped, translated, 6to4, Teredo) never is: where it
 * leads is up to a router.
 *
 * @param address dotted decimal or IPv6, without a port or brackets.
 */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  if (!ipaddr.isValid(plain)) return false;
  const parsed = ipaddr.parse(plain);
  if (parsed.range() !== "unicast" || parsed.toString() === AZURE_HOST) return false;
  return parsed.kind() === "ipv4" || parsed.match(GLOBAL_IPV6);
}

/** Whether an address leads to this machine: loopback, unspecified, also mapped into IPv6. */
export function isOwnAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  if (!ipaddr.isValid(plain)) return false;
  const parsed = ipaddr.process(plain);
  // 0.0.0.0/8 and :: reach this machine; ::7f00:1 is 127.0.0.1 in a form that nobody assigns any more.
  return ["loopback", "unspecified"].includes(parsed.range()) ||
    (parsed.kind() === "ipv6" && parsed.match(ipaddr.parseCIDR("::/96")));
}
