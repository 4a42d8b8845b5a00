/** product.md, Endpoints: surface A's loopback HTTP, its other transports, the local socket. */
import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { rawHttp } from "../support/raw.ts";
import { gone, Place } from "../support/svc.ts";
import { SocketClient, SseReader, WsClient } from "./client.ts";
import { row } from "./row.ts";
import { http, journalPath, mode, ownHome, readJournal, Shared } from "./shared.ts";

const shared = new Shared();
const HTTP = "Endpoints: loopback HTTP";
const OTHER = "Endpoints: other transports";
const SOCKET = "Endpoints: local socket";

const ok = (status: number) => status >= 200 && status < 300;

/** What a request without the token is answered. */
async function without(method: string, path: string, body?: unknown): Promise<number> {
  return (await shared.http(method, path, { token: null, body })).status;
}

row("product", HTTP, "http://127.0.0.1:<port>, the port chosen at random at start", async () => {
  const ports = new Set([shared.daemon.port]);
  // Chance may take a port twice, but not each time. A home may keep its port for the next start.
  for (let n = 0; n < 5 && ports.size < 3; n++) {
    await using place = new Place();
    const daemon = await place.serve();
    ports.add(daemon.port);
    assertEquals((await http(daemon, "GET", "/v1/health")).status, 200);
    await daemon.stop();
  }
  assertEquals(ports.size, 3);
});

row("product", HTTP, "GET /v1/discover: no auth; discovery record", async () => {
  const { status, json } = await shared.http("GET", "/v1/discover", { token: null });
  assert(ok(status));
  const { pid, sock, port, token, version, protocol_version } = json;
  assertEquals([pid, port], [shared.daemon.pid, shared.daemon.port]);
  assertEquals([typeof sock, typeof token, typeof version], ["string", "string", "string"]);
  assertEquals(protocol_version, 1);
});

row("product", HTTP, "GET /v1/health: no auth; health record", async () => {
  const { status, json } = await shared.http("GET", "/v1/health", { token: null });
  assert(ok(status));
  for (const field of ["status", "version"]) assertEquals(typeof json[field], "string");
  for (const field of ["sessions", "uptime_s"]) assert(Number.isInteger(json[field]));
});

row("product", HTTP, "POST /v1/sessions: bearer; session_id, workdir, started_at", async () => {
  const workdir = shared.workdir();
  const body = { workdir, model: "builtin/toolbelt" };
  assertEquals(await without("POST", "/v1/sessions", body), 401);
  const { status, json } = await shared.http("POST", "/v1/sessions", { body });
  assert(ok(status));
  assertEquals(Object.keys(json).sort(), ["session_id", "started_at", "workdir"]);
  assertEquals(json.workdir, workdir);
});

row("product", HTTP, "GET /v1/sessions: bearer; sessions, an array of list items", async () => {
  assertEquals(await without("GET", "/v1/sessions"), 401);
  const id = await shared.session();
  const { status, json } = await shared.http("GET", "/v1/sessions");
  assert(ok(status) && Array.isArray(json.sessions));
  for (const item of json.sessions) {
    for (const field of ["id", "workdir", "state"]) assertEquals(typeof item[field], "string");
  }
  assert(json.sessions.some((item: { id: string }) => item.id === id));
});

row("product", HTTP, "POST /v1/sessions/{session_id}/pause: bearer", async () => {
  const path = `/v1/sessions/${await shared.session()}/pause`;
  assertEquals(await without("POST", path), 401);
  assert(ok((await shared.http("POST", path)).status));
});

row("product", HTTP, "DELETE /v1/sessions/{session_id}: bearer; kills the session", async () => {
  await using client = await shared.socket();
  const id = await client.session({ workdir: shared.workdir(), approval: "auto" });
  assertEquals(await without("DELETE", `/v1/sessions/${id}`), 401);
  await client.call("session.send", { session_id: id, text: "run sleep 60" });
  await client.event((it) => it.type === "session.tool_started");
  assert(ok((await shared.http("DELETE", `/v1/sessions/${id}`)).status));
  await client.event((it) => it.type === "session.ended");
});

