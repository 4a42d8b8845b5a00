/** Which hosts commands may connect to: the entries of a list, and the hosts that clients name. */
import { urlHost } from "../base/url_host.ts";

/** One entry of a list. */
export interface AllowedHost {
  /** In lower case; a leading `*.` stands for any subdomain. IPv6 without brackets. */
  host: string;
  /** Without it, the usual ports. */
  port?: number;
}

/** Where a client wants to connect to. */
export interface Destination {
  /** A name in lower case without a dot at its end, or an address in its usual form. */
  host: string;
  port: number;
}

/** The ports of HTTP and HTTPS. */
const USUAL_PORTS = [80, 443];
const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/;
const IPV4 = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/**
 * Reads an entry: `HOST`, `*.HOST` or an address, perhaps with `:PORT`.
 *
 * @throws {Error} saying what is wrong with it.
 */
export function parseAllowedHost(text: string): AllowedHost {
  const wild = text.startsWith("*.");
  const found = parseAuthority(wild ? text.slice(2) : text);
  if (found === undefined || (wild && isAddress(found.host))) {
    throw new Error(
      `${JSON.stringify(text.slice(0, 80))} is not a host such as "example.com", ` +
        '"*.example.com", "example.com:8443" or "127.0.0.1:4873"',
    );
  }
  const { host, port } = found;
  if (port === undefined && isExact(host)) {
    throw new Error(`${JSON.stringify(text)} is an address or this machine: name the port as well`);
  }
  return { host: wild ? `*.${host}` : host, ...(port !== undefined && { port }) };
}

/**
 * Reads a host and perhaps a port as clients write them. Only one way to write an address counts:
 * others, such as decimal numbers, programs read differently.
 *
 * @returns undefined for anything else, such as a user name before the host.
 */
export function parseAuthority(text: string): { host: string; port?: number } | undefined {
  const match = /^(\[[0-9A-Fa-f:.]{2,45}\]|[^\[\]:@/\\?#\s]{1,254})(?::([1-9][0-9]{0,4}))?$/.exec(
    text,
  );
  if (match === null) return undefined;
  const host = parseHost(match[1]);
  const port = match[2] === undefined ? undefined : Number(match[2]);
  if (host === undefined || (port !== undefined && port > 65_535)) return undefined;
  return { host, port };
}

/** Reads a host as {@linkcode parseAuthority} does; IPv6 with or without brackets. */
export function parseHost(text: string): string | undefined {
  if (text.includes(":")) {
    const [, bare] = /^\[?([0-9A-Fa-f:.]+)\]?$/.exec(text) ?? [];
    const url = bare === undefined ? null : URL.parse(`http://[${bare}]`);
    return url === null ? undefined : url.hostname.slice(1, -1);
  }
  const name = text.toLowerCase().replace(/\.$/, "");
  if (IPV4.test(name)) return name;
  // What ends in a number is an address to some programs: 127.1, 0x7f000001, 2130706433.
  const [last] = name.split(".").reverse();
  return NAME.test(name) && !/^(\d+|0x[0-9a-f]*)$/.test(last) ? name : undefined;
}

/** A destination, as people write it. */
export function shownHost({ host, port }: Destination): string {
  return `${urlHost(host)}:${port}`;
}

/** Returns the entry that allows this destination only. */
export function entryFor({ host, port }: Destination): string {
  const bare = urlHost(host);
  return USUAL_PORTS.includes(port) && !isExact(host) ? bare : `${bare}:${port}`;
}

/** Whether an entry allows a destination. */
export function allowsHost(entry: AllowedHost, { host, port }: Destination): boolean {
  const ports = entry.port === undefined ? USUAL_PORTS : [entry.port];
  if (!ports.includes(port)) return false;
  return entry.host.startsWith("*.") ? host.endsWith(entry.host.slice(1)) : host === entry.host;
}

/** Whether a host is written as an address. */
export function isAddress(host: string): boolean {
  return host.includes(":") || IPV4.test(host);
}

/** Whether a host is this machine by its name (RFC 6761). */
export function isOwnName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/**
 * Whether a host is one that nobody looks up: an address, or this machine. Entries name it with its
 * port, and so may name what is not on the internet.
 */
export function isExact(host: string): boolean {
  return isAddress(host) || isOwnName(host);
}
