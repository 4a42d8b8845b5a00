/** product.md, What the service does: the numbered rules, as far as surface A is there. */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { Place } from "../support/svc.ts";
import { can_run_systemd, UserSystemd } from "../support/systemd.ts";
import { SocketClient, WsClient } from "./client.ts";
import { row } from "./row.ts";
import { createSession, http, journalPath, readJournal, Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "What the service does";

row("product", SECTION, "1. a per-user singleton", async () => {
  const second = await shared.place.svc(["serve"]);
  assertEquals(second.code, 1);
  assertEquals((await shared.http("GET", "/v1/health")).status, 200);
});

row("product", SECTION, "1. N concurrent sessions, each in its own working directory", async () => {
  await using client = await shared.socket();
  const dirs = Array.from({ length: 4 }, () => shared.workdir());
  const ends = dirs.map(async (workdir) => {
    const id = await client.session({ workdir, approval: "auto" });
    await client.turn(id, "run pwd; sleep 0.5");
    return client.events.find((it) => it.session_id === id && it.type === "session.tool_completed");
  });
  for (const [n, end] of (await Promise.all(ends)).entries()) {
    assertStringIncludes(JSON.stringify(end!.data.output), dirs[n]);
  }
});

row("product", SECTION, "1. sessions are concurrent units inside one process", async () => {
  await using client = await shared.socket();
  const ids = await Promise.all(
    [1, 2, 3].map(() => client.session({ workdir: shared.workdir(), approval: "auto" })),
  );
  // Each waits for the next: one after the other they would never end.
  const dir = shared.workdir();
  const turns = ids.map((id, n) => {
    const [own, next] = [`${dir}/${n}`, `${dir}/${(n + 1) % ids.length}`];
    return client.turn(id, `run touch ${own}; for i in $(seq 100); do sleep 0.1; done; ls ${next}`);
  });
  const working = await Promise.all(
    ids.map((id) => client.event((it) => it.session_id === id && it.type === "turn.started")),
  );
  assertEquals(working.length, ids.length);
  const states = await Promise.all(ids.map((id) => client.call("session.get", { session_id: id })));
  assertEquals(states.map(({ activity }) => activity), ids.map(() => "working"));
  for (const session_id of ids) await client.call("session.cancel", { session_id });
  await Promise.all(turns);
  assertEquals((await client.call("daemon.discover")).pid, shared.daemon.pid);
});

row("product", SECTION, "1. a journal makes resume after a restart possible", async () => {
  await using place = new Place();
  const workdir = place.mkdir("project");
  let daemon = await place.serve();
  let id: string;
  {
    await using client = await SocketClient.connect(daemon.sock);
    id = await client.session({ workdir });
    await client.turn(id, "help");
  }
  const before = Deno.readTextFileSync(journalPath(workdir, id));
  await daemon.kill();
  daemon = await place.serve();
  await using client = await SocketClient.connect(daemon.sock);
  const { messages } = await client.call("session.transcript", { session_id: id });
  await client.call("session.subscribe", { session_id: id });
  assertEquals(messages[0].text, "help");
  assertEquals((await client.turn(id, "ls")).data.stop_reason, "ok");
  // Append-only: what was there is there.
  assert(Deno.readTextFileSync(journalPath(workdir, id)).startsWith(before));
});

row("product", SECTION, "2. the chat client starts the daemon itself", async () => {
  await using place = new Place();
  const workdir = place.mkdir("project");
  const first = await place.svc(["chat", workdir, "-p", "help"]);
  assertEquals(first.code, 0, first.stderr);
  const { pid, port } = place.discovery();
  const health = await fetch(`http://127.0.0.1:${port}/v1/health`);
  assertEquals((await health.json()).status !== undefined, true);
  // The next one finds it on the socket.
  const second = await place.svc(["chat", workdir, "-p", "help"]);
  assertEquals(second.code, 0, second.stderr);
  assertEquals(place.discovery().pid, pid);
});

row("product", SECTION, "2. installed as a per-user background unit (systemd user)", async () => {
  await using place = new Place();
  await using systemd = await UserSystemd.start(place);
  const { code, stderr } = await place.svc(["serve", "--install"]);
  assertEquals(code, 0, stderr);
  assertEquals(await systemd.show("UnitFileState"), "enabled");
  assertEquals(await systemd.show("MainPID"), `${place.discovery().pid}`);
}, { ignore: !can_run_systemd });

row("product", SECTION, "2. the unit runs as the current user, not system-wide", async () => {
  await using place = new Place();
  await using systemd = await UserSystemd.start(place);
  const { code, stderr } = await place.svc(["serve", "--install"]);
  assertEquals(code, 0, stderr);
  const path = await systemd.show("FragmentPath");
  assertStringIncludes(path, `${place.env.XDG_CONFIG_HOME}/systemd/user/`);
  assert(!/^User=/m.test(Deno.readTextFileSync(path)));
  const status = Deno.readTextFileSync(`/proc/${place.discovery().pid}/status`);
  assertStringIncludes(status, `\nUid:\t${Deno.uid()}\t`);
}, { ignore: !can_run_systemd });

row(
  "product",
  SECTION,
  "3. a discovery file on start-up: clients find port and token",
  async () => {
    const { port, token } = shared.place.discovery();
    const response = await fetch(`http://127.0.0.1:${port}/v1/sessions`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await response.body?.cancel();
    assertEquals(response.status, 200);
  },
);

row("product", SECTION, "4. a local socket, loopback HTTP and a WebSocket", async () => {
  await using socket = await shared.socket();
  await using ws = await WsClient.connect(shared.daemon.port, shared.daemon.token);
  const { json } = await shared.http("GET", "/v1/health");
  for (const client of [socket, ws]) {
    assertEquals((await client.call("daemon.health")).version, json.version);
  }
});

row("product", SECTION, "6. a discovered daemon is used; none is started beside it", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  const { code } = await place.svc(["serve", "--port=0", "--emit-port-stdout"]);
  assertNotEquals(code, 0);
  assertEquals(place.discovery().pid, daemon.pid);
  const created = await createSession(daemon, { workdir: place.mkdir("project") });
  assertEquals(readJournal(journalPath(created.workdir, created.session_id))[0].v, 1);
  assertEquals((await http(daemon, "GET", "/v1/health")).json.sessions, 1);
});
