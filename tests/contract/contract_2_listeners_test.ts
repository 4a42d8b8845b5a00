import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Place } from "../support/svc.ts";
import { rawHttp } from "../support/raw.ts";
import {
  assertHttpError,
  assertRpcError,
  type At,
  connect,
  http,
  refused,
  Shared,
  sse,
} from "./contract_kit.ts";
import { row } from "./row.ts";

const ORIGIN = "http://localhost:5173";
const it = new Shared(`[http]\nallowed_origins = ["${ORIGIN}"]\n`);
const MIB = 1024 * 1024;

function section2(name: string, fn: () => void | Promise<void>, options?: { ignore?: boolean }) {
  row("contract", "2 Listeners", name, fn, options);
}

/** Runs a script as another user; gives what it printed. */
async function asNobody(script: string): Promise<string> {
  const cache = Deno.makeTempDirSync();
  Deno.chmodSync(cache, 0o777);
  try {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", script],
      env: { DENO_DIR: cache, PATH: "/usr/bin:/bin", NO_COLOR: "1" },
      clearEnv: true,
      cwd: "/",
      uid: 65534,
      gid: 65534,
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    return text(stdout) || text(stderr);
  } finally {
    Deno.removeSync(cache, { recursive: true });
  }
}

const root = Deno.build.os === "linux" && Deno.uid() === 0;

/** The local addresses that listen on a port. */
function listening(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return ["tcp", "tcp6"].flatMap((table) =>
    Deno.readTextFileSync(`/proc/net/${table}`).split("\n").slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === "0A" && local.endsWith(`:${hex}`))
      .map(([, local]) => local.split(":")[0])
  );
}

section2("Surface A binds 127.0.0.1 only", () => {
  assertEquals(listening(it.port), ["0100007F"]);
}, { ignore: Deno.build.os !== "linux" });

section2("--addr host:port takes a loopback host", async () => {
  for (const host of ["127.0.0.1", "localhost"]) {
    await using place = new Place();
    const daemon = await place.serve("--addr", `${host}:0`);
    assertEquals((await http(daemon, "GET", "/v1/health")).status, 200);
    assertEquals(listening(daemon.port), ["0100007F"]);
  }
});

section2("--addr with any other host is refused with exit 2", async () => {
  await using place = new Place();
  for (const addr of ["0.0.0.0:0", "192.168.1.1:0", "example.com:0", "[::]:0"]) {
    const { code, stdout, stderr } = await refused(place, "--addr", addr);
    assertEquals([code, stdout], [2, ""], addr);
    assertStringIncludes(stderr, "loopback");
  }
});

section2("--port=0 (default) picks a free port; another is taken as it is", async () => {
  await using place = new Place();
  const first = await place.serve("--port=0");
  assert(first.port > 0 && first.port !== it.port);
  const { port } = first;
  await first.kill();
  assertEquals((await place.serve(`--port=${port}`)).port, port);
});

section2("the socket: newline-delimited JSON-RPC, one message or batch per line", async () => {
  await using wire = await connect(it);
  const one = (id: number) => ({ jsonrpc: "2.0", id, method: "daemon.health" });
  await wire.send(`${JSON.stringify(one(1))}\n${JSON.stringify([one(2), one(3)])}`);
  const batch = await wire.message((answer) => Array.isArray(answer));
  assertEquals(batch.map((answer: { id: number }) => answer.id).sort(), [2, 3]);
  await wire.message((answer) => answer.id === 1);
  assertEquals(wire.messages.length, 2);
});

section2("the socket: a line of 8 MiB is taken", async () => {
  await using wire = await connect(it);
  const line = (pad: string) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "no.such", params: { pad } });
  await wire.send(line("x".repeat(8 * MIB - line("").length - 1)));
  assertEquals((await wire.message((answer) => answer.id === 1)).error.code, -32601);
});

