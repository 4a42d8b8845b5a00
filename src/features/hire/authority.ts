/**
 * Which address a request was sent to. A client puts into Host, or into the target of its request,
 * what it likes: what others read, such as the agent card, is made of it only where it is an address
 * of this machine.
 */
import ipaddr from "ipaddr.js";

/** A host and perhaps a port, as Host has them. */
const AUTHORITY = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * The authority that a request is for.
 *
 * @returns `undefined` when Host is not one, or the request's target names another.
 */
export function authorityOf({ headers, url }: Pick<Request, "headers" | "url">) {
  const target = new URL(url);
  const host = headers.get("host");
  if (host === null) return target.host;
  if (!AUTHORITY.test(host)) return undefined;
  const named = URL.parse(`http://${host}`)?.host;
  return named === target.host ? named : undefined;
}

/** Where a listener is. */
export interface ListenerAddress {
  /** As it was bound, perhaps to every address. */
  hostname: string;
  port: number;
  /** The name of this machine. */
  machine: string;
}

/**
 * How clients reach a listener: at the address that a request was sent to, where that is one of this
 * machine or of its local network, else at the listener's own.
 *
 * @param authority what {@linkcode authorityOf} gave.
 */
export function reachedAt(authority: string, own: ListenerAddress): string {
  const { hostname, port } = new URL(`http://${authority}`);
  const is_own_port = Number(port || 80) === own.port;
  if (is_own_port && isOwnName(hostname, own)) return `http://${authority}`;
  return `http://${bracketed(reachable(own.hostname))}:${own.port}`;
}

const LOCAL_RANGES: ReadonlySet<string> = new Set([
  ...["loopback", "private", "uniqueLocal", "linkLocal", "carrierGradeNat"],
]);

function isOwnName(hostname: string, own: ListenerAddress): boolean {
  const machine = own.machine.toLowerCase();
  const plain = hostname.replace(/^\[|\]$/g, "");
  const names = ["localhost", own.hostname.toLowerCase(), machine, `${machine}.local`];
  if (names.includes(plain)) return true;
  return ipaddr.isValid(plain) && LOCAL_RANGES.has(ipaddr.process(plain).range());
}

/** An address of this machine at which a listener on every address is reached. */
function reachable(hostname: string): string {
  return { "0.0.0.0": "127.0.0.1", "::": "::1" }[hostname] ?? hostname;
}

function bracketed(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}
