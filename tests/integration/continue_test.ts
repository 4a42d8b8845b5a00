/** Turns that a stop or a crash of the daemon cuts off, and how they go on. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { UNKNOWN_OUTCOME } from "../../src/agent/calls.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import type { EventParams } from "../../src/client/rpc.ts";
import { Editor } from "../support/acp.ts";
import { asksForSummary } from "../support/forgetful.ts";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

/** Declares a test with a daemon whose model answers these steps. */
function test(
  name: string,
  steps: readonly (Answer | Scripted)[] | Scripted,
  run: (it: Scenario) => Promise<void>,
  options?: ScenarioOptions,
): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using it = await Scenario.begin(steps, options);
      await run(it);
    },
  });
}

/** Ends the daemon, starts the next one, and follows the session from its beginning. */
async function restart(it: Scenario, how: "stop" | "crash"): Promise<void> {
  if (how === "stop") {
    await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
    assertEquals((await it.daemon.ended()).code, 0);
  }
  await it.restart();
}

const refused = async (call: Promise<unknown>) => (await assertRejects(() => call, SvcError)).code;

/** What the ends of the session's turns say. */
const ends = (it: Scenario) =>
  it.client.of("turn.completed").map(({ data }) => [data.stop_reason, data.message]);

/** The bodies of the requests that the model server took. */
const bodies = (it: Scenario) => it.server.requests.map(({ body }) => body);

const HALF: Answer = { text: ["One ", "two "], hang_after: 2 };
const WHOLE: Answer = { text: ["One ", "two ", "three."] };
const said = (it: Scenario) =>
  it.event("session.delta", ({ data }) => (data.text as string).includes("two "));

test("a stop in the middle of an answer: the same turn goes on and says it once", [
  HALF,
  WHOLE,
  { text: "Fine." },
], async (it) => {
  await it.send("count");
  await said(it);
  await restart(it, "stop");
  const { data } = await it.event("turn.completed");
  assertEquals([data.stop_reason, data.message], ["ok", "One two three."]);
  const [first, second] = bodies(it);
  assertEquals(JSON.stringify(second), JSON.stringify(first));
  const marks = it.types().filter((type) => /^(turn|session\.(paused|resumed)|daemon)/.test(type));
  assertEquals(marks, [
    "turn.started",
    "session.paused",
    "daemon.reloaded",
    "session.resumed",
    "turn.continued",
    "turn.completed",
  ]);
  assertEquals(it.client.of("turn.continued")[0].data, { turn_id: data.turn_id, after: "stop" });
  const { messages_count, cut_off, activity } = await it.call("session.get");
  assertEquals([messages_count, cut_off, activity], [2, false, "idle"]);
  await it.turn("and then?");
  assertEquals(it.asked.at(-1)!.map(({ role }) => role), ["user", "assistant", "user"]);
});

interface Approval {
  approval_id: string;
}

/** Several calls, the first of which is cut off. */
const COMMANDS: Answer = {
  text: "Now.",
  calls: [
    { id: "call_1", name: "run_command", args: { command: "echo one >> out; sleep 600" } },
    { id: "call_2", name: "run_command", args: { command: "echo two >> out" } },
  ],
};

test("a stop during a command: its result is unknown, and the calls after it are made", [
  COMMANDS,
  { text: "Done." },
], async (it) => {
  const out = join(it.workdir, "out");
  const written = () => Deno.readTextFile(out).catch(() => "");
  await it.send("go");
  await until(async () => await written() !== "", "the command");
  await restart(it, "stop");
  await it.event("turn.completed");
  assertEquals(ends(it), [["ok", "Now.\n\nDone."]]);
  const results = it.client.of("session.tool_completed").map(({ data }) => [data.call_id, data.ok]);
  assertEquals(results, [["call_1", false], ["call_2", true]]);
  assertEquals(it.client.of("session.tool_completed")[0].data.output, UNKNOWN_OUTCOME);
  assertEquals(await written(), "one\ntwo\n");
  const told = it.asked.at(-1)!.findLast(({ role }) => role === "tool")!;
  assert(JSON.stringify(told).includes(UNKNOWN_OUTCOME));
});

