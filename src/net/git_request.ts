/** Requests of git's smart HTTP protocol (gitprotocol-http); everything else is refused. */
import type { ProxyRequest } from "./http_head.ts";

export interface GitRequest {
  service: "git-upload-pack" | "git-receive-pack";
  /** The path of the repository, from its first slash. */
  repository: string;
  body: RequestBody;
}

/** Bytes of the content, or that it comes in chunks. */
export type RequestBody = number | "chunked";

const PATH_MAX = 300;
const SERVICES = "git-upload-pack|git-receive-pack";
const ASKS = new RegExp(`^(/.+)/info/refs\\?service=(${SERVICES})$`);
const SENDS = new RegExp(`^(/.+)/(${SERVICES})$`);
/**
 * Names that every server reads alike: nothing that one would decode, drop or resolve. Spaces are
 * in addresses of Azure DevOps.
 */
const REPOSITORY = /^(?:\/(?!\.{1,2}(?:\/|$))(?:[A-Za-z0-9._~+@-]|%20)+)+$/;

/** Parses a request. @param target its path and query. @returns the reason if it is not git's */
export function parseGitRequest(request: ProxyRequest, target: string): GitRequest | string {
  const { method, headers } = request;
  const asks = method === "GET" ? ASKS.exec(target) : null;
  const sends = method === "POST" ? SENDS.exec(target) : null;
  const [, repository, service] = asks ?? sends ?? [];
  if (repository === undefined) return "it is not a fetch or a push of git over HTTP";
  if (repository.length > PATH_MAX || !REPOSITORY.test(repository)) {
    return "the path of the repository is not plain: letters, digits and . _ ~ + @ - only";
  }
  const body = bodyOf(request);
  if (body === undefined || (asks !== null && body !== 0)) return "its length is not clear";
  const types = headers.filter(([name]) => name === "content-type").map(([, value]) => value);
  if (sends !== null && types.join() !== `application/x-${service}-request`) {
    return "its content is not git's";
  }
  return { service: service as GitRequest["service"], repository, body };
}

/** Undefined if it is unclear where the content ends. */
function bodyOf({ headers, version }: ProxyRequest): RequestBody | undefined {
  const all = (wanted: string) =>
    headers.filter(([name]) => name === wanted).map(([, value]) => value);
  const [codings, lengths] = [all("transfer-encoding"), all("content-length")];
  if (codings.length > 0) {
    const plain = codings.join().toLowerCase() === "chunked" && lengths.length === 0;
    return plain && version === "HTTP/1.1" ? "chunked" : undefined;
  }
  if (lengths.length === 0) return 0;
  return lengths.length === 1 && /^[0-9]{1,15}$/.test(lengths[0]) ? Number(lengths[0]) : undefined;
}

/** What the server needs to know of a request. Everything else stays here, such as a login. */
const SENT = new Set([
  ...["accept", "accept-encoding", "accept-language", "cache-control", "content-encoding"],
  ...["content-type", "git-protocol", "pragma", "user-agent"],
]);

/** Returns the head for the server, for one request on a connection. */
export function gitHead(
  { method, headers }: ProxyRequest,
  { target, host, body, authorization }: {
    target: string;
    host: string;
    body: RequestBody;
    authorization?: string;
  },
): Uint8Array {
  const lines = [
    ["host", host],
    ...headers.filter(([name]) => SENT.has(name)),
    ...(authorization === undefined ? [] : [["authorization", authorization]]),
    ...(method === "GET" ? [] : [lengthOf(body)]),
    ["connection", "close"],
  ].map(([name, value]) => `${name}: ${value}\r\n`);
  return Uint8Array.from(
    `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`,
    (character) => character.charCodeAt(0),
  );
}

function lengthOf(body: RequestBody): [string, string] {
  return body === "chunked" ? ["transfer-encoding", body] : ["content-length", String(body)];
}
