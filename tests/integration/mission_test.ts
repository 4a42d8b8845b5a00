/** Missions on real repositories: carried out, repaired, merged, cancelled, killed and resumed. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { MissionModel, RESULT, SPEC } from "../support/missions.ts";
import { Random } from "../support/random.ts";
import { gitInstalled, Repository } from "../support/repository.ts";
import { processesWith, Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows" || !gitInstalled();

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Any = any;

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

/** The tasks and criteria of a mission by their ids. */
function parts(mission: Any): Map<string, Any> {
  return new Map(
    mission.sessions.flatMap(({ tasks, acceptance_criteria }: Any) =>
      [...tasks, ...acceptance_criteria].map((it: Any) => [it.id, it])
    ),
  );
}

async function ended(scenario: Scenario, mission_id: string): Promise<Any> {
  // Not each 20 ms: an answer is long, and a mission takes seconds.
  for (const end = Date.now() + 180_000; Date.now() < end; await delay(150)) {
    const mission = await scenario.client.rpc.call("mission.get", { mission_id });
    if (mission.status !== "running") return mission;
  }
  throw new Error("the mission did not end");
}

/** Asserts what a whole run of {@linkcode SPEC} leaves in a repository. */
function assertDelivered(repo: Repository): void {
  for (const [path, content] of Object.entries(RESULT)) {
    assertEquals(Deno.readTextFileSync(join(repo.root, path)), content, path);
  }
  assertEquals(repo.git("status", "--porcelain"), "");
  assertEquals(repo.git("branch", "--list", "svc/*"), "", "no branch is left");
  assertEquals([...Deno.readDirSync(join(repo.root, ".svc", "worktrees"))], []);
  assertEquals(repo.git("worktree", "list").split("\n").length, 1);
}

test("a mission is carried out: in parallel, with a conflict, a repair and all kinds of criteria", async () => {
  const model = new MissionModel();
  using repo = new Repository();
  await using scenario = await Scenario.begin(model.script, {
    start: { workdir: repo.root },
  });
  const { mission_id, session_id, status } = await scenario.call("mission.create", { spec: SPEC });
  assertEquals([status, session_id], ["running", scenario.session_id]);
  // The session's own turns go on beside it.
  await scenario.turn("And you?");

  const mission = await ended(scenario, mission_id);
  assertEquals([mission.status, mission.error], ["completed", undefined]);
  assertDelivered(repo);
  const { missions: [item] } = await scenario.client.rpc.call("mission.list", {});
  assertEquals([item.criteria_passed, item.criteria_total], [4, 4]);
  assertEquals([item.commit, mission.commit], [repo.git("rev-parse", "HEAD"), item.commit]);
  const by_id = parts(mission);
  for (const id of ["base", "left", "right", "join", "sum", "notes"]) {
    assertEquals([by_id.get(id).status, by_id.get(id).attempts], ["completed", 1], id);
    assertEquals(model.begun.get(id), 1, id);
  }
  for (const id of ["there", "both", "judged", "adds"]) {
    assertEquals(by_id.get(id).status, "passed", id);
  }
  assertEquals(model.asked.filter((it) => it === "conflict").length, 1);
  assertEquals(model.asked.filter((it) => it === "repair").length, 1);

  // What was tried for the criterion that failed, and what shows it.
  const { attempts } = await scenario.call("descent.tier_history", { ac_id: "adds" });
  assertEquals(attempts.map(({ tier, status }: Any) => `${tier} ${status}`), [
    ...["T1 running", "T1 passed", "T2 running", "T2 failed", "T3 running", "T3 passed"],
    ...["T4 running", "T2 running", "T2 passed", "T4 passed"],
    // Once more, because something was changed after the others had passed.
    ...["T1 running", "T1 passed", "T2 running", "T2 passed"],
  ]);
  const failed = attempts.find(({ status }: Any) => status === "failed");
  const [of, seq] = failed.evidence_ref.split("#");
  assertEquals(of, mission_id);
  const { entries } = await scenario.client.rpc.call("mission.logs", {
    mission_id,
    since_seq: Number(seq) - 1,
    limit: 1,
  });
  assertEquals([entries[0].event, entries[0].ac_id], ["check_failed", "adds"]);
  assertStringIncludes(entries[0].detail, "1 failed: got 6");
  const [now] = await scenario.call("descent.current_tier", { ac_id: "adds" });
  assertEquals([now.tier, now.status], ["T2", "passed"]);

  // The lanes that mirror it, below the mission's own; they end after it and before this is said.
  const completed = await scenario.event("mission.completed");
  assertEquals((completed.data as Any).status, "completed");
  const { lanes } = await scenario.call("lanes.list");
  const own = lanes.find((lane: Any) => lane.label === "mission Demo");
  const below = lanes.filter((lane: Any) => lane.parent_lane_id === own.lane_id);
  assertEquals(below.length, 6 + 2);
  assert([own, ...below].every((lane: Any) => lane.status === "done"), JSON.stringify(lanes));
  const { sessions } = await scenario.client.rpc.call("session.list", {});
  assertEquals(sessions.map((it: Any) => it.id), [scenario.session_id], "its sessions have ended");
});

