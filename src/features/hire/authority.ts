/**
 * The address to which a request was sent. Clients can put anything into Host or the target, so
 * text for others, such as the agent card, uses it only for an address of this machine.
 */
import ipaddr from "ipaddr.js";
import { urlHost } from "../../base/url_host.ts";

/** A host with an optional port, as in Host. */
const AUTHORITY = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * Returns the authority of a request; undefined if Host is invalid, or the target names another
 * host.
 */
export function authorityOf({ headers, url }: Pick<Request, "headers" | "url">) {
  const target = new URL(url);
  const host = headers.get("host");
  if (host === null) return target.host;
  if (!AUTHORITY.test(host)) return undefined;
  if (host === target.host) return host;
  const named = URL.parse(`http://${host}`)?.host;
  return named === target.host ? named : undefined;
}

export interface ListenerAddress {
  /** The bound address, which may be the wildcard address. */
  hostname: string;
  port: number;
  /** This machine's name. */
  machine: string;
}

/**
 * Returns how clients reach a listener: the request's address, if it belongs to this machine or its
 * local network, else the listener's own.
 *
 * @param authority from {@linkcode authorityOf}
 */
export function reachedAt(authority: string, own: ListenerAddress): string {
  const { hostname, port } = new URL(`http://${authority}`);
  const is_own_port = Number(port || 80) === own.port;
  if (is_own_port && isOwnName(hostname, own)) return `http://${authority}`;
  return `http://${urlHost(reachable(own.hostname))}:${own.port}`;
}

const LOCAL_RANGES = ["loopback", "private", "uniqueLocal", "linkLocal", "carrierGradeNat"];

function isOwnName(hostname: string, own: ListenerAddress): boolean {
  const machine = own.machine.toLowerCase();
  const plain = hostname.replace(/^\[|\]$/g, "");
  const names = ["localhost", own.hostname.toLowerCase(), machine, `${machine}.local`];
  if (names.includes(plain)) return true;
  return ipaddr.isValid(plain) && LOCAL_RANGES.includes(ipaddr.process(plain).range());
}

/** Returns an address of this machine for a listener on the wildcard address. */
function reachable(hostname: string): string {
  return { "0.0.0.0": "127.0.0.1", "::": "::1" }[hostname] ?? hostname;
}
