/** Turns that a provider's limit refuses for long: parked, shown, and taken up again. */
import { delay } from "@std/async";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { SvcError } from "../../src/protocol/errors.ts";
import { Editor } from "../support/acp.ts";
import { type Answer, type Scripted, scriptSteps } from "../support/model_servers.ts";
import { Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const SOON = '[agent]\npark_after = "1s"\n';

/** A refusal by a limit that ends in so many seconds. */
const limited = (seconds: number): Answer => ({
  status: { code: 429, message: "quota used up", headers: { "retry-after": `${seconds}` } },
});
const LONG = limited(7_200);
const LOOK: Answer = { text: "Looking.", calls: [{ name: "list_dir", args: {} }] };
const DONE: Answer = { text: "Done." };

/** Declares a test with a daemon that parks a turn for waits of more than a second. */
function test(
  name: string,
  steps: readonly (Answer | Scripted)[] | Scripted,
  run: (it: Scenario) => Promise<void>,
  options: ScenarioOptions = {},
): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using it = await Scenario.begin(steps, { toml: SOON, ...options });
      await run(it);
    },
  });
}

const ends = (it: Scenario) =>
  it.client.of("turn.completed").map(({ data }) => [data.stop_reason, data.message]);

const turns = (it: Scenario) =>
  it.types().filter((type) => /^(turn|session\.(paused|resumed)|daemon)/.test(type));

const continued = (it: Scenario) => it.client.of("turn.continued").map(({ data }) => data.after);

async function parked(it: Scenario): Promise<void> {
  const { data } = await it.event("turn.parked");
  assertEquals((await it.call("session.get")).parked_until, data.until);
}

async function restart(it: Scenario, how: "stop" | "crash"): Promise<void> {
  if (how === "stop") {
    await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
    assertEquals((await it.daemon.ended()).code, 0);
  }
  await it.restart();
}

const refused = async (call: Promise<unknown>) => (await assertRejects(() => call, SvcError)).code;

test("a limit of seconds parks the turn, which goes on by itself and repeats nothing", [
  LOOK,
  limited(3),
  DONE,
], async (it) => {
  const before = Date.now();
  await it.send("go");
  await parked(it);
  const [{ data }] = it.client.of("turn.parked");
  assertMatch(data.reason, /answered 429: quota used up/);
  const wait_ms = Date.parse(data.until) - before;
  assert(wait_ms >= 3_000 && wait_ms < 60_000, data.until);
  const item = await it.call("session.get");
  assertEquals([item.parked_until, item.parked_reason], [data.until, data.reason]);
  assertEquals([item.activity, item.cut_off], ["working", true]);
  const { sessions } = await it.client.rpc.call("session.list", {});
  assertEquals(sessions[0].parked_until, data.until);
  assertEquals(await refused(it.call("session.compact")), "conflict");
  await it.event("turn.completed");
  assertEquals(ends(it), [["ok", "Looking.\n\nDone."]]);
  assert(Date.now() >= Date.parse(data.until), "not before its time");
  assertEquals(continued(it), ["limit"]);
  assertEquals(it.client.of("session.tool_completed").length, 1);
  const { parked_until, messages_count } = await it.call("session.get");
  assertEquals([parked_until, messages_count], [undefined, 2]);
  // Its budget of steps: two calls, as without the limit.
  assertEquals(it.client.of("cost.tick").length, 2);
});

/** One answer after the other, whichever conversation asks. */
function byRequest(answers: readonly Answer[]): Scripted {
  let at = 0;
  return () => answers[at++];
}

const subagent = (task: string): Answer => ({
  calls: [{ name: "agent", args: { description: task, task } }],
});

test(
  "a limit ends a subagent, its model learns until when, and after the limit a new one goes on",
  byRequest([
    subagent("look"),
    LOOK,
    LONG,
    limited(3),
    subagent("look again"),
    { text: "Looked." },
    DONE,
  ]),
  async (it) => {
    await it.send("go");
    await parked(it);
    const [{ data: first }] = it.client.of("session.tool_completed");
    assertEquals(first.ok, false);
    assertMatch(first.output, /quota used up; it asks to wait until [\d :-]+ UTC/);
    assertMatch(first.output, /list_dir \{\}: done/);
    assertMatch(
      first.output,
      /While this limit holds, another subagent with the same model fails too/,
    );
    await it.event("turn.completed");
    assertEquals(ends(it), [["ok", "Done."]]);
    assertEquals(continued(it), ["limit"]);
    const [, { data: second }] = it.client.of("session.tool_completed");
    assertEquals([second.ok, second.output], [true, "Looked."]);
  },
);