test("killed at any point, a mission goes on after a restart and repeats nothing that is done", async () => {
  const model = new MissionModel();
  using repo = new Repository();
  await using scenario = await Scenario.begin(model.script, { start: { workdir: repo.root } });
  const { mission_id } = await scenario.call("mission.create", { spec: SPEC });
  const random = new Random(Date.now());
  const done = new Map<string, number>();
  for (let kill = 0; kill < 3; kill++) {
    const { last_seq } = await scenario.call("session.get");
    const seq = last_seq + random.below(50);
    const at = `seed ${random.seed}, kill ${kill} at seq ${seq}`;
    const { status } = await scenario.client.rpc.call("mission.get", { mission_id });
    // One whose end was recorded just before a kill does not say so any more.
    if (status !== "running") break;
    await scenario.client.wait(
      (event) => event.seq >= seq || event.type === "mission.completed",
      at,
      60_000,
    );
    const mission = await scenario.client.rpc.call("mission.get", { mission_id });
    for (const [id, { status }] of parts(mission)) {
      if (status === "completed") done.set(id, model.begun.get(id)!);
    }
    await scenario.restart();
  }
  const mission = await ended(scenario, mission_id);
  assertEquals([mission.status, mission.error], ["completed", undefined]);
  assertDelivered(repo);
  for (const [id, times] of done) assertEquals(model.begun.get(id), times, `${id} was repeated`);
  const { sessions } = await scenario.client.rpc.call("session.list", { include_ended: true });
  assertEquals(sessions.filter((it: Any) => it.state === "unreadable"), []);
  assertEquals(
    sessions.filter((it: Any) => it.state !== "ended").map((it: Any) => it.id),
    [scenario.session_id],
  );
});

test("a graceful stop parks a mission; it goes on with the next daemon", async () => {
  const model = new MissionModel();
  using repo = new Repository();
  await using scenario = await Scenario.begin(model.script, { start: { workdir: repo.root } });
  const { mission_id } = await scenario.call("mission.create", { spec: SPEC });
  await scenario.event("mission.task_completed");
  await scenario.daemon.stop();
  await scenario.restart();
  const mission = await ended(scenario, mission_id);
  assertEquals([mission.status, mission.error], ["completed", undefined]);
  assertDelivered(repo);
  assertEquals(model.begun.get("base"), 1);
  // What a task's session did can be read when its worktree is long gone.
  await scenario.restart();
  const { session_id } = parts(mission).get("join");
  const transcript = await scenario.client.rpc.call("session.transcript", { session_id });
  assertStringIncludes(transcript.messages[0].text, "# Task join of the mission");
  const descents = await scenario.call("descent.current_tier");
  assertEquals(descents.map(({ ac_id }: Any) => ac_id).sort(), ["adds", "both", "judged", "there"]);
});