for (const decision of ["allow", "deny"]) {
  test(`a question waits over a stop; "${decision}" is the answer to the same one`, [
    { calls: [{ id: "call_1", name: "run_command", args: { command: "echo one >> out" } }] },
    { text: "Done." },
  ], async (it) => {
    await it.send("go");
    const asked = (await it.event("approval.requested")).data;
    await restart(it, "stop");
    const { sessions: [item] } = await it.client.rpc.call("session.list");
    assertEquals([item.activity, item.pending_approvals_count], ["awaiting_approval", 1]);
    const { approvals } = await it.client.rpc.call("approvals.list");
    assertEquals(approvals.map((it: Approval) => it.approval_id), [asked.approval_id]);
    const { pending_approvals: [pending] } = await it.call("session.get");
    assertEquals(pending.approval_id, asked.approval_id);
    const answer = () => it.call("session.approve", { approval_id: asked.approval_id, decision });
    const answers = await Promise.allSettled([answer(), answer()]);
    assertEquals(answers.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    await it.event("turn.completed");
    assertEquals(ends(it), [["ok", "Done."]]);
    assertEquals(it.client.of("approval.requested").length, 1);
    assertEquals(it.client.of("session.tool_started").length, 1);
    const written = await Deno.readTextFile(join(it.workdir, "out")).catch(() => "");
    assertEquals(written, decision === "allow" ? "one\n" : "");
  }, { start: { approval: "ask" } });
}

/** Summaries fail to come the first time. */
function shortening(): Scripted {
  let summaries = 0;
  return (request) => {
    if (!asksForSummary(request)) return { text: "noted", usage: { input: 9_000, output: 10 } };
    return ++summaries === 1 ? { text: ["In ", "short"], hang_after: 1 } : { text: "In short" };
  };
}

test(
  "a stop while the conversation is shortened: it is shortened then",
  shortening(),
  async (it) => {
    await it.turn("a ".repeat(6_000));
    await it.send("b ".repeat(6_000));
    await it.event("lane.delta", ({ data }) => data.lane_id !== "main");
    assertEquals(it.client.of("session.compacted"), []);
    await restart(it, "stop");
    await it.event("session.compacted");
    await until(() => ends(it).length === 2, "the turn's end");
    assertEquals(ends(it).at(-1), ["ok", "noted"]);
    assertEquals(it.client.of("session.compacted").length, 1);
  },
  { toml: "context_tokens = 16000\n" },
);

test("a crash: the turn is interrupted, and goes on when it is asked for", [
  HALF,
  WHOLE,
], async (it) => {
  await it.send("count");
  await said(it);
  await restart(it, "crash");
  await it.event("turn.completed");
  assertEquals(ends(it), [["interrupted", "One two "]]);
  assertEquals((await it.call("session.get")).cut_off, true);
  const { code, stdout } = await it.place.svc(["ctl", "sessions", "continue", it.session_id]);
  assertEquals(code, 0);
  assert(stdout.includes(it.session_id));
  await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
  assertEquals(ends(it).at(-1), ["ok", "One two three."]);
  const [first, second] = bodies(it);
  assertEquals(JSON.stringify(second), JSON.stringify(first));
  const { messages_count, cut_off } = await it.call("session.get");
  assertEquals([messages_count, cut_off], [2, false]);
  assertEquals(await refused(it.call("session.continue")), "conflict");
});

for (const mode of ["ask", "never"]) {
  test(`continue = "${mode}": a stop interrupts the turn, and it does not go on by itself`, [
    HALF,
    WHOLE,
  ], async (it) => {
    await it.send("count");
    await said(it);
    await restart(it, "stop");
    await it.event("session.resumed");
    assertEquals(ends(it), [["interrupted", "One two "]]);
    assertEquals((await it.call("session.get")).cut_off, mode === "ask");
    if (mode === "never") {
      assertEquals(await refused(it.call("session.continue")), "conflict");
      await it.client.rpc.call("daemon.set_config", { changes: { "agent.continue": "ask" } });
    }
    await it.call("session.continue");
    await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
    assertEquals(ends(it).at(-1), ["ok", "One two three."]);
  }, { toml: `[agent]\ncontinue = "${mode}"\n` });
}

test(
  "a turn that three crashes in a row cut off does not go on by itself",
  () => HALF,
  async (it) => {
    await it.send("count");
    for (let crash = 1; crash <= 3; crash++) {
      await until(() => it.server.requests.length === crash, "the model is asked");
      await restart(it, "crash");
    }
    await it.event("turn.completed");
    assertEquals(it.client.of("turn.continued").length, 2);
    assertEquals((await it.call("session.get")).cut_off, true);
  },
  { toml: `[agent]\ncontinue = "always"\n` },
);

/** The same call again and again, but for one answer that does not come to its end. */
function repeating(hung: number): Scripted {
  let asked = 0;
  return () => ++asked === hung ? HALF : { calls: [{ name: "list_dir", args: {} }] };
}

test("calls that repeat are counted over a restart", repeating(4), async (it) => {
  await it.send("look");
  await said(it);
  await restart(it, "stop");
  const { data } = await it.event("turn.completed");
  assertEquals(data.stop_reason, "loop");
  const told = it.client.of("lane.note").filter(({ data }) => data.reason_code === "model_told");
  assertEquals([told.length, it.server.requests.length], [1, 6]);
});

test("so are the steps that a message allows", repeating(2), async (it) => {
  await it.call("session.send", { text: "look", max_steps: 2 });
  await said(it);
  await restart(it, "stop");
  const { data } = await it.event("turn.completed");
  assertEquals([data.stop_reason, it.server.requests.length], ["budget", 3]);
});

test("a paused session stays paused over a restart; it is continued once it is resumed", [
  { calls: [{ id: "call_1", name: "run_command", args: { command: "echo one >> out" } }] },
  { text: "Done." },
], async (it) => {
  await it.send("go");
  await it.event("approval.requested");
  await it.call("session.pause");
  await restart(it, "stop");
  const { state, cut_off, pending_approvals } = await it.call("session.get");
  assertEquals([state, cut_off, pending_approvals], ["paused", true, []]);
  assertEquals(await refused(it.call("session.continue")), "conflict");
  await it.call("session.resume");
  assertEquals(it.client.of("turn.continued"), []);
  await it.call("session.continue");
  await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
  assertEquals(ends(it), [["interrupted", ""], ["ok", "Done."]]);
}, { start: { approval: "ask" } });

test("a crash during a question: the turn asks it again when it is continued", [
  { calls: [{ id: "call_1", name: "run_command", args: { command: "echo one >> out" } }] },
  { text: "Done." },
], async (it) => {
  await it.send("go");
  const before = (await it.event("approval.requested")).data.approval_id;
  await restart(it, "crash");
  await it.event("turn.completed");
  await it.call("session.continue");
  const { data: { approval_id } } = await it.event(
    "approval.requested",
    ({ data }) => data.approval_id !== before,
  );
  assertEquals(await refused(it.call("session.continue")), "conflict");
  await it.call("session.approve", { approval_id, decision: "allow" });
  await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
  assertEquals(Deno.readTextFileSync(join(it.workdir, "out")), "one\n");
  assertEquals(it.client.of("session.tool_started").length, 1);
}, { start: { approval: "ask" } });

test(
  "a crash during a command that a person allowed: it is not asked about or made again",
  [COMMANDS, { text: "Done." }],
  async (it) => {
    const out = join(it.workdir, "out");
    const written = () => Deno.readTextFile(out).catch(() => "");
    await it.send("go");
    const allow = async (of: string) => {
      const fits = ({ data }: EventParams) => data.call_id === of;
      const { approval_id } = (await it.event("approval.requested", fits)).data;
      await it.call("session.approve", { approval_id, decision: "allow" });
    };
    await allow("call_1");
    await until(async () => await written() !== "", "the command");
    await restart(it, "crash");
    await it.call("session.continue");
    await allow("call_2");
    await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
    const asked = it.client.of("approval.requested").map(({ data }) => data.call_id);
    assertEquals(asked, ["call_1", "call_2"]);
    const results = it.client.of("session.tool_completed").map(({ data }) => data.output);
    assertEquals(results[0], UNKNOWN_OUTCOME);
    assertEquals(await written(), "one\ntwo\n");
  },
  { start: { approval: "ask" } },
);

test("svc chat -p waits over a restart, and prints the answer once", [
  HALF,
  WHOLE,
], async (it) => {
  const chat = it.place.svc(["chat", it.place.mkdir("chat"), "-m", it.model, "-p", "count"]);
  await until(() => it.server.requests.length === 1, "the model is asked");
  await restart(it, "stop");
  const { code, stdout, stderr } = await chat;
  assertEquals([code, stdout.trim(), stderr], [0, "One two three.", ""]);
});

test("an editor's prompt goes on over a restart", [HALF, WHOLE], async (it) => {
  await using editor = new Editor(it.place, { args: ["--model", it.model] });
  const turn = editor.prompt(await editor.open(it.place.mkdir("edited")), "count");
  await until(() => it.server.requests.length === 1, "the model is asked");
  await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
  await it.daemon.ended();
  // The editor's own process may be first to start the next daemon.
  await it.place.svc(["serve", "restart"]);
  assertEquals(await turn, "end_turn");
});

const SESSIONS = 20;
const AT_ONCE = 8;

Deno.test({
  name: `${SESSIONS} turns that a stop cut off go on, at most ${AT_ONCE} at once`,
  ignore,
  async fn() {
    let stopped = false;
    let open = 0;
    let most = 0;
    const held = Promise.withResolvers<void>();
    const script: Scripted = () => {
      if (!stopped) return HALF;
      most = Math.max(most, ++open);
      // From here on an answer ends before the next turn may begin.
      return { text: ["One ", "two."], hang_after: 1, go_on: held.promise.then(() => open--) };
    };
    await using it = await Scenario.begin(script);
    const ids: string[] = [];
    for (let n = 0; n < SESSIONS; n++) {
      const session_id = await it.client.session({ workdir: it.workdir, model: it.model });
      await it.client.rpc.call("session.send", { session_id, text: "count" });
      ids.push(session_id);
    }
    await until(() => it.server.requests.length === SESSIONS, "all are asked");
    stopped = true;
    await restart(it, "stop");
    for (const session_id of ids) {
      await it.client.rpc.call("session.subscribe", { session_id, since_seq: 0 });
    }
    await until(() => open === AT_ONCE, "the first go on");
    held.resolve();
    await until(() => it.client.of("turn.completed").length === SESSIONS, "all end", 60_000);
    assertEquals(ends(it), Array(SESSIONS).fill(["ok", "One two."]));
    assertEquals(most, AT_ONCE);
  },
});