section2("the socket: a line over 8 MiB is not taken, other connections go on", async () => {
  await using other = await connect(it);
  await using wire = await connect(it);
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "daemon.health" });
  await wire.send(text + " ".repeat(8 * MIB)).catch(() => {});
  const answer = await Promise.race([wire.message(() => true), wire.closed]).catch(() => {});
  assert(answer === undefined || answer.error !== undefined, JSON.stringify(answer));
  assertEquals((await other.call("daemon.health")).status, "ok");
  await using later = await connect(it);
  assertEquals((await later.call("daemon.health")).status, "ok");
});

section2("the socket: another uid is disconnected", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  for (const path of [place.dir, place.home, join(daemon.sock, "..")]) Deno.chmodSync(path, 0o755);
  Deno.chmodSync(daemon.sock, 0o666);
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "daemon.discover" }) + "\\n";
  const said = await asNobody(`
    const conn = await Deno.connect({ transport: "unix", path: ${JSON.stringify(daemon.sock)} });
    await conn.write(new TextEncoder().encode('${line}')).catch(() => {});
    const got = await conn.read(new Uint8Array(65536)).catch(() => null);
    console.log("read", got);
  `);
  assertEquals(said, "read null");
  await using own = await connect(daemon);
  assertEquals((await own.call("daemon.health")).status, "ok");
}, { ignore: !root });

section2("GET /v1/discover gives the token to a peer of the same uid", async () => {
  const { status, json } = await http(it, "GET", "/v1/discover", { token: null });
  assertEquals([status, json.token, json.pid, json.port, json.sock], [
    200,
    it.token,
    it.pid,
    it.port,
    it.sock,
  ]);
});

section2("GET /v1/discover answers another uid with 403", async () => {
  const said = await asNobody(`
    const response = await fetch("http://127.0.0.1:${it.port}/v1/discover");
    console.log(response.status, await response.text());
  `);
  assert(said.startsWith("403 "), said);
  assert(!said.includes(it.token), "the token is in the refusal");
  assertStringIncludes(said, "permission_denied");
}, { ignore: !root });

section2("SSE: GET /v1/sessions/{id}/events", async () => {
  const { session_id } = await it.session();
  const path = `/v1/sessions/${session_id}/events?since_seq=0`;
  const { response, events } = await sse(it, path, () => true);
  assertStringIncludes(response.headers.get("content-type") ?? "", "text/event-stream");
  assertEquals(events[0].event, "session.created");
});

section2("JSON-RPC over HTTP: POST /v1/rpc", async () => {
  const body = { jsonrpc: "2.0", id: 7, method: "daemon.health" };
  const { status, json } = await http(it, "POST", "/v1/rpc", { body });
  assertEquals([status, json.jsonrpc, json.id, json.result.status], [200, "2.0", 7, "ok"]);
  assertHttpError(await http(it, "POST", "/v1/rpc", { body, token: null }), 401, "unauthenticated");
});

section2("OpenAPI 3.1: GET /v1/openapi.json, public", async () => {
  const { status, json } = await http(it, "GET", "/v1/openapi.json", { token: null });
  assertEquals(status, 200);
  assert(json.openapi.startsWith("3.1"), json.openapi);
  for (
    const path of ["/v1/sessions", "/v1/health", "/v1/discover", "/v1/sessions/{session_id}/events"]
  ) {
    const named = Object.keys(json.paths).map((known) => known.replace("{id}", "{session_id}"));
    assert(named.includes(path), `${path} is not in ${named}`);
  }
});

section2("no credential is ever taken from a query string", async () => {
  for (const name of ["token", "access_token", "bearer", "authorization", "auth"]) {
    for (const value of [it.token, `Bearer%20${it.token}`]) {
      const answer = await http(it, "GET", `/v1/sessions?${name}=${value}`, { token: null });
      assertHttpError(answer, 401, "unauthenticated");
    }
  }
});

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
  const write = async (bytes: Uint8Array) => {
    for (let done = 0; done < bytes.length;) done += await conn.write(bytes.subarray(done));
  };
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

section2("errors of the socket carry data.svc_code too", async () => {
  await using wire = await connect(it);
  assertRpcError(
    await wire.fails("session.get", { session_id: `sess_${"0".repeat(26)}` }),
    -32002,
    "not_found",
  );
});