for (const how of ["a stop", "a kill"]) {
  test(`a task that ${how} cuts off goes on: nothing of it is done again`, async () => {
    let hangs = 0;
    const effect = { name: "run_command", args: { command: "echo once >> effects.txt" } };
    using repo = new Repository();
    await using scenario = await Scenario.begin(({ messages }) => {
      const step = messages.filter(({ role }) => role === "assistant").length;
      if (step === 0) return { calls: [effect] };
      if (step === 1 && hangs++ < 2) return { text: ["Half ", "of it"], hang_after: 2 };
      return { text: "Done." };
    }, { start: { workdir: repo.root } });
    const criterion = { id: "there", description: "it is there", file_exists: "effects.txt" };
    const spec = {
      id: "one",
      name: "One",
      sessions: [{
        id: "s",
        title: "S",
        tasks: [{ id: "only", description: "Write effects.txt." }],
        acceptance_criteria: [criterion],
      }],
    };
    const { mission_id } = await scenario.call("mission.create", { spec });
    const task = async () =>
      parts(await scenario.client.rpc.call("mission.get", { mission_id })).get("only");
    for (let cut = 1; cut <= 2; cut++) {
      await until(() => hangs === cut, "the model hangs");
      if (how === "a stop") {
        await scenario.client.rpc.call("daemon.shutdown", { grace_s: 0 });
        await scenario.daemon.ended();
      }
      await scenario.restart();
    }
    const mission = await ended(scenario, mission_id);
    assertEquals([mission.status, mission.error], ["completed", undefined]);
    assertEquals(Deno.readTextFileSync(`${repo.root}/effects.txt`), "once\n");
    assertEquals((await task()).attempts, 1);
    const { sessions } = await scenario.client.rpc.call("session.list", {});
    assertEquals(
      sessions.map((it: Any) => it.id),
      [scenario.session_id],
      "its sessions have ended",
    );
    const worktrees = repo.git("worktree", "list");
    assertEquals(worktrees.split("\n").length, 1, worktrees);
  });
}

for (const how of ["mission.cancel", "session.kill"]) {
  test(`${how} leaves no process, session or worktree of a mission, and the workdir as it was`, async () => {
    using repo = new Repository();
    const mark = `sleep 600.${Math.floor(Math.random() * 1e9)}`;
    await using scenario = await Scenario.begin(() => ({
      calls: [{ name: "run_command", args: { command: mark } }],
    }));
    const call = (name: string, params: Record<string, unknown>) =>
      scenario.client.rpc.call(name, params);
    const head = repo.git("rev-parse", "HEAD");
    const { mission_id, session_id } = await call("mission.create", {
      workdir: repo.root,
      spec: SLEEPY,
      model: scenario.model,
      parallel: 2,
      approval: "auto",
    });
    // A sandboxed command is more than one process.
    await until(async () => {
      const tasks = parts(await call("mission.get", { mission_id }));
      const run = [..."ab"].every((id) => tasks.get(id).status === "running");
      return run && processesWith(mark).length >= 2;
    }, "two commands");
    await call(how, how === "mission.cancel" ? { mission_id } : { session_id });
    assertEquals((await ended(scenario, mission_id)).status, "cancelled");
    // They have been killed; the kernel may take its time for the rest.
    await until(() => processesWith(mark).length === 0, "the end of the commands");
    const open = async () => (await call("session.list", {})).sessions.map((it: Any) => it.id);
    await until(async () => (await open()).length === 1, "the end of its sessions");
    assertEquals(await open(), [scenario.session_id]);
    assertEquals((await call("session.get", { session_id })).state, "ended");
    assertEquals(repo.git("worktree", "list").split("\n").length, 1);
    assertEquals(repo.git("branch", "--list", "svc/*"), "");
    assertEquals(repo.git("rev-parse", "HEAD"), head);
    const by_id = parts(await call("mission.get", { mission_id }));
    assertEquals([..."abc"].map((id) => by_id.get(id).status), [
      ...["cancelled", "cancelled", "skipped"],
    ]);
    assertEquals(by_id.get("c").error, "the mission is cancelled");
    assertEquals((await call("mission.cancel", { mission_id })).status, "cancelled");
  });
}

