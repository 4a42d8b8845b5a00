/** Subagents: agents that do a task for a call, each with a conversation of its own. */
import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { PROVIDERS, Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;

/** Answers each conversation, known by its first message, with steps of its own. */
function conversations(steps: Record<string, readonly (Answer | Scripted)[]>): Scripted {
  return (request) => {
    const first = request.messages.find(({ role }) => role === "user") as { text: string };
    const own = steps[first.text];
    const at = request.messages.filter(({ role }) => role === "assistant").length;
    if (own?.[at] === undefined) {
      return { status: { code: 400, message: `no step ${at} for ${first.text}` } };
    }
    const step = own[at];
    return typeof step === "function" ? step(request) : step;
  };
}

function test(
  name: string,
  steps: Record<string, readonly (Answer | Scripted)[]>,
  run: (it: Scenario) => Promise<void>,
  options?: ScenarioOptions,
): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using it = await Scenario.begin(conversations(steps), options);
      await run(it);
    },
  });
}

interface Result {
  ok: boolean;
  output: string;
}

let calls = 0;
const agent = (task: string, more: Record<string, unknown> = {}) => ({
  id: `call_a${++calls}`,
  name: "agent",
  args: { description: `work on ${task}`, task, ...more },
});
const run = (command: string) => ({ id: "call_1", name: "run_command", args: { command } });
const results = (it: Scenario) =>
  it.client.of("session.tool_completed").map(({ data }) => [data.ok, data.output]);
const toolMessage = (it: Scenario) =>
  it.asked.at(-1)!.findLast(({ role }) => role === "tool") as { results: Result[] };

for (const provider of [...PROVIDERS, "google", "openai-responses"] as const) {
  test(`two subagents work at the same time and their answers are the results (${provider})`, {
    go: [{ text: "Off.", calls: [agent("one"), agent("two")] }, { text: "Both are done." }],
    // Each waits for the file of the other one.
    one: [
      { text: "Working.", calls: [run("touch 1; until test -e 2; do sleep 0.05; done")] },
      { text: "One is done." },
    ],
    two: [
      { calls: [run("touch 2; until test -e 1; do sleep 0.05; done")] },
      { text: "Two is done." },
    ],
  }, async (it) => {
    const { data } = await it.turn("go");
    assertEquals([data.stop_reason, data.message], ["ok", "Off.\n\nBoth are done."]);
    assertEquals(results(it).toSorted(), [[true, "One is done."], [true, "Two is done."]]);
    // The conversation has the calls and their results, and nothing of what was done for them.
    const last = it.asked.at(-1)!;
    assertEquals(last.map(({ role }) => role), ["user", "assistant", "tool"]);
    assert(!JSON.stringify(last).includes("touch"));
    // They do not see it either, and cannot have subagents of their own.
    const own = it.asked.filter(([first]) => (first as { text: string }).text === "one");
    assertEquals(own.map(({ length }) => length), [1, 3]);
    const started = it.client.of("subagent.started").map((event) => event.data)
      .sort((a, b) => a.task < b.task ? -1 : 1);
    assertEquals(started.map(({ task, model, tools }) => [task, model, tools]), [
      ["one", it.model, "all"],
      ["two", it.model, "all"],
    ]);
    const { lanes } = await it.call("lanes.list");
    assertEquals(
      lanes.slice(1).map((it: { label: string; status: string }) => [it.label, it.status]).sort(),
      [["agent: work on one", "done"], ["agent: work on two", "done"]],
    );
    const { deltas, tokens } = await it.call("lanes.get", { lane_id: started[0].lane_id });
    assertGreater(tokens, 0);
    const text = deltas.map((delta: { text: string }) => delta.text).join("");
    assertMatch(text, /^Working\.\n\n→ run_command .*\n+One is done\.$/);
  }, { provider });
}

