import { assertEquals, assertStringIncludes } from "@std/assert";
import { writeAll } from "../../src/base/write_all.ts";
import { rawHttp } from "../support/raw.ts";
import { assertHttpError, type At, http, Shared, sse } from "./contract_kit.ts";
import { row } from "./row.ts";

const ORIGIN = "http://localhost:5173";
const it = new Shared(`[http]\nallowed_origins = ["${ORIGIN}"]\n`);
const MIB = 1024 * 1024;

function section2(name: string, fn: () => void | Promise<void>) {
  row("contract", "2 every response", name, fn);
}

/** Answers of many kinds, by what they are. */
async function answers(at: At) {
  const { session_id } = await it.session();
  const ended = (await it.session()).session_id;
  const body = (json: unknown) => ({ body: json });
  const workdir = it.workdir();
  const of = (method: string, path: string, options = {}) => http(at, method, path, options);
  return {
    "200": await of("GET", "/v1/sessions"),
    "200 public": await of("GET", "/v1/health", { token: null }),
    "200 openapi": await of("GET", "/v1/openapi.json", { token: null }),
    "200 rpc": await of("POST", "/v1/rpc", body({ jsonrpc: "2.0", id: 1, method: "no.such" })),
    "201": await of("POST", "/v1/sessions", body({ workdir })),
    "202": await of("POST", `/v1/sessions/${session_id}/messages`, body({ text: "help" })),
    "204": await of("DELETE", `/v1/sessions/${ended}`),
    "400": await of("POST", "/v1/sessions", body({})),
    "401": await of("GET", "/v1/sessions", { token: "0".repeat(64) }),
    "403": await of("GET", "/v1/health", { headers: { origin: "http://evil.example" } }),
    "404": await of("GET", "/v1/none"),
    "405": await of("PUT", "/v1/sessions"),
    "410": await of("POST", `/v1/sessions/${ended}/messages`, body({ text: "help" })),
    "413": await of("POST", "/v1/sessions", { text: " ".repeat(8 * MIB + 1) }),
    "415": await of("POST", "/v1/sessions", {
      text: "{}",
      headers: { "content-type": "text/plain" },
    }),
  };
}

section2("every response: nosniff, no-referrer, Vary: Origin", async () => {
  for (const [what, { status, headers }] of Object.entries(await answers(it))) {
    assertEquals(status, Number(what.split(" ")[0]), what);
    assertEquals(headers.get("x-content-type-options"), "nosniff", what);
    assertEquals(headers.get("referrer-policy"), "no-referrer", what);
    assertStringIncludes((headers.get("vary") ?? "").toLowerCase(), "origin", what);
  }
  const path = `/v1/sessions/${(await it.session()).session_id}/events?since_seq=0`;
  const { response } = await sse(it, path, () => true);
  assertEquals(response.headers.get("x-content-type-options"), "nosniff");
  assertEquals(response.headers.get("referrer-policy"), "no-referrer");
  assertStringIncludes((response.headers.get("vary") ?? "").toLowerCase(), "origin");
  const raw = await rawHttp(it.port, "GET", "/v1/health", { host: "evil.example" });
  assertEquals([raw.status, raw.headers.get("x-content-type-options")], [403, "nosniff"]);
});

section2("an Origin that is not allowed gets 403 on any method", async () => {
  const authorization = `Bearer ${it.token}`;
  for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    for (const path of ["/v1/health", "/v1/sessions", "/", "/v1/none"]) {
      for (const origin of ["http://evil.example", "http://127.0.0.1:1", "https://localhost"]) {
        const answer = await rawHttp(it.port, method, path, { origin, authorization });
        assertEquals(answer.status, 403, `${method} ${path} ${origin}`);
        if (method === "HEAD") continue;
        assertEquals(JSON.parse(answer.body).error.code, "permission_denied");
      }
    }
  }
});

section2("no CORS headers are sent except to allowed origins", async () => {
  const allow = "access-control-allow-origin";
  const cors = (headers: Headers) => [...headers.keys()].filter((it) => it.startsWith("access-"));
  for (const origin of [undefined, "http://evil.example", "http://localhost:5174"]) {
    const answer = await rawHttp(it.port, "GET", "/v1/health", { origin });
    assertEquals(cors(answer.headers), [], origin);
  }
  const got = await rawHttp(it.port, "GET", "/v1/health", { origin: ORIGIN });
  assertEquals([got.status, got.headers.get(allow)], [200, ORIGIN]);
  const preflight = await rawHttp(it.port, "OPTIONS", "/v1/sessions", {
    origin: ORIGIN,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, content-type",
  });
  assertEquals([Math.floor(preflight.status / 100), preflight.headers.get(allow)], [2, ORIGIN]);
  assertStringIncludes(preflight.headers.get("access-control-allow-methods") ?? "", "POST");
  const headers = (preflight.headers.get("access-control-allow-headers") ?? "").toLowerCase();
  assertStringIncludes(headers, "authorization");
  assertStringIncludes(headers, "content-type");
});

section2("bodies over 8 MiB get 413", async () => {
  const open = await http(it, "POST", "/v1/rpc", {
    text: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "daemon.health" }).padEnd(8 * MIB),
  });
  assertEquals(open.status, 200);
  for (const path of ["/v1/rpc", "/v1/sessions"]) {
    const over = await http(it, "POST", path, { text: " ".repeat(8 * MIB + 1) });
    assertHttpError(over, 413, "payload_too_large");
  }
  // Without a length in front, too.
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: it.port });
  const encoder = new TextEncoder();
  const write = (bytes: Uint8Array) => writeAll(conn, bytes);
  await write(encoder.encode([
    "POST /v1/rpc HTTP/1.1",
    `Host: 127.0.0.1:${it.port}`,
    `Authorization: Bearer ${it.token}`,
    "Content-Type: application/json",
    "Transfer-Encoding: chunked",
    "",
    "",
  ].join("\r\n")));
  const sending = (async () => {
    for (let n = 0; n < 9; n++) await write(encoder.encode(`100000\r\n${" ".repeat(MIB)}\r\n`));
    await write(encoder.encode("0\r\n\r\n"));
  })().catch(() => {});
  const buffer = new Uint8Array(64);
  const read = await conn.read(buffer);
  assertStringIncludes(new TextDecoder().decode(buffer.subarray(0, read ?? 0)), " 413 ");
  conn.close();
  await sending;
});

section2("a body that is no JSON by its type: 415", async () => {
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    for (const path of ["/v1/sessions", "/v1/rpc"]) {
      const headers = { "content-type": type };
      const answer = await http(it, "POST", path, { text: "{}", headers });
      assertHttpError(answer, 415, "unsupported_media_type");
    }
  }
});