const SLEEPY = {
  id: "sleepy",
  name: "Sleepy",
  sessions: [{
    id: "s",
    title: "S",
    tasks: ["a", "b", "c"].map((id) => ({ id, description: "Sleep." })),
  }],
};

test("killing a task's lane cancels that task; what does not need it goes on when asked to", async () => {
  using repo = new Repository();
  const model = new MissionModel();
  await using scenario = await Scenario.begin((request) => {
    const hang = request.messages.some((it) => it.role === "user" && it.text.includes("Task left"));
    if (!hang) return model.script(request);
    model.countBegun("left");
    return { hang_after: 0 };
  }, { start: { workdir: repo.root } });
  const [{ tasks, ...words }] = SPEC.sessions;
  // Looked at before what it needs.
  const after = { id: "after", description: "Never.", dependencies: ["join"] };
  const session = { ...words, tasks: [after, ...tasks], acceptance_criteria: [] };
  const { mission_id } = await scenario.call("mission.create", {
    spec: { ...SPEC, sessions: [session] },
    continue_on_failure: true,
  });
  const started = await scenario.event(
    "mission.task_started",
    ({ data }) => (data as Any).task_id === "left",
  );
  const { lane_id } = started.data as Any;
  // The other task waits until this one was told to the model, too.
  await until(() => model.begun.has("left"), "the task reaches its model");
  await scenario.event(
    "mission.task_completed",
    ({ data }) => (data as Any).task_id === "right",
  );
  await scenario.call("lanes.kill", { lane_id });
  const mission = await ended(scenario, mission_id);
  const by_id = parts(mission);
  assertEquals(mission.status, "failed");
  assertEquals(["base", "left", "right", "join"].map((id) => by_id.get(id).status), [
    ...["completed", "cancelled", "completed", "skipped"],
  ]);
  const why = { join: "task left is cancelled", after: "task join is skipped" };
  for (const [id, error] of Object.entries(why)) {
    assertEquals([by_id.get(id).status, by_id.get(id).error], ["skipped", error]);
  }
  const { entries } = await scenario.call("mission.logs", { mission_id });
  const skipped = entries.filter(({ event }: Any) => event === "skipped");
  assertEquals(
    skipped.map(({ task_id, detail }: Any) => [task_id, detail]),
    Object.entries(why),
  );
  assertStringIncludes(mission.error, "task left was cancelled: its lane was stopped");
  assertStringIncludes(mission.error, `the branch svc/${mission_id}`);
  assertEquals(repo.git("show", `svc/${mission_id}:shared.txt`), "right");
  assertEquals(repo.git("status", "--porcelain"), "", "the workdir is as it was");
});

test("without git the tasks run one after the other in the workdir itself", async () => {
  const model = new MissionModel();
  await using scenario = await Scenario.begin(model.script);
  const spec = { ...SPEC, sessions: [SPEC.sessions[1]].map(withoutJoin) };
  const { mission_id, branch } = await scenario.call("mission.create", { spec });
  assertEquals(branch, undefined);
  const mission = await ended(scenario, mission_id);
  assertEquals([mission.status, mission.error], ["completed", undefined]);
  for (const path of ["sum.sh", "notes.txt"]) {
    assertEquals(Deno.readTextFileSync(join(scenario.workdir, path)), RESULT[path]);
  }
});

