/**
 * Heads of requests to a proxy (RFC 9112). Parsing is strict: it refuses everything that a server
 * could read differently.
 */

export interface ProxyRequest {
  method: string;
  target: string;
  version: string;
  /** In order, with lower case names. */
  headers: readonly (readonly [name: string, value: string])[];
}

export const HEAD_MAX = 16 * 1024;

/** Parses a head with its final empty line; undefined if invalid. */
export function parseHead(bytes: Uint8Array): ProxyRequest | undefined {
  // One character per byte: servers may decode differently.
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

/** Bytes of content after a head; undefined if unclear or unknown. */
export function contentLength({ headers }: ProxyRequest): number | undefined {
  if (headers.some(([name]) => name === "transfer-encoding")) return undefined;
  const lengths = headers.filter(([name]) => name === "content-length").map(([, value]) => value);
  if (lengths.length === 0) return 0;
  return lengths.length === 1 && /^[0-9]{1,15}$/.test(lengths[0]) ? Number(lengths[0]) : undefined;
}

/** Headers for the proxy or a single connection. */
const FOR_ONE_HOP = new Set([
  ...["connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate"],
  ...["te", "trailer", "upgrade", "host"],
]);

/** The head for the server, for one request per connection. */
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
