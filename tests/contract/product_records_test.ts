/** product.md, Resources: the discovery record and the health record. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { join } from "@std/path";
import { Place } from "../support/svc.ts";
import type { Json } from "./client.ts";
import { row } from "./row.ts";
import { mode, Shared } from "./shared.ts";

const shared = new Shared();
const DISCOVERY = "Discovery record";
const HEALTH = "Health record";

/** The record as the file and as the endpoint give it. */
async function discoveries(): Promise<Json[]> {
  const file = JSON.parse(Deno.readTextFileSync(join(shared.place.home, "daemon.json")));
  const { status, json } = await shared.http("GET", "/v1/discover", { token: null });
  assertEquals(status, 200);
  return [file, json];
}

async function health(): Promise<Json> {
  return (await shared.http("GET", "/v1/health", { token: null })).json;
}

row("product", DISCOVERY, "file ~/.svc/daemon.json, mode 0600", () => {
  assertEquals(mode(join(shared.place.home, "daemon.json")), "600");
});

row("product", DISCOVERY, "also returned by GET /v1/discover", async () => {
  const [file, answer] = await discoveries();
  assertEquals(answer, file);
});

row("product", DISCOVERY, "pid: integer, process id of the daemon", async () => {
  for (const { pid } of await discoveries()) {
    assertEquals(pid, shared.daemon.pid);
    assert(Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("serve"));
  }
}, { ignore: Deno.build.os !== "linux" });

row("product", DISCOVERY, "sock: string, filesystem path of the local socket", async () => {
  for (const { sock } of await discoveries()) {
    assert(Deno.lstatSync(sock).isSocket);
    using _conn = await Deno.connect({ transport: "unix", path: sock });
  }
});

row("product", DISCOVERY, "port: integer, loopback TCP port", async () => {
  for (const { port } of await discoveries()) {
    assert(Number.isInteger(port) && port > 0 && port < 65_536);
    using _conn = await Deno.connect({ hostname: "127.0.0.1", port });
  }
});

row("product", DISCOVERY, "token: 32 random bytes, hex-encoded (64 hex characters)", async () => {
  for (const { token } of await discoveries()) assertMatch(token, /^[0-9a-f]{64}$/i);
});

row("product", DISCOVERY, "token: regenerated on every daemon start", async () => {
  await using place = new Place();
  const tokens = new Set<string>();
  for (let n = 0; n < 3; n++) {
    const daemon = await place.serve();
    tokens.add(place.discovery().token);
    await daemon.stop();
  }
  assertEquals(tokens.size, 3);
});

row("product", DISCOVERY, "version: string, build revision of the daemon", async () => {
  for (const { version } of await discoveries()) {
    assertEquals(typeof version, "string");
    const { stdout } = await shared.place.svc(["--version"]);
    assert(stdout.includes(version), stdout);
  }
});

row("product", DISCOVERY, "protocol_version: integer; 1 in this contract", async () => {
  for (const { protocol_version } of await discoveries()) assertEquals(protocol_version, 1);
});

row("product", HEALTH, "status: string", async () => {
  const { status } = await health();
  assert(typeof status === "string" && status !== "");
});

row("product", HEALTH, "version: string", async () => {
  assertEquals((await health()).version, shared.place.discovery().version);
});

row("product", HEALTH, "sessions: integer (number of sessions)", async () => {
  const before = (await health()).sessions;
  assert(Number.isInteger(before));
  const id = await shared.session();
  assertEquals((await health()).sessions, before + 1);
  await shared.http("DELETE", `/v1/sessions/${id}`);
  assertEquals((await health()).sessions, before);
});

row("product", HEALTH, "uptime_s: integer (seconds)", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  const uptime = async () => {
    const response = await fetch(`${daemon.url}/v1/health`);
    return (await response.json()).uptime_s;
  };
  const began = Date.now();
  const first = await uptime();
  assert(Number.isInteger(first) && first >= 0 && first < 60);
  const started = Date.now();
  let later = first;
  let asked = started;
  while (later < first + 2 && asked - started < 10_000) {
    asked = Date.now();
    later = await uptime();
  }
  assertNotEquals(later, first);
  // What is between a question and its answer may be long on a busy machine.
  assert(later - first >= (asked - started) / 1000 - 2);
  assert(later - first <= (Date.now() - began) / 1000 + 2);
});
