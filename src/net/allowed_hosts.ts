/** Hosts that commands may connect to. */
import { urlHost } from "../base/url_host.ts";

export interface AllowedHost {
  /** Lower case; a leading `*.` means any subdomain. IPv6 without brackets. */
  host: string;
  /** Default: the usual ports. */
  port?: number;
}

export interface Destination {
  /** A lower case name without a final dot, or a canonical address. */
  host: string;
  port: number;
}

/** What a command wants to reach. */
export interface Wanted extends Destination {
  /** The path of a repository to which its git wants to push with the person's credential. */
  push?: string;
}

const USUAL_PORTS = [80, 443];
const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/;
const IPV4 = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Parses `HOST`, `*.HOST` or an address, maybe with `:PORT`. @throws {Error} with the reason */
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
 * Parses a host, maybe with a port. Addresses have one valid form: programs read others, such
 * as decimal numbers, differently. Returns undefined for anything else.
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

/** Parses a host as {@linkcode parseAuthority} does; IPv6 with or without brackets. */
export function parseHost(text: string): string | undefined {
  if (text.includes(":")) {
    const [, bare] = /^\[?([0-9A-Fa-f:.]+)\]?$/.exec(text) ?? [];
    const url = bare === undefined ? null : URL.parse(`http://[${bare}]`);
    return url === null ? undefined : url.hostname.slice(1, -1);
  }
  const name = text.toLowerCase().replace(/\.$/, "");
  if (IPV4.test(name)) return name;
  // Some programs read names that end in a number as addresses: 127.1, 0x7f000001, 2130706433.
  const [last] = name.split(".").reverse();
  return NAME.test(name) && !/^(\d+|0x[0-9a-f]*)$/.test(last) ? name : undefined;
}

export function shownHost({ host, port }: Destination): string {
  return `${urlHost(host)}:${port}`;
}

/** The entry that allows only this destination. */
export function entryFor({ host, port }: Destination): string {
  const bare = urlHost(host);
  return USUAL_PORTS.includes(port) && !isExact(host) ? bare : `${bare}:${port}`;
}

export function allowsHost(entry: AllowedHost, { host, port }: Destination): boolean {
  const ports = entry.port === undefined ? USUAL_PORTS : [entry.port];
  if (!ports.includes(port)) return false;
  return entry.host.startsWith("*.") ? host.endsWith(entry.host.slice(1)) : host === entry.host;
}

export function isAddress(host: string): boolean {
  return host.includes(":") || IPV4.test(host);
}

/** Whether a name means this machine (RFC 6761). */
export function isOwnName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/** Whether a host is an address or this machine. Its entries need a port, and may be local. */
export function isExact(host: string): boolean {
  return isAddress(host) || isOwnName(host);
}
