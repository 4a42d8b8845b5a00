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

/**
 * Where clouds and container platforms tell a machine its own secrets, besides the link-local range:
 * Azure, Alibaba, Oracle, then AWS, Google and Scaleway in IPv6.
 */
const METADATA = [
  ...[AZURE_HOST, "100.100.100.200", "192.0.0.192"],
  ...["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42"],
].map((address) => ipaddr.parse(address).toNormalizedString());

/** Names that such places have, for where somebody else resolves them. */
const METADATA_NAMES = ["metadata", "metadata.google.internal", "metadata.goog"];

/** Why nothing is fetched from such a place, after its name. */
export const METADATA_REFUSED =
  "is a cloud metadata address, which hands out this machine's credentials";

/** What translates to IPv4 on the way: NAT64 and 6to4. */
const TRANSLATED: readonly { prefix: string; at: number }[] = [
  { prefix: "64:ff9b::/96", at: 12 },
  { prefix: "64:ff9b:1::/48", at: 12 },
  { prefix: "2002::/16", at: 2 },
];

/**
 * Whether a host is one that only serves the machine itself, such as the instance metadata of a
 * cloud, which hands out credentials. No page that anyone wants is there.
 *
 * @param host a name, or an address without brackets.
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