Deno.test({
  name: "a subagent is not offered the tool itself; with tools: read only what changes nothing",
  ignore,
  async fn() {
    const offered: Record<string, string[]> = {};
    const script = conversations({
      go: [{ calls: [agent("all"), agent("look", { tools: "read" })] }, { text: "Done." }],
      all: [{ text: "A" }],
      look: [{ calls: [{ name: "write_file", args: { path: "x", content: "x" } }] }, { text: "L" }],
    });
    await using it = await Scenario.begin((request) => {
      const [first] = request.messages as { text: string }[];
      offered[first.text] = request.tools;
      return script(request);
    });
    assertEquals((await it.turn("go")).data.stop_reason, "ok");
    assert(offered.go.includes("agent") && offered.go.includes("plan"));
    assertEquals(offered.all, offered.go.filter((name) => !["agent", "plan"].includes(name)));
    assert(offered.look.includes("read_file") && offered.look.includes("fetch_url"));
    for (const name of ["write_file", "run_command", "edit_file", "agent", "remember"]) {
      assert(!offered.look.includes(name), name);
    }
    const [{ data }] = it.client.of("subagent.tool_completed");
    assertMatch(data.output, /unknown tool write_file/);
    assertEquals([...Deno.readDirSync(it.workdir)].map(({ name }) => name), [".svc"]);
  },
});

test("questions of a subagent are in the session's queue, name it, and are decided there", {
  go: [{ calls: [agent("ask"), agent("other")] }, { text: "Done." }],
  ask: [{ calls: [run("echo one > one")] }, { calls: [run("echo two > two")] }, { text: "A" }],
  other: [{ calls: [run("echo three > three")] }, { text: "B" }],
}, async (it) => {
  const decide = async (fits: string, decision: string) => {
    const { data } = await it.event("approval.requested", ({ data }) => data.reason.includes(fits));
    const { approvals } = await it.client.rpc.call("approvals.list");
    assert(
      approvals.some((each: { approval_id: string }) => each.approval_id === data.approval_id),
    );
    await it.call("session.approve", { approval_id: data.approval_id, decision });
    return data;
  };
  await it.send("go");
  const asked = await decide("echo one", "allow");
  assertEquals(asked.reason, 'agent "work on ask": run echo one > one');
  assertEquals((await it.call("session.get")).activity, "awaiting_approval");
  const { status } = await it.call("lanes.get", { lane_id: asked.lane_id });
  assert(["running", "blocked"].includes(status), status);
  await decide("echo three", "deny");
  await decide("echo two", "allow_always");
  assertEquals((await it.event("turn.completed")).data.stop_reason, "ok");
  const made = [...Deno.readDirSync(it.workdir)].map(({ name }) => name).sort();
  assertEquals(made, [".svc", "one", "two"]);
  const rules = await it.call("permissions.list");
  assertStringIncludes(JSON.stringify(rules), "echo two > two");
}, { start: { approval: "ask" } });

