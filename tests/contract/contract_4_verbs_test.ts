import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { Place } from "../support/svc.ts";
import { assertRpcError, connect, event, follow, http, of, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();

function section4(name: string, fn: () => void | Promise<void>) {
  row("contract", "4 verbs", name, fn);
}

/** The verbs of the document that are built. */
const VERBS = {
  session: "start pause resume list get send cancel kill approve transcript subscribe unsubscribe",
  lanes: "list get subscribe kill pin",
  ledger: "get_node list_events",
  memory: "list_scopes query",
  cortex: "notes publish lobes_list lobe_pause lobe_resume remember recall forget audit",
  cost: "get_current get_history",
  descent: "current_tier tier_history",
  mission: "create list get cancel logs",
  mcp: "list_servers list_tools test_server",
  bus: "tail replay",
  tui: "press_key snapshot get_model focus_lane",
  queue: "enqueue status workers pause resume tasks cancel wal",
  task: "run get list cancel capabilities",
  daemon: "info health discover shutdown reload_config",
};
for (const [space, names] of Object.entries(VERBS)) {
  section4(`${space}: ${names.replaceAll(" ", ", ")}`, async () => {
    await using client = await connect(it);
    for (const name of names.split(" ")) {
      // Params that none of them take: known methods say so, unknown ones that they are unknown.
      const unknown = { method: `${space}.none`, params: [] };
      assertEquals((await client.ask(unknown)).error?.code, -32601);
      const request = { method: `${space}.${name}`, params: [] };
      const { error } = await client.ask(
        ["shutdown"].includes(name) ? { ...request, params: { grace_s: "x" } } : request,
      );
      assert(error?.code !== -32601, `${space}.${name} is not there`);
    }
  });
}

section4("task.run, queue.enqueue: a missing task_type names the allowed values", async () => {
  await using client = await connect(it);
  for (const verb of ["task.run", "queue.enqueue"]) {
    const error = await client.fails(verb, { query: "x" });
    assertRpcError(error, -32602, "validation");
    assertStringIncludes(error.message, "task_type: is required: one of research, browser, ");
  }
});

section4("session.list, get, transcript", async () => {
  const { session_id, workdir } = await it.session();
  await using client = await connect(it);
  await follow(client, session_id);
  await client.turn(session_id, "help");
  const { sessions } = await client.call("session.list");
  const item = sessions.find(({ id }: { id: string }) => id === session_id);
  assertEquals([item.workdir, item.state], [workdir, "running"]);
  assertEquals((await client.call("session.get", { session_id })).id, session_id);
  const { messages } = await client.call("session.transcript", { session_id });
  assertEquals(messages[0], { role: "user", text: "help" });
});

section4("session.cancel, kill", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  assertEquals(await client.call("session.cancel", { session_id }), { cancelled: false });
  await client.call("session.kill", { session_id });
  assertEquals((await client.call("session.get", { session_id })).state, "ended");
});

section4("bus.tail {session_id?, since_seq?}", async () => {
  const { session_id } = await it.session();
  const other = (await it.session()).session_id;
  await using client = await connect(it);
  await client.call("bus.tail", { session_id });
  await using all = await connect(it);
  await all.call("bus.tail", {});
  await all.call("session.send", { session_id: other, text: "help" });
  await all.call("session.send", { session_id, text: "help" });
  for (const id of [other, session_id]) {
    await all.event((each) => each.session_id === id && each.type === "turn.completed");
  }
  await event(client, "turn.completed");
  assertEquals([...new Set(client.events.map((each) => each.session_id))], [session_id]);
  assertEquals(of(client, "user.message").length, 1);
});

section4("bus.replay {from_seq, to_seq}", async () => {
  const { session_id } = await it.session({ prompt: "help" });
  await using client = await connect(it);
  await follow(client, session_id);
  await event(client, "turn.completed");
  let found = "";
  for (let n = 0; n < 100 && !found.includes(session_id); n++) {
    found = JSON.stringify(await client.call("bus.replay", { from_seq: 1, to_seq: 1000 }));
    await delay(20);
  }
  assert(found.includes(session_id) && found.includes("turn.completed"), found.slice(0, 300));
  assertEquals((await client.fails("bus.replay", { from_seq: "x" })).code, -32602);
});

