/** Classifies internet addresses. */
import ipaddr from "ipaddr.js";

/** Public IPv6; all other ranges are reserved or local. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");

/** Azure's host agent: it looks public, but only answers inside a machine. */
const AZURE_HOST = "168.63.129.16";

/**
 * Whether an address is public, by IANA's special-purpose registries. Never true for IPv6 that
 * carries IPv4 (mapped, translated, 6to4, Teredo): a router decides where it leads.
 *
 * @param address dotted decimal or IPv6, without a port or brackets
 */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  if (!ipaddr.isValid(plain)) return false;
  const parsed = ipaddr.parse(plain);
  if (parsed.range() !== "unicast" || parsed.toString() === AZURE_HOST) return false;
  return parsed.kind() === "ipv4" || parsed.match(GLOBAL_IPV6);
}

/** Whether an address is this machine: loopback or unspecified, also mapped into IPv6. */
export function isOwnAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  if (!ipaddr.isValid(plain)) return false;
  const parsed = ipaddr.process(plain);
  // 0.0.0.0/8 and :: reach this machine; ::7f00:1 is an obsolete form of 127.0.0.1.
  return ["loopback", "unspecified"].includes(parsed.range()) ||
    (parsed.kind() === "ipv6" && parsed.match(ipaddr.parseCIDR("::/96")));
}

/**
 * Addresses of instance metadata outside the link-local range: Azure, Alibaba, Oracle, then AWS,
 * Google and Scaleway in IPv6.
 */
const METADATA = [
  ...[AZURE_HOST, "100.100.100.200", "192.0.0.192"],
  ...["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42"],
].map((address) => ipaddr.parse(address).toNormalizedString());

/** Names of metadata hosts, for when a proxy resolves them. */
const METADATA_NAMES = ["metadata", "metadata.google.internal", "metadata.goog"];

/** Follows the host in an error. */
export const METADATA_REFUSED =
  "is a cloud metadata address, which hands out this machine's credentials";

/** IPv6 ranges translated to IPv4: NAT64 and 6to4. */
const TRANSLATED: readonly { prefix: string; at: number }[] = [
  { prefix: "64:ff9b::/96", at: 12 },
  { prefix: "64:ff9b:1::/48", at: 12 },
  { prefix: "2002::/16", at: 2 },
];

/**
 * Whether a host serves instance metadata, which hands out credentials.
 *
 * @param host a name, or an address without brackets
 */
export function isMetadataHost(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  const plain = name.replace(/%.*$/, "");
  if (!ipaddr.isValid(plain)) {
    return METADATA_NAMES.includes(name) || name.endsWith(".metadata.google.internal");
  }
  const parsed = ipaddr.process(plain);
  const bytes = parsed.toByteArray();
  const translated = parsed.kind() === "ipv6"
    ? TRANSLATED.find(({ prefix }) => parsed.match(ipaddr.parseCIDR(prefix)))
    : undefined;
  if (translated !== undefined) {
    return isMetadataHost(bytes.slice(translated.at, translated.at + 4).join("."));
  }
  return parsed.range() === "linkLocal" || METADATA.includes(parsed.toNormalizedString());
}
