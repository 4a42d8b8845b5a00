/**
 * The head of a request to a proxy (RFC 9112), read strictly: what servers could understand in
 * another way is refused, so that nobody sees another request than the proxy did.
 */

/** A request to a proxy. */
export interface ProxyRequest {
  method: string;
  target: string;
  version: string;
  /** In their order, with names in lower case. */
  headers: readonly (readonly [name: string, value: string])[];
}

/** The most bytes of a head. */
export const HEAD_MAX = 16 * 1024;

/** Reads a head with the empty line at its end; undefined for what is not one. */
export function parseHead(bytes: Uint8Array): ProxyRequest | undefined {
  // Each byte is one character: nothing is decoded that a server would decode in another way.
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  if (!text.endsWith("\r\n\r\n")) return undefined;
  const [first, ...lines] = text.slice(0, -4).split("\r\n");
  const line = /^([A-Z]{1,20}) ([!-~]{1,8192}) (HTTP\/1\.[01])$/.exec(first);
  if (line === null) return undefined;
  const headers: [string, string][] = [];
  for (const each of lines) {
    const match =
      /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[\t\x20-\x7e\x80-\xff]*[!-~\x80-\xff])?)[ \t]*$/
        .exec(each);
    if (match === null) return undefined;
    headers.push([match[1].toLowerCase(), match[2]]);
  }
  return { method: line[1], target: line[2], version: line[3], headers };
}

/** How many bytes of content follow a head; undefined where that is not clear, or not known yet. */
export function contentLength({ headers }: ProxyRequest): number | undefined {
  if (headers.some(([name]) => name === "transfer-encoding")) return undefined;
  const lengths = headers.filter(([name]) => name === "content-length").map(([, value]) => value);
  if (lengths.length === 0) return 0;
  return lengths.length === 1 && /^[0-9]{1,15}$/.test(lengths[0]) ? Number(lengths[0]) : undefined;
}

/** What is for the proxy alone, or for one connection. */
const FOR_ONE_HOP = new Set([
  ...["connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate"],
  ...["te", "trailer", "upgrade", "host"],
]);

/** The head for the server: one request on a connection of its own. */
export function forwardedHead(
  { method, headers }: ProxyRequest,
  path: string,
  host: string,
): Uint8Array {
  const named = headers.filter(([name]) => name === "connection")
    .flatMap(([, value]) => value.toLowerCase().split(",").map((it) => it.trim()));
  const kept = headers.filter(([name]) =>
    !FOR_ONE_HOP.has(name) && (!named.includes(name) || name === "content-length")
  );
  const lines = [["host", host], ...kept, ["connection", "close"]]
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return Uint8Array.from(
    `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`,
    (character) => character.charCodeAt(0),
  );
}
