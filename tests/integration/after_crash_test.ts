/** What a daemon finds of its predecessor, which was killed: nothing that looks as if it ran, nothing lost. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { SvcError } from "../../src/protocol/errors.ts";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { Repository } from "../support/repository.ts";
import { processesWith, type Provider, Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

// deno-lint-ignore no-explicit-any -- what verbs answer
type Any = any;

const SPEC = {
  id: "one",
  name: "One",
  sessions: [{
    id: "s1",
    title: "s",
    tasks: [{ id: "only", description: "Write mission.txt." }],
    acceptance_criteria: [{ id: "there", description: "it is", file_exists: "mission.txt" }],
  }],
};

/** Work that lasts until its daemon ends, and is done at once when it is asked for again. */
function lasting(marker: string, begun: Set<string>): Scripted {
  const forever = (more = {}) => ({
    name: "run_command",
    args: { command: `sleep 600; : ${marker}`, ...more },
  });
  return ({ messages }): Answer => {
    const at = messages.findLastIndex(({ role }) => role === "user");
    const { text } = messages[at] as { text: string };
    const first = messages.length - 1 === at;
    const kind = ["Task only", "code task", "job-below", "job-main"].find((it) =>
      text.includes(it)
    )!;
    if (!first) return { text: "Done." };
    const again = begun.has(kind);
    begun.add(kind);
    if (kind === "job-main") {
      const agent = { name: "agent", args: { description: "below", task: "job-below" } };
      return { calls: [forever({ background: true }), agent, forever()] };
    }
    if (!again) return { calls: [forever()] };
    const path = kind === "Task only" ? "mission.txt" : "task.txt";
    return { calls: [{ name: "write_file", args: { path, content: "done\n" } }] };
  };
}

for (const how of ["killed", "stopped"]) {
  test(`${how} at work, a daemon leaves nothing that runs on in any list; missions and tasks go on`, async () => {
    const marker = `left-${crypto.randomUUID()}`;
    using repo = new Repository();
    const begun = new Set<string>();
    await using it = await Scenario.begin(lasting(marker, begun), {
      toml: `[agent]\ncontinue = "never"\n`,
    });
    const { rpc } = it.client;
    await it.send("job-main");
    const { mission_id } = await rpc.call("mission.create", {
      spec: SPEC,
      workdir: repo.root,
      approval: "auto",
      model: it.model,
    });
    const workdir = it.place.mkdir("task");
    const task = {
      task_type: "code",
      description: "code task",
      extra: { workdir, model: it.model },
    };
    const { id } = await rpc.call("queue.enqueue", task);
    const lanes = async () => (await it.call("session.get")).lanes as Any[];
    await until(async () => (await lanes()).some((lane) => lane.lane_id !== "main"), "a lane");
    await until(() => begun.size === 4 && processesWith(marker).length >= 8, "all are at work");

    if (how === "stopped") {
      await rpc.call("daemon.shutdown", { grace_s: 0 });
      await it.daemon.ended();
    }
    await it.restart();
    const next = it.client.rpc;
    const { activity, background, pending_approvals } = await it.call("session.get");
    assertEquals([activity, background, pending_approvals], ["idle", [], []]);
    const open = (await lanes()).filter((lane) =>
      lane.lane_id !== "main" && ["running", "blocked", "pending"].includes(lane.status)
    );
    assertEquals(open, []);
    const { commands } = await it.call("background.list");
    assertEquals(commands.filter((one: Any) => one.running), []);
    const ended = await it.event("background.ended");
    assertEquals(ended.data.reason, "daemon_stopped");
    const mission = () => next.call("mission.get", { mission_id });
    await until(async () => (await mission()).status !== "running", "the mission's end");
    assertEquals((await mission()).status, "completed");
    const record = () => next.call("task.get", { task_id: id });
    await until(async () => !["queued", "running"].includes((await record()).status), "the task");
    const { status, error } = await record();
    assertEquals([status, error], ["completed", undefined]);
    assert(await Deno.readTextFile(join(workdir, "task.txt")) === "done\n");
    const { sessions } = await next.call("session.list");
    assertEquals(sessions.map((one: Any) => [one.id, one.activity]), [[it.session_id, "idle"]]);
    assertEquals((await next.call("queue.status")).busy, 0);
    await until(() => processesWith(marker).length === 0, "nothing of it runs");
  });
}

const SLEEP = { name: "run_command", args: { command: "sleep 600" } };
const ALL: Provider[] = ["openai-compatible", "openai-responses", "anthropic", "google"];

for (const provider of ALL) {
  test(`${provider} takes the conversation that a crash has cut off in its calls`, async () => {
    await using it = await Scenario.begin(
      [{ text: "Now.", calls: [SLEEP, SLEEP] }, { text: "Fine." }],
      { provider },
    );
    await it.send("go");
    await it.event("session.tool_started");
    await it.restart();
    const { data } = await it.turn("and now?");
    assertEquals([data.stop_reason, data.message], ["ok", "Fine."]);
    const [, step, results] = it.asked.at(-1)! as Any[];
    assertEquals(
      results.results.map((one: Any) => one.call_id),
      step.calls.map((one: Any) => one.call_id),
    );
  });
}

test("a message that waited when its daemon was killed is answered by itself, once", async () => {
  await using it = await Scenario.begin([{ calls: [SLEEP] }, { text: "Both." }]);
  await it.send("go");
  await it.event("session.tool_started");
  await it.send("and this");
  await it.restart();
  const { data } = await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
  assertEquals(data.message, "Both.");
  const said = it.asked.at(-1)!.flatMap((one) => one.role === "user" ? [one.text] : []);
  assertEquals(said.filter((text) => text.includes("and this")).length, 1);
  await delay(300);
  assertEquals(it.server.requests.length, 2);
});

test("an answer to a question of a killed daemon is refused, and blocks nothing", async () => {
  await using it = await Scenario.begin([{ calls: [SLEEP] }, { text: "Fine." }], {
    start: { approval: "ask" },
  });
  await it.send("go");
  const { approval_id } = (await it.event("approval.requested")).data;
  await it.restart();
  const answer = it.call("session.approve", { approval_id, decision: "allow" });
  const { code } = await assertRejects(() => answer, SvcError);
  assert(["conflict", "not_found"].includes(code), code);
  assertEquals((await it.turn("and now?")).data.message, "Fine.");
});

test("svc chat -p gets its answer, whenever the daemon is killed", async () => {
  const answer = { text: ["All ", "of ", "it."], pace_ms: 40 };
  await using it = await Scenario.begin(() => answer);
  const flags = ["-m", it.model, "-p", "count", "--approve", "auto"];
  for (const at_ms of [60, 110, 160, 220, 300]) {
    const chat = it.place.svc(["chat", it.place.mkdir(`chat-${at_ms}`), ...flags]);
    await delay(at_ms);
    try {
      Deno.kill(it.place.discovery().pid, "SIGKILL");
    } catch {
      // It is being started.
    }
    const { code, stdout, stderr } = await chat;
    assertEquals([code, stdout.trim(), stderr], [0, "All of it.", ""], `killed after ${at_ms} ms`);
  }
});
