/** Random HTTP requests that are not, or hardly, HTTP, and what may be answered to them. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Random } from "../../support/random.ts";

/** Whom the requests go to. */
export interface Target {
  port: number;
  token: string;
}

const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "FOO", "get"];
const PATHS = [
  "/",
  "/v1/health",
  "/v1/rpc",
  "/v1/sessions",
  "/v1/sessions?include_ended=true&__proto__=1&constructor=2",
  "/v1/sessions/sess_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "/v1/sessions/sess_01ARZ3NDEKTSV4RRFFQ69G5FAV/events?since_seq=1",
  "/v1/sessions/__proto__/messages",
  "/v1/sessions/%ff%zz",
  "/v1/sessions/%00",
  "/v1/sessions/..%2f..%2fetc",
  "/v1/../v1/health",
  "//evil.example/v1/health",
  "/v1/ws",
  "*",
  "http://evil.example/v1/sessions",
  "http://[::1/",
  "http://",
  "\\v1\\health",
  "@evil/",
  "/\u00ff",
  "/a b",
  `/${"a".repeat(70_000)}`,
  "/#fragment",
  "/?",
  "",
];
const VERSIONS = [
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.0",
  "HTTP/2.0",
  "HTTP/0.9",
  "HTP/1",
  "",
];
const HEADERS = [
  "Expect: 100-continue",
  "Expect: nonsense",
  "Connection: close",
  "Connection: Host, Authorization",
  "Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
  "Upgrade: websocket",
  "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding:\u000bchunked",
  "Content-Length: 0",
  "Content-Length: 4",
  "Content-Length: +4",
  "Content-Length: 0x4",
  "Content-Length: 4, 4",
  "Content-Length: -1",
  "Content-Length: 99999999999999999999",
  "Content-Encoding: gzip",
  "Content-Type: application/json",
  "Content-Type: application/json; charset=utf-7",
  "Host: evil.example",
  "Host:",
  "Origin: null",
  "Origin: https://evil.example",
  "Authorization: Bearer",
  "Authorization: Bearer x y",
  "X-Fold: a\r\n b",
  "X-Bare: a\rb",
  "X-Nul: a\0b",
  "X-Bytes: \u00ff\u00fe",
  ": empty",
  "No colon",
  "X-Forwarded-Host: evil.example\r\nX-Original-URL: /v1/discover",
  "X-HTTP-Method-Override: DELETE",
  "Last-Event-ID: -1",
  "Range: bytes=0-0,-1",
  `X-Large: ${"a".repeat(20_000)}`,
  Array.from({ length: 200 }, (_, n) => `X-${n}: y`).join("\r\n"),
];
const BODIES = [
  "",
  "{}",
  "[]",
  '{"workdir":7}',
  '{"jsonrpc":"2.0","id":1,"method":"daemon.health"}',
  "2\r\n{}\r\n0\r\n\r\n",
  "2;ext=\u0001\r\n{}\r\n0\r\nX-Trailer: a\r\n\r\n",
  "zz\r\n{}\r\n0\r\n\r\n",
  "ffffffffffffffffff\r\n{}\r\n",
  "-2\r\n{}\r\n0\r\n\r\n",
  "2\r\n{}0\r\n\r\n",
  "0\r\n\r\nGET /v1/discover HTTP/1.1\r\nHost: evil.example\r\n\r\n",
  "\0\0\0\0",
];

/** The bytes of a connection, one character each. */
export function httpText(random: Random, target: Target): string {
  let text = request(random, target);
  while (random.chance(0.15)) text += request(random, target);
  for (let left = random.pick([0, 0, 1, 1, 3]); left > 0; left--) {
    const at = random.below(text.length);
    const put = random.pick([
      "\r",
      "\n",
      "\r\n",
      "\0",
      " ",
      ":",
      "\t",
      "\u0080",
      "\u00ff",
      "HTTP/1.1",
    ]);
    text = text.slice(0, at) + (random.chance(0.7) ? put : "") +
      text.slice(at + (random.chance(0.5) ? 1 : 0));
  }
  return random.chance(0.1) ? text.slice(0, random.below(text.length)) : text;
}

function request(random: Random, { port, token }: Target): string {
  if (random.chance(0.03)) {
    return String.fromCharCode(...Array.from({ length: 200 }, () => random.below(256)));
  }
  const lines = [`${random.pick(METHODS)} ${random.pick(PATHS)} ${random.pick(VERSIONS)}`];
  if (random.chance(0.9)) lines.push(`Host: 127.0.0.1:${port}`);
  if (random.chance(0.7)) lines.push(`Authorization: Bearer ${token}`);
  while (random.chance(0.6)) lines.push(random.pick(HEADERS));
  const body = random.pick(BODIES);
  if (random.chance(0.5)) lines.push(`Content-Length: ${body.length}`);
  const newline = random.chance(0.95) ? "\r\n" : "\n";
  return [...lines, "", ""].join(newline) + body;
}

/** What an answer that begins like this says. */
export interface Answered {
  status: number;
  headers: Headers;
  body: string;
}

/** Holds everything that came back over a connection against what may come. */
export function checkHttp(sent: string, received: string, token: string): Answered[] {
  // The server's side of HTTP/2, to which no request was made.
  if (received.startsWith("\0\0")) return [];
  const answers: Answered[] = [];
  for (let rest = received; rest !== "";) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) break;
    const [first, ...lines] = rest.slice(0, end).split("\r\n");
    assertMatch(first, /^HTTP\/1\.[01] \d{3}/, "what comes back is HTTP");
    const status = Number(first.split(" ")[1]);
    const headers = new Headers(lines.map((line) => line.split(/:\s*(.*)/, 2) as [string, string]));
    const length = Number(headers.get("content-length") ?? 0);
    // An answer to HEAD names a length and has no body.
    let body = rest.slice(end + 4, end + 4 + length);
    if (body.startsWith("HTTP/1.")) body = "";
    rest = rest.slice(end + 4 + body.length);
    if (headers.get("transfer-encoding") !== null || status === 101) rest = "";
    answers.push({ status, headers, body });
    checkAnswer(sent, { status, headers, body }, token);
  }
  return answers;
}

function checkAnswer(sent: string, { status, headers, body }: Answered, token: string): void {
  assert(status < 500 || status === 501, `${status} ${body}`);
  assert(status !== 101 || sent.includes(token), "no upgrade without the token");
  assert(!body.includes(token) || sent.includes("/v1/discover"), "the token is not said");
  assertEquals(headers.get("x-injected"), null);
  if (status < 400 || body === "") return;
  assertEquals(headers.get("content-type"), "application/json");
  assertEquals(headers.get("x-content-type-options"), "nosniff");
  if (body.length < Number(headers.get("content-length"))) return;
  const { error, ...others } = JSON.parse(body);
  assertEquals(others, {});
  assertMatch(error.code, /^[a-z_]+$/);
  assert(error.code !== "internal" && typeof error.message === "string");
}