row("product", HTTP, "GET / and its static assets: Host pin applies", async () => {
  for (const path of ["/", "/assets/app.js"]) {
    const { status } = await rawHttp(shared.daemon.port, "GET", path, { host: "evil.example" });
    assertEquals(status, 403, path);
  }
});

row("product", OTHER, "WebSocket with svc.bearer and the token as a second value", async () => {
  await using ws = await WsClient.connect(shared.daemon.port, shared.daemon.token);
  assertEquals((await ws.call("daemon.discover")).pid, shared.daemon.pid);
  await assertRejects(() => WsClient.connect(shared.daemon.port, "0".repeat(64)));
});

row("product", OTHER, "SSE replay: reconnect with Last-Event-ID, from the journal", async () => {
  await using client = await shared.socket();
  const workdir = shared.workdir();
  const id = await client.session({ workdir });
  await client.turn(id, "help");
  const journal = readJournal(journalPath(workdir, id)).map(({ seq }) => String(seq));
  const url = `${shared.daemon.url}/v1/sessions/${id}/events`;
  const headers = { authorization: `Bearer ${shared.daemon.token}` };
  for (const last of ["0", journal[1], journal.at(-2)!]) {
    await using sse = await SseReader.open(url, { ...headers, "last-event-id": last });
    const expected = journal.filter((seq) => Number(seq) > Number(last));
    while (sse.events.length < expected.length) await sse.next();
    assertEquals(sse.events.map((it) => it.id), expected);
  }
});

row("product", OTHER, "JSON-RPC replay: parameter since_seq, from the journal", async () => {
  await using writer = await shared.socket();
  const workdir = shared.workdir();
  const id = await writer.session({ workdir });
  await writer.turn(id, "help");
  const journal = readJournal(journalPath(workdir, id)).map(({ seq }) => seq);
  for (const since_seq of [0, journal[1], journal.at(-2)]) {
    await using socket = await shared.socket();
    await using ws = await WsClient.connect(shared.daemon.port, shared.daemon.token);
    for (const client of [socket, ws]) {
      await client.call("session.subscribe", { session_id: id, since_seq });
      await client.event((it) => it.seq === journal.at(-1));
      assertEquals(client.events.map(({ seq }) => seq), journal.filter((seq) => seq > since_seq));
    }
  }
});

row("product", OTHER, "daemon.shutdown JSON-RPC request {grace_s}", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  {
    await using client = await SocketClient.connect(daemon.sock);
    const refused = await client.fails("daemon.shutdown", { grace_s: "soon" });
    assertNotEquals(refused.code, -32601);
    await client.call("daemon.shutdown", { grace_s: 1 });
    await client.closed;
  }
  assert(await gone(daemon.pid));
});

row("product", SOCKET, "$XDG_RUNTIME_DIR/svc/svc.sock, 0600 in a parent of 0700", async () => {
  await using place = new Place();
  const user = ownHome(place);
  delete place.env.SVC_HOME;
  place.env.XDG_RUNTIME_DIR = place.mkdir("runtime");
  const daemon = await place.serve();
  const path = join(place.dir, "runtime", "svc", "svc.sock");
  assertEquals(daemon.sock, path);
  assert(Deno.lstatSync(path).isSocket);
  assertEquals([mode(path), mode(join(path, ".."))], ["600", "700"]);
  assertEquals(mode(join(user, ".svc")), "700");
  assertEquals((await place.svc(["ctl", "sessions", "list"])).code, 0);
}, { ignore: Deno.build.os === "windows" });

row("product", SOCKET, "the CLI uses it without a token", async () => {
  await using client = await shared.socket();
  assertEquals(typeof (await client.call("daemon.health")).version, "string");
  await using place = new Place();
  await place.serve();
  const path = join(place.home, "daemon.json");
  const record = { ...place.discovery(), token: "0".repeat(64) };
  Deno.writeTextFileSync(path, JSON.stringify(record));
  const { code, stderr } = await place.svc(["ctl", "sessions", "list"]);
  assertEquals(code, 0, stderr);
});
