import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { everyonesDirectory, everyonesTemp, forEveryone } from "../support/everyone.ts";
import { LISTED_LOOPBACKS } from "../support/loopback.ts";
import { granted } from "../support/permissions.ts";
import { Place } from "../support/svc.ts";
import {
  assertHttpError,
  assertRpcError,
  connect,
  http,
  refused,
  Shared,
  sse,
} from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();
const MIB = 1024 * 1024;

function section2(name: string, fn: () => void | Promise<void>, options?: { ignore?: boolean }) {
  row("contract", "2 Listeners", name, fn, options);
}

/** Runs a script as another user; gives what it printed. */
async function asNobody(script: string): Promise<string> {
  const cache = everyonesDirectory("svc-test-deno-");
  Deno.chmodSync(cache, 0o777);
  try {
    const { stdout, stderr } = await new Deno.Command(forEveryone(Deno.execPath()), {
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

const root = Deno.build.os === "linux" && granted("sys") && Deno.uid() === 0;

/** The local addresses that listen on a port. */
function listening(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return ["tcp", "tcp6"].slice(0, LISTED_LOOPBACKS.length).flatMap((table) =>
    Deno.readTextFileSync(`/proc/net/${table}`).split("\n").slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === "0A" && local.endsWith(`:${hex}`))
      .map(([, local]) => local.split(":")[0])
  );
}

section2("Surface A binds both loopback families, and nothing else", () => {
  assertEquals(listening(it.port), LISTED_LOOPBACKS);
}, { ignore: Deno.build.os !== "linux" });

section2("--addr host:port takes a loopback host", async () => {
  for (const host of ["127.0.0.1", "localhost"]) {
    await using place = new Place();
    const daemon = await place.serve("--addr", `${host}:0`);
    assertEquals((await http(daemon, "GET", "/v1/health")).status, 200);
    assertEquals(listening(daemon.port), LISTED_LOOPBACKS);
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
  await using place = new Place({}, { parent: everyonesTemp() });
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

section2("errors of the socket carry data.svc_code too", async () => {
  await using wire = await connect(it);
  assertRpcError(
    await wire.fails("session.get", { session_id: `sess_${"0".repeat(26)}` }),
    -32002,
    "not_found",
  );
});
