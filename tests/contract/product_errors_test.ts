/** product.md, Errors, Limits and Versioning of surface A, as far as no other file has them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { delay } from "@std/async";
import { rawHttp } from "../support/raw.ts";
import { Place, spawnSvc } from "../support/svc.ts";
import { row } from "./row.ts";
import { eventually, exists, http, journalPath, readJournal, Shared } from "./shared.ts";

const shared = new Shared();
const ERRORS = "Errors";
const LIMITS = "Limits";
const VERSIONING = "Versioning";

const BACKOFF_MS = 2_000;

/** The 11 JSON-RPC methods of the desktop IPC contract. */
const DESKTOP = [
  "session.start",
  "session.pause",
  "session.resume",
  "ledger.get_node",
  "ledger.list_events",
  "memory.list_scopes",
  "memory.query",
  "cost.get_current",
  "cost.get_history",
  "descent.current_tier",
  "descent.tier_history",
];

row("product", ERRORS, "old, missing or wrong token: 401", async () => {
  await using place = new Place();
  const old = await place.serve();
  await old.stop();
  const daemon = await place.serve();
  for (const token of [old.token, null, "0".repeat(64), "", daemon.token.slice(1)]) {
    assertEquals((await http(daemon, "GET", "/v1/sessions", { token })).status, 401);
    const body = { workdir: place.dir };
    assertEquals((await http(daemon, "POST", "/v1/sessions", { token, body })).status, 401);
  }
});

row("product", ERRORS, "a forged Origin such as an unrelated site: 403", async () => {
  const { port, token } = shared.daemon;
  for (const path of ["/v1/sessions", "/v1/health", "/v1/discover", "/"]) {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const headers = { authorization: `Bearer ${token}`, origin: "https://evil.example" };
      const { status, body } = await rawHttp(port, method, path, headers);
      assertEquals(status, 403, `${method} ${path}`);
      assert(!body.includes(token));
    }
  }
});

row("product", ERRORS, "HTTP Host not in the pinned set: rejected", async () => {
  const headers = { authorization: `Bearer ${shared.daemon.token}`, host: "evil.example" };
  for (const path of ["/v1/sessions", "/v1/health", "/v1/discover", "/"]) {
    const { status } = await rawHttp(shared.daemon.port, "GET", path, headers);
    assert(status >= 400 && status < 500, path);
  }
});

row("product", ERRORS, "second svc serve: pid, socket path, hint at svc ctl; exit 1", async () => {
  const { code, stdout, stderr } = await shared.place.svc(["serve"]);
  assertEquals(code, 1);
  for (const part of [String(shared.daemon.pid), shared.daemon.sock, "svc ctl"]) {
    assertStringIncludes(stdout + stderr, part);
  }
});

row("product", ERRORS, "daemon-file permissions too wide: refuses to start", async () => {
  await using place = new Place();
  await (await place.serve()).stop();
  Deno.chmodSync(join(place.home, "sessions-index.json"), 0o644);
  const { code, stderr } = await place.svc(["serve"]);
  assertEquals(code, 1);
  assertStringIncludes(stderr, "sessions-index.json");
});

row("product", ERRORS, "socket not there: the chat client starts the daemon", async () => {
  await using place = new Place();
  const { code, stderr } = await place.svc(["chat", place.mkdir("project"), "-p", "help"]);
  assertEquals(code, 0, stderr);
  assert(exists(place.discovery().sock));
});

for (
  const [section, words] of [
    [ERRORS, "socket not there: CLI clients retry until the port is written"],
    [LIMITS, "CLI connection retry backoff: 2 seconds"],
  ]
) {
  row("product", section, words, async () => {
    await using place = new Place();
    const waiting = spawnSvc(place, ["ctl", "sessions", "list"]);
    const output = waiting.output();
    // No daemon is there yet when it looks for the first time.
    await delay(500);
    const child = spawnSvc(place, ["serve"]);
    assert(await eventually(() => exists(join(place.home, "daemon.json"))));
    const written = performance.now();
    const { code, stderr } = await output;
    const waited_ms = performance.now() - written;
    const again = performance.now();
    await place.svc(["ctl", "sessions", "list"]);
    const alone_ms = performance.now() - again;
    child.kill("SIGTERM");
    await child.output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    // About the backoff at most, next to what the client takes when the daemon is there.
    assert(waited_ms < 2 * BACKOFF_MS + 10 * alone_ms, `${waited_ms} ms, ${alone_ms} alone`);
  });
}

row("product", LIMITS, "daemons per operating-system user: 1", async () => {
  assertEquals((await shared.place.svc(["serve"])).code, 1);
  assertEquals((await shared.place.svc(["serve", "--port=0", "--emit-port-stdout"])).code, 1);
});

row("product", LIMITS, "concurrent sessions: no hard cap", async () => {
  const ids = new Set<string>();
  for (let n = 0; n < 300; n++) ids.add(await shared.session());
  assertEquals(ids.size, 300);
  const { json } = await shared.http("GET", "/v1/sessions");
  const running = json.sessions.filter((it: { state: string }) => it.state === "running");
  assert(running.length >= 300);
});

row("product", LIMITS, "token size: 256 bits", () => {
  assertMatch(shared.daemon.token, /^[0-9a-f]{64}$/i);
});

row("product", VERSIONING, "1. protocol_version is 1 in the discovery record", () => {
  assertEquals((shared.place.discovery() as { protocol_version: number }).protocol_version, 1);
});

row("product", VERSIONING, "2. journal records carry schema marker v: 1", async () => {
  const workdir = shared.workdir();
  const id = await shared.session({ workdir });
  for (const { v } of readJournal(journalPath(workdir, id))) assertEquals(v, 1);
});

row("product", VERSIONING, "3. surface A paths carry the prefix /v1/", async () => {
  const id = await shared.session();
  assertEquals((await shared.http("GET", `/v1/sessions/${id}`)).status, 200);
  for (const path of ["/sessions", "/discover", "/health", "/v2/sessions", "/v2/health"]) {
    assertEquals((await shared.http("GET", path)).status, 404, path);
  }
});

row("product", VERSIONING, "4. version of discovery and health: the build revision", async () => {
  const health = (await shared.http("GET", "/v1/health")).json.version;
  const { stdout } = await shared.place.svc(["--version"]);
  assertEquals(health, shared.place.discovery().version);
  assertStringIncludes(stdout, health);
});

row("product", VERSIONING, "6. older commands stay as aliases, each with a hint", async () => {
  const { code, stderr } = await shared.place.svc(["daemon", "status"]);
  assertEquals(code, 0);
  assertMatch(stderr, /^[^\n]*deprecated[^\n]*\n$/);
});

row("product", VERSIONING, "6. the 11 JSON-RPC methods are unchanged", async () => {
  await using client = await shared.socket();
  for (const method of DESKTOP) {
    const { error } = await client.ask({ method, params: {} });
    assert(error?.code !== -32601, method);
  }
});