function withoutJoin(session: typeof SPEC.sessions[number]) {
  return { ...session, tasks: session.tasks.map((task) => ({ ...task, dependencies: [] })) };
}

test("a mission that failed is resumed: what is done is not repeated", async () => {
  const model = new MissionModel();
  using repo = new Repository();
  await using scenario = await Scenario.begin(model.script, { start: { workdir: repo.root } });
  const flag = { id: "flag", description: "a person agrees", file_exists: "agreed.txt" };
  const [first] = SPEC.sessions;
  const spec = { ...SPEC, sessions: [{ ...first, acceptance_criteria: [flag] }] };
  const { mission_id } = await scenario.call("mission.create", { spec });
  const failed = await ended(scenario, mission_id);
  assertEquals(failed.status, "failed");
  assertStringIncludes(failed.error, "not met: flag (a person agrees)");
  assertEquals(repo.git("status", "--porcelain"), "", "the workdir is as it was");

  repo.write({ "agreed.txt": "yes\n" });
  repo.commit("agree");
  const resumed = await scenario.call("mission.create", { spec, resume: true });
  assertEquals(resumed.mission_id, mission_id);
  const mission = await ended(scenario, mission_id);
  assertEquals([mission.status, mission.error], ["completed", undefined]);
  for (const [id, times] of model.begun) assertEquals(times, 1, `${id} was repeated`);
  assertEquals(repo.git("show", "HEAD:join.txt"), "left right");
  assertEquals(repo.git("branch", "--list", "svc/*"), "");
});

test("what a person commits meanwhile stays, below what the mission brings", async () => {
  const model = new MissionModel();
  const committed = Promise.withResolvers<void>();
  using repo = new Repository();
  await using scenario = await Scenario.begin(async (request) => {
    // The tasks begin once the prefix is warm, or half a minute later.
    const warms = JSON.stringify(request.messages).includes("Answer with the word ready.");
    if (!warms) await committed.promise;
    return model.script(request);
  }, { start: { workdir: repo.root } });
  const [, second] = SPEC.sessions;
  const spec = { ...SPEC, sessions: [{ ...withoutJoin(second), acceptance_criteria: [] }] };
  const { mission_id } = await scenario.call("mission.create", { spec });
  await scenario.event("mission.task_started");
  repo.write({ "person.txt": "mine\n" });
  repo.commit("the person's own");
  committed.resolve();
  const mission = await ended(scenario, mission_id);
  assertEquals([mission.status, mission.error], ["completed", undefined]);
  for (const path of ["person.txt", "notes.txt", "sum.sh"]) {
    repo.git("cat-file", "-e", `HEAD:${path}`);
  }
  assertEquals(repo.git("status", "--porcelain"), "");
});

test("a mission ends when its budget is spent, and goes on with a larger one", async () => {
  const model = new MissionModel();
  using repo = new Repository();
  await using scenario = await Scenario.begin(async (request) => ({
    ...await model.script(request),
    usage: { input: 1_000_000, output: 0 },
  }), {
    start: { workdir: repo.root },
    toml: '[prices."local/model-1"]\ninput = 1\noutput = 1\n',
  });
  const [, second] = SPEC.sessions;
  const spec = { ...SPEC, sessions: [{ ...withoutJoin(second), acceptance_criteria: [] }] };
  const { mission_id } = await scenario.call("mission.create", {
    spec,
    parallel: 1,
    budget_usd: 2.5,
  });
  const spent = await ended(scenario, mission_id);
  assertEquals([spent.status, spent.cost_usd], ["failed", 3]);
  assertStringIncludes(spent.error, "the mission's budget of $2.5 is spent");
  assertEquals(["sum", "notes"].map((id) => parts(spent).get(id).status), [
    ...["completed", "cancelled"],
  ]);
  await scenario.call("mission.create", { spec, budget_usd: 10, resume: true });
  const mission = await ended(scenario, mission_id);
  assertEquals([mission.status, mission.error, mission.cost_usd], ["completed", undefined, 5]);
  assertEquals(model.begun.get("sum"), 1);
});