for (const how of ["stop", "crash"] as const) {
  test(`over a ${how} a parked turn stays parked until its time`, [
    LOOK,
    limited(6),
    DONE,
  ], async (it) => {
    await it.send("go");
    await parked(it);
    const [{ data }] = it.client.of("turn.parked");
    await restart(it, how);
    assertEquals((await it.call("session.list")).sessions[0].parked_until, data.until);
    assertEquals(it.server.requests.length, 2);
    await it.event("turn.completed");
    assert(Date.now() >= Date.parse(data.until), "not before its time");
    assertEquals(ends(it), [["ok", "Looking.\n\nDone."]]);
    assertEquals(continued(it), ["limit"]);
    assertEquals(turns(it), [
      "turn.started",
      "turn.parked",
      ...(how === "stop" ? ["session.paused"] : []),
      "daemon.reloaded",
      ...(how === "stop" ? ["session.resumed"] : []),
      "turn.continued",
      "turn.completed",
    ]);
  });

  test(`a limit that ended during a ${how}: the next daemon takes the turn up at once`, [
    limited(2),
    DONE,
  ], async (it) => {
    await it.send("go");
    await parked(it);
    const [{ data }] = it.client.of("turn.parked");
    if (how === "stop") await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
    await it.daemon.kill();
    await until(() => Date.now() > Date.parse(data.until), "the end of the limit");
    await it.restart();
    await it.event("turn.completed");
    assertEquals([ends(it), continued(it)], [[["ok", "Done."]], ["limit"]]);
  });
}

test("session.continue takes a parked turn up at once, and it may be parked again", [
  LONG,
  LONG,
  DONE,
], async (it) => {
  await it.send("go");
  await parked(it);
  await it.call("session.continue");
  await until(() => it.client.of("turn.parked").length === 2, "parked again");
  await it.call("session.continue");
  await it.event("turn.completed");
  assertEquals([ends(it), continued(it)], [[["ok", "Done."]], ["asked", "asked"]]);
});

test("a message waits behind a parked turn, can be taken back, and is answered in it", [
  LONG,
  DONE,
], async (it) => {
  await it.send("go");
  await parked(it);
  const { message_id } = await it.send("not this");
  await it.send("and this");
  const { messages } = await it.call("session.withdraw", { message_ids: [message_id] });
  assertEquals(messages.map(({ text }: { text: string }) => text), ["not this"]);
  assertEquals(it.server.requests.length, 1);
  await it.call("session.continue");
  await it.event("turn.completed");
  assertEquals(ends(it).length, 1);
  assertEquals(it.asked.at(-1)!.map((it) => "text" in it && it.text), ["go", "and this"]);
});

test("session.cancel ends a parked turn, and the next message gets its own", [
  LONG,
  DONE,
], async (it) => {
  await it.send("go");
  await parked(it);
  assertEquals(await it.call("session.cancel"), { cancelled: true });
  assertEquals(ends(it), [["cancelled", ""]]);
  assertEquals((await it.call("session.get")).parked_until, undefined);
  assertEquals((await it.turn("again")).data.message, "Done.");
});

test("another model takes a parked turn up at once", (request) => {
  return request.model === "model-1" ? LONG : DONE;
}, async (it) => {
  await it.send("go");
  await parked(it);
  await it.call("session.configure", { model: it.model.replace("model-1", "model-2") });
  await it.event("turn.completed");
  assertEquals(ends(it), [["ok", "Done."]]);
});

test(
  "two sessions with one limit: both go on",
  (() => {
    let refusals = 0;
    return () => ++refusals <= 2 ? limited(3) : DONE;
  })(),
  async (it) => {
    const { workdir, model } = it;
    const other = await it.client.session({ workdir, model, approval: "auto" });
    await it.send("one");
    await it.client.rpc.call("session.send", { session_id: other, text: "two" });
    await until(() => it.client.of("turn.completed").length === 2, "both end");
    assertEquals(ends(it), [["ok", "Done."], ["ok", "Done."]]);
    assertEquals(it.client.of("turn.parked").length, 2);
  },
);

const SESSIONS = 20;
const AT_ONCE = 8;

test(
  `${SESSIONS} turns that wait for one limit go on, at most ${AT_ONCE} at once`,
  (() => {
    let refusals = 0;
    let open = 0;
    return () => {
      if (refusals++ < SESSIONS) return limited(8);
      if (++open > AT_ONCE) throw new Error(`${open} at once`);
      return { text: ["Do", "ne."], hang_after: 1, go_on: delay(200).then(() => open--) };
    };
  })(),
  async (it) => {
    const { workdir, model } = it;
    for (let n = 0; n < SESSIONS; n++) {
      const session_id = await it.client.session({ workdir, model, approval: "auto" });
      await it.client.rpc.call("session.send", { session_id, text: "go" });
    }
    await until(() => it.client.of("turn.completed").length === SESSIONS, "all end");
    assertEquals(ends(it), Array(SESSIONS).fill(["ok", "Done."]));
    assertEquals(it.client.of("turn.parked").length, SESSIONS);
  },
);

test("a control: a short 429 is retried as before", [
  { status: { code: 429, message: "slow down", headers: { "retry-after": "1" } } },
  DONE,
], async (it) => {
  assertEquals((await it.turn("go")).data.message, "Done.");
  assertEquals(it.client.of("turn.parked"), []);
  assertMatch(it.client.of("lane.note")[0].data.text, /slow down; trying again in/);
});