test("rules and a read_only session hold in a subagent", {
  go: [{ calls: [agent("ruled")] }, { text: "Done." }],
  ruled: [
    { calls: [run("echo no > no")] },
    { calls: [{ name: "write_file", args: { path: "x", content: "x" } }] },
    { text: "R" },
  ],
}, async (it) => {
  await it.turn("go");
  const outputs = it.client.of("subagent.tool_completed").map(({ data }) => data.output);
  assertMatch(outputs[0], /denied by the person's rule/);
  assertMatch(outputs[1], /this session is read_only/);
}, { start: { approval: "read_only" }, toml: '[permissions]\ndeny = ["run_command: echo *"]\n' });

test("a session that works for others has no subagents", {
  go: [{ calls: [agent("one")] }, { text: "Done." }],
}, async (it) => {
  const { session_id } = await it.client.rpc.call("session.start", {
    workdir: it.workdir,
    model: it.model,
    approval: "auto",
    trust: "untrusted",
  });
  await it.client.rpc.call("session.subscribe", { session_id, since_seq: 0 });
  await it.client.turn(session_id, "go");
  assertMatch(it.client.of("session.tool_completed")[0].data.output, /unknown tool agent/);
  assertEquals(it.client.of("subagent.started"), []);
});

test("a killed lane ends its subagent and what it runs, and the turn goes on", {
  go: [{ calls: [agent("slow"), agent("fast")] }, { text: "One of two." }],
  slow: [{ text: "Begun.", calls: [run("echo x > begun; sleep 600")] }],
  fast: [{ text: "Fast." }],
}, async (it) => {
  await it.send("go");
  await until(() => [...Deno.readDirSync(it.workdir)].some(({ name }) => name === "begun"), "it");
  const { lane_id } = it.client.of("subagent.started")
    .find(({ data }) => data.task === "slow")!.data;
  await it.call("lanes.kill", { lane_id });
  const { data } = await it.event("turn.completed");
  assertEquals([data.stop_reason, data.message], ["ok", "One of two."]);
  const [told] = results(it).filter(([ok]) => !ok);
  assertMatch(String(told[1]), /^The subagent did not finish: its lane was killed/);
  assertMatch(String(told[1]), /- run_command .*: failed/);
  assertEquals((await it.call("lanes.get", { lane_id })).status, "cancelled");
});

test("cancelling the turn ends its subagents", {
  go: [{ calls: [agent("a"), agent("b")] }],
  a: [{ calls: [run("touch a; sleep 600")] }],
  b: [{ text: ["Half ", "of "], hang_after: 2 }],
}, async (it) => {
  await it.send("go");
  await until(() => [...Deno.readDirSync(it.workdir)].some(({ name }) => name === "a"), "a");
  await it.event("lane.delta", ({ data }) => data.content_block.text.includes("of"));
  await it.call("session.cancel");
  assertEquals((await it.event("turn.completed")).data.stop_reason, "cancelled");
  const ended = it.client.of("subagent.completed").map((
    { data },
  ) => [data.stop_reason, data.error]);
  assertEquals(ended, Array(2).fill(["cancelled", "the turn was stopped"]));
  const { lanes } = await it.call("lanes.list");
  assertEquals(lanes.slice(1).map(({ status }: { status: string }) => status), [
    "cancelled",
    "cancelled",
  ]);
  assertEquals(await it.server.requests.at(-1)!.ended, "closed by client");
});

test("a killed lane takes its open question with it; another one's stays and can be answered", {
  go: [{ calls: [agent("a"), agent("b")] }, { text: "Done." }],
  a: [{ calls: [run("echo a > a")] }],
  b: [{ calls: [run("echo b > b")] }, { text: "B" }],
}, async (it) => {
  await it.send("go");
  const asked = (name: string) =>
    it.event("approval.requested", ({ data }) => data.reason.includes(`echo ${name}`));
  const [a, b] = [(await asked("a")).data, (await asked("b")).data];
  await it.call("lanes.kill", { lane_id: a.lane_id });
  const { pending_approvals } = await it.call("session.get");
  const ids = pending_approvals.map((it: { approval_id: string }) => it.approval_id);
  assertEquals(ids, [b.approval_id]);
  await it.call("session.approve", { approval_id: b.approval_id, decision: "allow" });
  assertEquals((await it.event("turn.completed")).data.message, "Done.");
  const made = [...Deno.readDirSync(it.workdir)].map(({ name }) => name).sort();
  assertEquals(made, [".svc", "b"]);
}, { start: { approval: "ask" } });

for (const how of ["stop", "crash"] as const) {
  test(`a ${how} withdraws the question of a subagent, and the turn goes on without it`, {
    go: [{ calls: [agent("a")] }, { text: "Told." }],
    a: [{ calls: [run("echo a > a")] }],
  }, async (it) => {
    await it.send("go");
    await it.event("approval.requested");
    if (how === "stop") {
      await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
      assertEquals((await it.daemon.ended()).code, 0);
    }
    await it.restart();
    if (how === "crash") await it.call("session.continue");
    const ok = await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
    assertEquals(ok.data.message, "Told.");
    assertEquals((await it.client.rpc.call("approvals.list", {})).approvals, []);
    const { results: [{ output }] } = toolMessage(it);
    assertMatch(output, /svc was stopped while it ran/);
    assertEquals([...Deno.readDirSync(it.workdir)].map(({ name }) => name), [".svc"]);
  }, { start: { approval: "ask" } });
}

test("a stop with time to spare lets the call of a subagent end, and begins no other", {
  go: [{ calls: [agent("a")] }, { text: "Told." }],
  a: [{ calls: [run("touch begun; sleep 1; touch one")] }, { calls: [run("touch two")] }],
}, async (it) => {
  await it.send("go");
  await until(() => [...Deno.readDirSync(it.workdir)].some(({ name }) => name === "begun"), "it");
  await it.client.rpc.call("daemon.shutdown", { grace_s: 30 });
  assertEquals((await it.daemon.ended()).code, 0);
  await it.restart();
  assertEquals((await it.event("turn.completed")).data.message, "Told.");
  const { results: [{ output }] } = toolMessage(it);
  assertMatch(output, /svc was stopped while it ran[^]*touch one.*: done$/);
  const made = [...Deno.readDirSync(it.workdir)].map(({ name }) => name).sort();
  assertEquals(made, [".svc", "begun", "one"]);
});

for (const how of ["stop", "crash"] as const) {
  test(`after a ${how} the subagents that waited for others begin`, {
    go: [{ calls: [agent("first"), agent("second")] }, { text: "Told." }],
    first: [{ calls: [run("echo one >> out; sleep 600")] }],
    second: [{ calls: [run("echo two >> out")] }, { text: "Second." }],
  }, async (it) => {
    const out = () => Deno.readTextFile(join(it.workdir, "out")).catch(() => "");
    await it.send("go");
    await until(async () => (await out()).includes("one"), "the first one");
    if (how === "stop") {
      await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
      assertEquals((await it.daemon.ended()).code, 0);
    }
    await it.restart();
    if (how === "crash") await it.call("session.continue");
    const ok = await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
    assertEquals(ok.data.message, "Told.");
    const told = toolMessage(it).results.map(({ output }) => output).toSorted();
    assertEquals(told[0], "Second.");
    assertMatch(told[1], /svc was stopped while it ran/);
    assertEquals(await out(), "one\ntwo\n");
  }, { toml: "[subagents]\nparallel = 1\n" });
}

test("cancelling a turn with 1,000 subagents that wait ends it at once", {
  go: [{ calls: Array.from({ length: 1_000 }, () => agent("slow")) }],
  slow: [{ calls: [run("sleep 600")] }],
}, async (it) => {
  await it.send("go");
  await until(async () => (await it.call("lanes.list")).lanes.length > 4, "they run", 30_000);
  const before = performance.now();
  await it.call("session.cancel");
  await until(async () => (await it.call("session.get")).activity === "idle", "the end", 30_000);
  assert(performance.now() - before < 20_000);
  const { lanes } = await it.call("lanes.list");
  const open = lanes.filter(({ status }: { status: string }) => status === "running");
  assert(open.length <= 1, JSON.stringify(open));
}, { toml: "[subagents]\nper_turn = 1000\nparallel = 4\n" });

const PRICES = '[prices."local/model-1"]\ninput = 1\noutput = 1\n';
const dear = { input: 400_000, output: 100_000 };

test("what subagents spend counts for the turn and for the budget, which stops them", {
  go: [{ calls: [agent("dear")], usage: dear }, { text: "not reached" }],
  dear: [
    { calls: [run("true")], usage: dear },
    { calls: [run("echo 2")], usage: dear },
    { text: "not reached" },
  ],
}, async (it) => {
  const { data } = await it.turn("go");
  assertEquals([data.stop_reason, data.usage.usd], ["budget", 1.5]);
  const [[ok, output]] = results(it);
  assert(!ok);
  assertMatch(output, /did not finish: the session's budget of \$1.2 is used up/);
  assertMatch(output, /- run_command .*true.*: done/);
  const broken_down = await it.client.rpc.call("cost.breakdown", { by: "session" });
  assertStringIncludes(JSON.stringify(broken_down), '"usd":1.5');
  const [{ data: ended }] = it.client.of("subagent.completed");
  assertEquals([ended.stop_reason, ended.usage.usd], ["budget", 1]);
}, { toml: PRICES, start: { budget_usd: 1.2 } });

test("the limits of a message hold for the subagents of its turn", {
  go: [{ calls: [agent("dear")], usage: dear }, { text: "not reached" }],
  dear: [{ calls: [run("true")], usage: dear }, { text: "not reached" }],
  steps: [{ calls: [agent("many")] }, { text: "Told." }],
  many: [{ calls: [run("echo 1")] }, { calls: [run("echo 2")] }, { text: "not reached" }],
}, async (it) => {
  await it.call("session.send", { text: "go", max_usd: 0.9 });
  assertEquals((await it.event("turn.completed")).data.usage.usd, 1);
  assertMatch(String(results(it)[0][1]), /the limit of \$0.9 for this turn is reached/);
}, { toml: PRICES });

test("a subagent has the turn's number of steps, and ends", {
  go: [{ calls: [agent("many")] }, { text: "Told." }],
  many: [{ calls: [run("echo 1")] }, { calls: [run("echo 2")] }, { text: "not reached" }],
}, async (it) => {
  await it.call("session.send", { text: "go", max_steps: 2 });
  const { data } = await it.event("turn.completed");
  assertEquals([data.stop_reason, data.message], ["ok", "Told."]);
  assertMatch(String(results(it)[0][1]), /the limit of 2 steps per turn is reached/);
});

test("a subagent that takes too long ends, and the model is told", {
  go: [{ calls: [agent("slow")] }, { text: "Told." }],
  slow: [{ calls: [run("sleep 600")] }],
}, async (it) => {
  assertEquals((await it.turn("go")).data.message, "Told.");
  assertMatch(String(results(it)[0][1]), /it reached its time limit of 1 s/);
}, { toml: "[subagents]\ntimeout_s = 1\n" });

test("a model that asks for 1,000 subagents gets as many as a turn may have, some at a time", {
  go: [
    { calls: Array.from({ length: 1_000 }, () => agent("small")) },
    { calls: [agent("small")] },
    { text: "Enough." },
  ],
  small: [{ text: "Small.", pace_ms: 20 }],
}, async (it) => {
  await it.send("go");
  // So many results at once are more than a subscriber is kept waiting with.
  const idle = async () => (await it.call("session.get")).activity === "idle";
  await until(idle, "the turn", 60_000);
  await it.client[Symbol.asyncDispose]();
  it.client = await it.daemon.rpc();
  await it.call("session.subscribe", { since_seq: 0, deltas: "session" });
  assertEquals((await it.event("turn.completed")).data.message, "Enough.");
  assertEquals(it.client.of("subagent.started").length, 10);
  const done = results(it);
  assertEquals(done.length, 1_001);
  assertEquals(done.filter(([ok]) => ok).length, 10);
  assertMatch(String(done.at(-1)![1]), /a turn can have 10 subagents/);
  let [running, most] = [0, 0];
  for (const { type } of it.client.events) {
    if (type === "subagent.started") most = Math.max(most, ++running);
    if (type === "subagent.completed") running--;
  }
  assertEquals([running, most], [0, 3]);
}, { toml: "[subagents]\nper_turn = 10\nparallel = 3\n" });

test("an unknown model, a failing model and bad arguments are results, not the end of the turn", {
  go: [
    {
      calls: [
        agent("one", { model: "nobody/nothing" }),
        agent("failing"),
        { name: "agent", args: { description: "x" } },
        agent("nested"),
      ],
    },
    { text: "Told." },
  ],
  failing: [{ status: { code: 400, message: "no such thing" } }],
  nested: [{ calls: [agent("deeper")] }, { text: "N" }],
}, async (it) => {
  assertEquals((await it.turn("go")).data.message, "Told.");
  const outputs = new Map(
    it.client.of("session.tool_completed").map(({ data }) => [data.call_id, data.output]),
  );
  const [unknown, failing, bad, nested] = it.client.of("session.tool_started")
    .map(({ data }) => outputs.get(data.call_id));
  assertMatch(unknown, /nobody/);
  assertMatch(failing, /did not finish: .*no such thing.*It made no calls/s);
  assertMatch(bad, /invalid arguments/);
  assertEquals(nested, "N");
  assertMatch(it.client.of("subagent.tool_completed")[0].data.output, /unknown tool agent/);
});

const LONG = Array.from({ length: 4_000 }, (_, n) => `line ${n}`).join("\n");

test("an answer that is too long is cut, and all of it can be read", {
  go: [
    { calls: [agent("long")] },
    ({ messages }) => {
      const { results: [{ output }] } = messages.at(-1) as { results: { output: string }[] };
      const [, seq] = output.match(/read_earlier with seq (\d+)/)!;
      return { calls: [{ name: "read_earlier", args: { seq: Number(seq), offset: 30_000 } }] };
    },
    { text: "Read." },
  ],
  long: [{ text: [LONG] }],
}, async (it) => {
  assertEquals((await it.turn("go")).data.message, "Read.");
  const [cut, rest] = results(it).map(([, output]) => String(output));
  assert(cut.length < 25_000 && cut.startsWith("line 0\nline 1\n"), String(cut.length));
  assertStringIncludes(LONG.slice(30_000), rest.slice(0, 1_000));
});

test("a subagent whose conversation gets too long goes on with a shorter one", {
  go: [{ calls: [agent("long")] }, { text: "Told." }],
  long: [
    ...Array.from({ length: 6 }, (_, n): Answer => ({
      calls: [{ id: `call_${n}`, name: "read_file", args: { path: `${n}.txt` } }],
    })),
    { text: "All read." },
  ],
}, async (it) => {
  for (let n = 0; n < 6; n++) {
    Deno.writeTextFileSync(join(it.workdir, `${n}.txt`), `${n} several words\n`.repeat(800));
  }
  assertEquals((await it.turn("go")).data.message, "Told.");
  assertEquals(results(it), [[true, "All read."]]);
  const notes = it.client.of("lane.note").map(({ data }) => data.text);
  assertGreater(notes.filter((text) => text.includes("was shortened")).length, 0);
  assertEquals(it.client.of("session.compacted"), []);
  const longest = Math.max(...it.asked.map((messages) => JSON.stringify(messages).length));
  assert(longest < 70_000, String(longest));
}, { toml: "context_tokens = 20000\noutput_tokens = 1000\n" });

test("subagents do not overwrite what another one has changed since they read it", {
  go: [{ calls: [agent("late"), agent("early")] }, { text: "Told." }],
  late: [
    { calls: [{ name: "read_file", args: { path: "a.txt" } }] },
    { calls: [run("touch read; until test -e written; do sleep 0.05; done")] },
    { calls: [{ name: "write_file", args: { path: "a.txt", content: "late" } }] },
    { text: "L" },
  ],
  early: [
    { calls: [run("until test -e read; do sleep 0.05; done")] },
    { calls: [{ name: "read_file", args: { path: "a.txt" } }] },
    { calls: [{ name: "write_file", args: { path: "a.txt", content: "early" } }] },
    { calls: [run("touch written")] },
    { text: "E" },
  ],
}, async (it) => {
  Deno.writeTextFileSync(join(it.workdir, "a.txt"), "before");
  assertEquals((await it.turn("go")).data.message, "Told.");
  assertEquals(Deno.readTextFileSync(join(it.workdir, "a.txt")), "early");
  const refused = it.client.of("subagent.tool_completed").filter(({ data }) => !data.ok);
  assertEquals(refused.map(({ data }) => data.tool), ["write_file"]);
  assertMatch(refused[0].data.output, /has changed since it was last read/);
});

for (const how of ["stop", "crash"] as const) {
  test(`after a ${how} the model is told what the subagent did, and nothing is done twice`, {
    go: [
      { calls: [agent("cut"), agent("whole"), run("echo after >> out")] },
      { text: "Told." },
    ],
    cut: [
      { calls: [run("echo one >> out")] },
      { calls: [run("echo two >> out; sleep 600")] },
    ],
    whole: [{ text: "Whole." }],
  }, async (it) => {
    const out = () => Deno.readTextFile(join(it.workdir, "out")).catch(() => "");
    await it.send("go");
    await until(async () => (await out()).includes("two"), "its second command");
    await it.event("session.tool_completed", ({ data }) => data.output === "Whole.");
    if (how === "stop") {
      await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
      assertEquals((await it.daemon.ended()).code, 0);
    }
    await it.restart();
    if (how === "crash") await it.call("session.continue");
    const { data } = await it.event("turn.completed", ({ data }) =>
      data.stop_reason !== "interrupted");
    assertEquals([data.stop_reason, data.message], ["ok", "Told."]);
    const told: Result[] = toolMessage(it).results;
    const result = (begin: string) => told.find(({ output }) => output.startsWith(begin))!;
    const [cut, after] = [result("The subagent"), result("")];
    assertMatch(cut.output, /^The subagent did not finish: svc was stopped while it ran/);
    assertMatch(cut.output, /- run_command .*echo one.*: done\n- run_command .*echo two/);
    assertEquals(told.length, 3);
    assert(result("Whole.").ok && after !== undefined);
    assertEquals(await out(), "one\ntwo\nafter\n");
    const firsts = it.asked.map(([first]) => (first as { text: string }).text);
    assertEquals(firsts.filter((text) => text === "whole").length, 1);
    const { lanes } = await it.call("lanes.list");
    const open = lanes.filter(({ status }: { status: string }) => status === "running");
    assertEquals(open.map(({ kind }: { kind: string }) => kind), ["main"]);
  });
}