test("where approvals are asked for, a mission asks: its lanes are blocked until then", async () => {
  const calls = [{ name: "run_command", args: { command: "echo done > done.txt" } }];
  await using scenario = await Scenario.begin(
    ({ messages }) => messages.at(-1)!.role === "user" ? { calls } : { text: "Done." },
    {
      start: { approval: "ask" },
    },
  );
  const criterion = { id: "none", description: "x", command: "no-such-program-of-svc" };
  const spec = {
    id: "asks",
    name: "Asks",
    sessions: [{
      id: "s",
      title: "S",
      tasks: [{ id: "t", description: "Do it." }],
      acceptance_criteria: [criterion],
    }],
  };
  const { mission_id } = await scenario.call("mission.create", { spec });
  const approve = async (session_id: string, decision: string) => {
    let approval_id = "";
    await until(async () => {
      const session = await scenario.client.rpc.call("session.get", { session_id });
      approval_id = session.pending_approvals[0]?.approval_id ?? "";
      return approval_id !== "";
    }, "an approval");
    await scenario.client.rpc.call("session.approve", { session_id, approval_id, decision });
  };
  const started = await scenario.event("mission.task_started");
  const { lane_id, session_id } = started.data as Any;
  await scenario.event("lane.status", ({ data }) => {
    const { lane_id: of, status } = data as Any;
    return of === lane_id && status === "blocked";
  });
  await approve(session_id, "allow");
  await scenario.event("mission.task_completed");
  assertEquals(Deno.readTextFileSync(join(scenario.workdir, "done.txt")), "done\n");

  // Mending the environment needs commands too, and at the end a soft pass needs the person.
  const of = (title: string) => async () => {
    const { sessions } = await scenario.client.rpc.call("session.list", {});
    return sessions.find((it: Any) => it.works_for === mission_id && it.title.includes(title))?.id;
  };
  let acceptance = "";
  await until(
    async () => (acceptance = await of("criteria of")() ?? "") !== "",
    "the criteria's session",
  );
  for (let turn = 0; turn < 2; turn++) await approve(acceptance, "allow");
  const asked = await scenario.event("approval.requested");
  assertEquals((asked.data as Any).tool, "mission.descend");
  await approve(scenario.session_id, "deny");
  const mission = await ended(scenario, mission_id);
  assertEquals(mission.status, "failed");
  assertEquals(parts(mission).get("none").status, "failed");
  const [now] = await scenario.call("descent.current_tier", { ac_id: "none" });
  assertEquals([now.tier, now.status], ["T8", "failed"]);
});

for (const approval of ["ask", "read_only"]) {
  test(`in worktrees a mission asks too where ${approval} is the rule, unless it says it does not`, async () => {
    const calls = [{ name: "run_command", args: { command: "echo done > done.txt" } }];
    await using scenario = await Scenario.begin(
      ({ messages }) => messages.at(-1)!.role === "user" ? { calls } : { text: "Done." },
      { toml: `[agent]\napproval = "${approval}"` },
    );
    const tasks = [{ id: "t", description: "Do it." }];
    const spec = { id: "asks", name: "Asks", sessions: [{ id: "s", title: "S", tasks }] };
    const begin = async (workdir: string, more: Record<string, unknown>): Promise<string> => {
      const params = { workdir, spec, model: scenario.model, ...more };
      return (await scenario.client.rpc.call("mission.create", params)).mission_id;
    };
    const sessionOf = async (mission_id: string): Promise<Any> => {
      const mission = await scenario.client.rpc.call("mission.get", { mission_id });
      const { session_id } = parts(mission).get("t");
      return session_id && await scenario.client.rpc.call("session.get", { session_id });
    };
    using repo = new Repository();
    const asking = await begin(repo.root, {});
    await until(
      async () => (await sessionOf(asking))?.activity === "awaiting_approval",
      "a question of the task",
    );
    await scenario.client.rpc.call("mission.cancel", { mission_id: asking });
    using other = new Repository();
    const silent = await begin(other.root, { approval: "auto" });
    assertEquals((await ended(scenario, silent)).status, "completed");
    assertEquals((await sessionOf(silent)).approval, "auto");
    // People read what it is about, also in lists and after a restart.
    const known = async () => {
      const { id } = await sessionOf(silent);
      const params = { include_ended: true };
      const { sessions } = await scenario.client.rpc.call("session.list", params);
      const { title, works_for } = sessions.find((it: Any) => it.id === id);
      return [title, works_for];
    };
    assertEquals(await known(), ["Asks · Do it.", silent]);
    await scenario.restart();
    assertEquals(await known(), ["Asks · Do it.", silent]);
  });
}

