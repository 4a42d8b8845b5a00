import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import type { Json, SocketClient } from "./client.ts";
import { assertRpcError, connect, event, follow, of, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();

function section4(name: string, fn: () => void | Promise<void>) {
  row("contract", "4 missions", name, fn);
}

const MISSION_ID = /^m-[0-9A-Z]{26}$/;

/** A task that the instruction language carries out, and criteria for what it does. */
function spec(criteria: Json[] = [{ id: "ac-1", description: "a is there", file_exists: "a" }]) {
  const tasks = [{ id: "t-1", description: "run echo one > a" }];
  return {
    id: "m-1",
    name: "A mission",
    sessions: [{ id: "s-1", title: "S", tasks, acceptance_criteria: criteria }],
  };
}

/** A session that needs no approvals, and a client that follows it. */
async function session() {
  const started = await it.session({ approval: "auto" });
  const client = await connect(it);
  await follow(client, started.session_id);
  return { ...started, client };
}

/** Runs a mission of a session to its end. */
async function run(client: SocketClient, params: Json): Promise<Json> {
  const { mission_id } = await client.call("mission.create", params);
  await event(client, "mission.completed", (data) => data.mission_id === mission_id);
  return await client.call("mission.get", { mission_id });
}

section4("mission.create {session_id, spec}, get: m-…, tasks and criteria", async () => {
  const { session_id, workdir, client } = await session();
  await using _ = client;
  const created = await client.call("mission.create", { session_id, spec: spec() });
  assertMatch(created.mission_id, MISSION_ID);
  assertEquals([created.session_id, created.workdir], [session_id, workdir]);
  await event(client, "mission.completed");
  const mission = await client.call("mission.get", { mission_id: created.mission_id });
  assertEquals([mission.status, mission.error], ["completed", undefined]);
  const [{ tasks, acceptance_criteria }] = mission.sessions;
  assertEquals([tasks[0].id, tasks[0].status], ["t-1", "completed"]);
  assertEquals([acceptance_criteria[0].id, acceptance_criteria[0].status], ["ac-1", "passed"]);
  assertEquals(Deno.readTextFileSync(join(workdir, "a")), "one\n");
});

section4(
  "mission.create {workdir, spec as YAML}: a session of its own, ended with it",
  async () => {
    await using client = await connect(it);
    const text = `
id: m
name: Y
sessions:
  - id: s
    title: S
    tasks: [{id: t, description: run true}]
`;
    const params = {
      workdir: it.workdir(),
      spec: text,
      approval: "auto",
      model: "builtin/toolbelt",
    };
    const { mission_id, session_id } = await client.call("mission.create", params);
    await follow(client, session_id);
    await event(client, "session.ended");
    assertEquals((await client.call("mission.get", { mission_id })).status, "completed");
  },
);

section4("mission.create: a spec that is wrong is -32001 and says where", async () => {
  const { session_id, client } = await session();
  await using _ = client;
  const wrong = spec();
  wrong.sessions[0].tasks.push({ id: "t-2", description: "x", dependencies: ["none"] } as Json);
  const { error } = await client.ask({
    method: "mission.create",
    params: { session_id, spec: wrong },
  });
  assertRpcError(error, -32001, "validation");
  assert(error.message.includes('sessions[0].tasks[1].dependencies[0]: no task "none"'));
});

section4("mission.list, logs", async () => {
  const { session_id, client } = await session();
  await using _ = client;
  const { mission_id } = await run(client, { session_id, spec: spec() });
  const { missions } = await client.call("mission.list", { status: "completed" });
  assert(missions.some((it: Json) => it.mission_id === mission_id));
  const { entries } = await client.call("mission.logs", { mission_id });
  const events = entries.map((it: Json) => it.event);
  for (const wanted of ["begun", "started", "completed", "check_passed"]) {
    assert(events.includes(wanted), `${wanted} in ${events}`);
  }
  const later = await client.call("mission.logs", { mission_id, since_seq: entries[0].seq });
  assertEquals(later.entries, entries.slice(1));
});

section4("mission.cancel", async () => {
  const { session_id, client } = await session();
  await using _ = client;
  const sleepy = spec();
  sleepy.sessions[0].tasks[0].description = "run sleep 600";
  const { mission_id } = await client.call("mission.create", { session_id, spec: sleepy });
  await event(client, "mission.task_started");
  assertEquals((await client.call("mission.cancel", { mission_id })).status, "cancelled");
  const completed = await event(client, "mission.completed");
  assertEquals(completed.data.status, "cancelled");
  const { error } = await client.ask({
    method: "mission.get",
    params: { mission_id: "m-01ARZ3NDEKTSV4RRFFQ69G5FAV" },
  });
  assertRpcError(error, -32002, "not_found");
});

section4("lanes of kind mission_task, one below the other; their kill cascades", async () => {
  const { session_id, client } = await session();
  await using _ = client;
  const sleepy = spec();
  sleepy.sessions[0].tasks[0].description = "run sleep 600";
  const { mission_id } = await client.call("mission.create", { session_id, spec: sleepy });
  const { data: { lane_id } } = await event(client, "mission.task_started");
  const { parent_lane_id, kind } = of(client, "lane.created")
    .find(({ data }) => data.lane_id === lane_id)!.data;
  assertEquals(kind, "mission_task");
  const params = { session_id, lane_id: parent_lane_id };
  const refused = await client.ask({ method: "lanes.kill", params: { ...params, cascade: false } });
  assertRpcError(refused.error, -32003, "conflict");
  const { killed } = await client.call("lanes.kill", params);
  assertEquals(killed, [lane_id, parent_lane_id]);
  await event(client, "mission.completed");
  assertEquals((await client.call("mission.get", { mission_id })).status, "cancelled");
});

section4(
  "descent: tiers, status, evidence_ref, failure_class; T8 never for a code_bug",
  async () => {
    const { session_id, client } = await session();
    await using _ = client;
    const failing = { id: "red", description: "fails", command: "echo 1 failed; exit 1" };
    const mission = await run(client, { session_id, spec: spec([failing]) });
    assertEquals(mission.status, "failed");
    const { ac_id, attempts } = await client.call("descent.tier_history", {
      session_id,
      ac_id: "red",
    });
    assertEquals(ac_id, "red");
    for (const { tier, status, at, evidence_ref } of attempts) {
      assertMatch(tier, /^T[1-7]$/);
      assertMatch(status, /^(pending|running|passed|failed)$/);
      assert(!Number.isNaN(Date.parse(at)));
      if (evidence_ref !== undefined) assert(evidence_ref.startsWith(`${mission.mission_id}#`));
    }
    const classes = attempts.map((it: Json) => it.failure_class).filter(Boolean);
    assertEquals([...new Set(classes)], ["code_bug"]);
    const [now] = await client.call("descent.current_tier", { session_id, ac_id: "red" });
    assertEquals([now.ac_id, now.tier, now.status], ["red", "T4", "failed"]);

    const missing = { id: "none", description: "no program", command: "no-such-program-of-svc" };
    const passed = await run(client, { session_id, spec: spec([missing]) });
    assertEquals(passed.sessions[0].acceptance_criteria[0].status, "soft_passed");
    const tiers = await client.call("descent.current_tier", { session_id, ac_id: "none" });
    assertEquals([tiers[0].tier, tiers[0].status], ["T8", "passed"]);
  },
);

section4("svc_build_from_sow and its four companions", async () => {
  await using client = await connect(it);
  const repo_root = join(it.workdir(), "made");
  const said = { id: "said", description: "env reaches the check", command: '[ "$WORD" = x ]' };
  const sow = JSON.stringify(spec([said]));
  const params = { repo_root, sow, runner: "builtin/toolbelt", env: { WORD: "x" } };
  const built = await client.call("svc_build_from_sow", params);
  assertEquals(Object.keys(built).sort(), [
    ...["mission_id", "repo_root", "sow_path", "started_at", "status", "stderr_log", "stdout_log"],
  ]);
  const { mission_id } = built;
  assertMatch(mission_id, MISSION_ID);
  const { session_id } = await client.call("mission.get", { mission_id });
  await follow(client, session_id);
  await event(client, "session.ended");
  const state = await client.call("svc_get_mission_status", { mission_id });
  assertEquals([state.status, state.exit_code, state.repo_root], ["success", 0, repo_root]);
  const logs = await client.call("svc_get_mission_logs", { mission_id });
  assertEquals(logs.stdout, Deno.readTextFileSync(built.stdout_log).trimEnd());
  const { missions } = await client.call("svc_list_missions");
  assertEquals(missions[0].mission_id, mission_id);
  assertEquals((await client.call("svc_cancel_mission", { mission_id })).status, "success");
});