test("an answer that a limit breaks off is asked for again at its end", [
  {
    text: ["Half ", "an answer"],
    fail: { after: 1, type: "rate_limit_error", message: "Please try again in 3h2m." },
  },
  DONE,
], async (it) => {
  await it.send("go");
  await parked(it);
  const left_ms = Date.parse(it.client.of("turn.parked")[0].data.until) - Date.now();
  assert(left_ms > 3 * 3_600_000 && left_ms < 4 * 3_600_000, `${left_ms}`);
  await it.call("session.continue");
  await it.event("turn.completed");
  assertEquals(ends(it), [["ok", "Done."]]);
}, { provider: "anthropic" });

test(
  "a subagent's call fails with the reason, and then its session's turn is parked",
  (() => {
    const args = { description: "look", task: "look around" };
    const answers = [{ calls: [{ name: "agent", args }] }, LONG, limited(2), DONE];
    return () => answers.shift()!;
  })(),
  async (it) => {
    await it.send("go");
    await it.event("turn.completed");
    assertEquals(ends(it), [["ok", "Done."]]);
    const [{ data }] = it.client.of("session.tool_completed");
    assertEquals(data.ok, false);
    assertMatch(data.output, /quota used up; it asks to wait until/);
    assertEquals(it.client.of("turn.parked").length, 1);
    assertEquals(it.server.requests.length, 4);
  },
);

test("no credit, and a limit of 40 days, end the turn with the reason", [
  { status: { code: 429, message: "check your plan", type: "insufficient_quota" } },
  limited(40 * 24 * 3600),
], async (it) => {
  const first = await it.turn("go");
  assertEquals(first.data.stop_reason, "rate_limit");
  const second = await it.turn("go on");
  assertEquals(second.data.stop_reason, "rate_limit");
  assertMatch(second.data.error, /asks to wait until \d{4}-.*; svc waits at most 8 days$/);
  assertEquals(it.client.of("turn.parked"), []);
});

for (
  const [mode, stop_reason, cut_off] of [
    ["never", "rate_limit", false],
    ["ask", "interrupted", true],
  ] as const
) {
  test(`continue = "${mode}": the turn ends with the reason`, [limited(7_200)], async (it) => {
    const { data } = await it.turn("go");
    assertEquals(data.stop_reason, stop_reason);
    assertMatch(data.error, /quota used up; it asks to wait until/);
    assertEquals((await it.call("session.get")).cut_off, cut_off);
  }, { toml: `[agent]\ncontinue = "${mode}"\n` });
}

test("a fallback model goes first; without one that answers, the turn is parked", (request) => {
  return request.model === "model-1" || request.messages.length > 1 ? LONG : DONE;
}, async (it) => {
  assertEquals((await it.turn("go")).data.message, "Done.");
  assertEquals(it.client.of("turn.parked"), []);
  await it.send("more");
  await parked(it);
}, { toml: `[agent]\npark_after = "1s"\nfallback = ["local/model-2"]\n` });

test("svc chat -p waits for a short limit, and leaves a long one parked with exit code 75", [
  limited(2),
  DONE,
  LONG,
], async (it) => {
  const ask = (...flags: string[]) =>
    it.place.svc(["chat", "--session", it.session_id, "-p", "go", ...flags]);
  const short = await ask();
  assertEquals([short.code, short.stdout], [0, "Done.\n"], short.stderr);
  assertMatch(short.stderr, /svc: parked until .*: .*quota used up/);
  const long = await ask("--output", "json");
  assertEquals(long.code, 75, long.stderr);
  assertMatch(long.stderr, /turn parked: until .*quota used up/);
  assertMatch(long.stderr, new RegExp(`svc chat --session ${it.session_id}`));
  const { stop_reason, exit_code } = JSON.parse(long.stdout);
  assertEquals([stop_reason, exit_code], ["parked", 75]);
  assert((await it.call("session.get")).parked_until !== undefined);
  const again = await ask();
  assertEquals(again.code, 75, again.stderr);
  assertMatch(again.stderr, /svc: parked until/);
  const list = await it.place.svc(["ctl", "sessions", "list"]);
  assertMatch(list.stdout, /parked until/);
});

Deno.test({
  name: "svc chat line by line: a parked turn is told to who comes, and /continue takes it up",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await Scenario.begin([LONG, DONE], { toml: SOON });
    await it.send("go");
    await parked(it);
    await using terminal = await TmuxTerminal.open(it.place);
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
    // The line is longer than the screen is wide.
    await terminal.shows(/parked until [\d: -]+, then the turn/);
    await terminal.line("/continue");
    await terminal.shows("Done.");
  },
});

Deno.test({
  name: "an editor sees that its turn is parked, and its prompt ends with it",
  ignore,
  async fn() {
    const script = scriptSteps([limited(2), DONE]);
    await using it = await Scenario.begin(script, { toml: SOON });
    await using editor = new Editor(it.place, { args: ["-m", it.model, "--approve", "auto"] });
    const id = await editor.open(it.workdir);
    assertEquals(await editor.prompt(id, "go"), "end_turn");
    const { said } = await editor.ended();
    assertMatch(said, /parked until/);
  },
});