test("the old tools build from a statement of work too", async () => {
  const model = new MissionModel();
  using repo = new Repository();
  await using scenario = await Scenario.begin(model.script);
  const call = (name: string, params: Record<string, unknown>) =>
    scenario.client.rpc.call(name, params);
  const built = await call("svc_build_from_sow", {
    repo_root: repo.root,
    sow: JSON.stringify(SPEC),
    runner: scenario.model,
  });
  const { mission_id } = built;
  assertEquals([built.status, built.repo_root], ["running", repo.root]);
  assertEquals(JSON.parse(Deno.readTextFileSync(built.sow_path)).name, "Demo");
  for (const path of [built.sow_path, built.stdout_log, built.stderr_log]) {
    assertEquals(Deno.statSync(path).mode! & 0o777, 0o600, path);
  }
  await until(
    async () => (await call("svc_get_mission_status", { mission_id })).status !== "running",
    "the build's end",
    180_000,
  );
  const state = await call("svc_get_mission_status", { mission_id });
  assertEquals([state.status, state.exit_code, state.error], ["success", 0, undefined]);
  assertDelivered(repo);
  const logs = await call("svc_get_mission_logs", { mission_id, tail_lines: 2 });
  assertStringIncludes(logs.stdout, "completed");
  assertStringIncludes(logs.stderr, "1 failed: got 6");
  const { missions } = await call("svc_list_missions", {});
  assertEquals(missions.map((it: Any) => [it.mission_id, it.status]), [[mission_id, "success"]]);
  const cancelled = await call("svc_cancel_mission", { mission_id });
  assertEquals(cancelled.status, "success");
});

test("workers that begin at once find a warmed prefix; what warming it cost is counted", async () => {
  using repo = new Repository();
  await using scenario = await Scenario.begin(() => ({ text: "Done." }), { provider: "anthropic" });
  const { mission_id, session_id } = await scenario.client.rpc.call("mission.create", {
    workdir: repo.root,
    spec: {
      id: "warm",
      name: "Warm",
      sessions: [{
        id: "s1",
        title: "Both",
        tasks: ["a", "b"].map((id) => ({ id, description: `Do ${id}.` })),
      }],
    },
    model: scenario.model,
    parallel: 2,
  });
  await ended(scenario, mission_id);
  const firsts = scenario.server.requests.map(({ body }) => JSON.stringify(body.messages));
  assertStringIncludes(firsts[0], "Answer with the word ready.");
  assertEquals(firsts.filter((it) => it.includes("the word ready")).length, 1);
  const { entries } = await scenario.client.rpc.call("mission.logs", { mission_id });
  const line = entries.find(({ event }: Any) => event === "prewarmed");
  assert(line !== undefined, JSON.stringify(entries));
  const { tokens_in } = await scenario.client.rpc.call("session.get", { session_id });
  assert(tokens_in > 0, "the call counts in the mission's session");
});