section4("queue.enqueue, tasks {state?}, wal {n?}, status", async () => {
  await using client = await connect(it);
  const task = await client.call("queue.enqueue", {
    task_type: "code",
    description: "run echo hi",
    extra: { workdir: it.workdir() },
  });
  assert(task.id.startsWith("t-"), task.id);
  const get = () => client.call("task.get", { task_id: task.id });
  for (let n = 0; n < 400 && (await get()).status !== "completed"; n++) await delay(25);
  const got = await get();
  assertEquals([got.status, got.task_type], ["completed", "code"]);
  const listed = async (state?: string) =>
    JSON.stringify(await client.call("queue.tasks", { state })).includes(task.id);
  assertEquals([await listed(), await listed("completed"), await listed("failed")], [
    true,
    true,
    false,
  ]);
  assert(JSON.stringify(await client.call("queue.wal", { n: 1000 })).includes(task.id));
  const { entries } = await client.call("queue.wal", { n: 1 });
  assertEquals(entries.length, 1);
  assert((await client.call("queue.status")).completed >= 1);
});

section4("queue.workers {count}", async () => {
  await using place = new Place();
  await using client = await connect(await place.serve());
  assertEquals((await client.call("queue.workers", { count: 3 })).workers, 3);
  assertEquals((await client.call("queue.status")).workers, 3);
  assertEquals((await client.fails("queue.workers", { count: -1 })).code, -32602);
});

section4("queue.pause, resume, cancel", async () => {
  await using place = new Place();
  await using client = await connect(await place.serve());
  await client.call("queue.pause");
  assertEquals((await client.call("queue.status")).paused, true);
  const { id: task_id } = await client.call("queue.enqueue", {
    task_type: "code",
    description: "ls",
    extra: { workdir: place.mkdir("w") },
  });
  assertEquals((await client.call("task.get", { task_id })).status, "queued");
  await client.call("queue.cancel", { task_id });
  assertEquals((await client.call("task.get", { task_id })).status, "failed");
  await client.call("queue.resume");
  assertEquals((await client.call("queue.status")).paused, false);
});

section4("queue.*: svc ctl enqueue/… and the svc daemon … aliases call it", async () => {
  for (const args of [["ctl", "status", "--json"], ["daemon", "status", "--json"]]) {
    const { code, stdout, stderr } = await it.place.svc(args);
    assertEquals([code, "workers" in JSON.parse(stdout)], [0, true], stderr);
  }
});

section4("task.capabilities: the advertised types and the budget", async () => {
  await using client = await connect(it);
  const got = await client.call("task.capabilities");
  assert(got.task_types.includes("code"), JSON.stringify(got));
});

section4("daemon.info, health, discover", async () => {
  await using client = await connect(it);
  const health = await client.call("daemon.health");
  assertEquals(Object.keys(health).sort(), ["sessions", "status", "uptime_s", "version"]);
  assertEquals((await http(it, "GET", "/v1/health")).json.version, health.version);
  const found = await client.call("daemon.discover");
  assertEquals(found, (await http(it, "GET", "/v1/discover")).json);
  assertEquals((await client.call("daemon.info")).version, health.version);
});

section4("daemon.shutdown {grace_s?=30}", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  await using client = await connect(daemon);
  assertRpcErrorOrInvalid(await client.fails("daemon.shutdown", { grace_s: -1 }));
  await client.call("daemon.shutdown");
  await client.closed;
  assertEquals((await daemon.ended()).code, 0);
});

function assertRpcErrorOrInvalid(error: { code: number; message: string; data: unknown }): void {
  if (error.code !== -32602) assertRpcError(error, -32001, "validation");
}
