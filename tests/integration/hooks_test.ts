/** Hooks: programs of the operator that run on events and decide about calls. */
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { parseConfig } from "../../src/config/config_file.ts";
import { HOOKS } from "../../src/features/hooks/config.ts";
import { hookInput } from "../../src/features/hooks/messages.ts";
import { SECTIONS } from "../../src/features/registry.ts";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { processesWith, Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

interface HookOptions {
  on?: string;
  more?: string;
}

/** A hook that runs a line of shell. */
function hook(line: string, { on = "tool.before", more = "" }: HookOptions = {}): string {
  const command = JSON.stringify(["/bin/sh", "-c", line]);
  return `[[hooks]]\non = "${on}"\ncommand = ${command}\n${more}\n`;
}

const answers = (answer: Record<string, unknown>) =>
  `cat > /dev/null; printf '%s' '${JSON.stringify(answer).replaceAll("'", "'\\''")}'`;

function test(
  name: string,
  steps: readonly (Answer | Scripted)[],
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

const run = (command: string) => ({ name: "run_command", args: { command } });
const outputs = (it: Scenario) =>
  it.client.of("session.tool_completed").map(({ data }) => data.output as string);
const ran = (it: Scenario) => it.client.of("hook.ran").map(({ data }) => data);

/** A file that hooks write to, and what they have written. */
function notes() {
  const path = Deno.makeTempFileSync();
  return {
    path,
    lines: () => Deno.readTextFileSync(path).split("\n").filter((line) => line !== ""),
    [Symbol.dispose]: () => Deno.removeSync(path),
  };
}

test("a hook denies the calls that it matches; the model gets the reason, others run", [
  { calls: [run("git push --force"), run("echo fine")] },
  { text: "Told." },
], async (it) => {
  assertEquals((await it.turn("go")).data.message, "Told.");
  const [denied, fine] = outputs(it);
  assertEquals(
    denied,
    "refused: the hook /bin/sh of daemon.toml does not allow it: not on a Friday; " +
      "do not try to do it in another way",
  );
  assertEquals(fine, "fine");
  const [{ on, program, decision, reason, call_id }] = ran(it);
  assertEquals([on, program, decision, reason], [
    "tool.before",
    "/bin/sh",
    "deny",
    "not on a Friday",
  ]);
  assertEquals(call_id, it.client.of("session.tool_completed")[0].data.call_id);
  assertEquals(ran(it).length, 1);
}, {
  toml: hook(answers({ decision: "deny", reason: "not on a Friday" }), {
    more: 'match = "run_command: git push *"',
  }),
});

Deno.test({
  name: "a hook reads all of a call as JSON, whatever is in it, and has no secrets around it",
  ignore,
  async fn() {
    using kept = notes();
    using env = notes();
    const hostile = `echo "'$(touch x)'\u2028\u0000\n"; #}"]\\`;
    await using it = await Scenario.begin([
      { calls: [{ name: "write_file", args: { path: `a"b'c`, content: hostile } }] },
      { text: "Written." },
    ], { toml: hook(`cat >> ${kept.path}; env > ${env.path}; pwd >> ${env.path}`) });
    await it.turn("go");
    const [line] = kept.lines();
    assertEquals(kept.lines().length, 1);
    const input = hookInput().parse(JSON.parse(line));
    assert(input.event === "tool.before");
    const { event, session_id, workdir, tool, access, args, approval, trust } = input;
    assertEquals([event, tool, access, approval, trust], [
      "tool.before",
      "write_file",
      "write",
      "auto",
      "trusted",
    ]);
    assertEquals([session_id, workdir], [it.session_id, it.workdir]);
    assertEquals(args, { path: `a"b'c`, content: hostile });
    assert(env.lines().includes("/"));
    const names = env.lines().map((each) => each.split("=")[0]);
    assert(!names.includes("MODEL_KEY") && !names.includes("SVC_HOME"), names.join());
    assertEquals(ran(it), []);
  },
});

test("a hook that asks has the person decide, in every mode", [
  { calls: [run("echo one > one")] },
  { text: "Done." },
], async (it) => {
  await it.send("go");
  const { data } = await it.event("approval.requested");
  assertEquals(
    data.reason,
    "run echo one > one (asked because of the hook /bin/sh of daemon.toml asks: look at it)",
  );
  await it.call("session.approve", { approval_id: data.approval_id, decision: "allow_always" });
  await it.event("turn.completed");
  assert([...Deno.readDirSync(it.workdir)].some(({ name }) => name === "one"));
}, { toml: hook(answers({ decision: "ask", reason: "look at it" })) });

test("without may_allow a hook cannot allow anything", [
  { calls: [run("echo one > one")] },
  { text: "Done." },
], async (it) => {
  await it.send("go");
  const { data } = await it.event("approval.requested");
  await it.call("session.approve", { approval_id: data.approval_id, decision: "deny" });
  await it.event("turn.completed");
}, { toml: hook(answers({ decision: "allow" })), start: { approval: "ask" } });

test("with may_allow it stands for the answer, but not against a rule", [
  { calls: [run("echo one"), run("rm -f two"), run("touch three")] },
  { text: "Done." },
], async (it) => {
  await it.send("go");
  const { data } = await it.event("approval.requested");
  assertStringIncludes(data.reason, "touch three");
  await it.call("session.approve", { approval_id: data.approval_id, decision: "deny" });
  await it.event("turn.completed");
  const [one, two, three] = outputs(it);
  assertEquals(one, "one");
  assertMatch(two, /denied by the person's rule/);
  assertMatch(three, /^denied/);
  assertEquals(it.client.of("approval.requested").length, 1);
  // What a rule denies, no hook is asked about.
  assertEquals(ran(it).length, 2);
}, {
  toml: '[permissions]\ndeny = ["run_command: rm *"]\nask = ["run_command: touch *"]\n' +
    hook(answers({ decision: "allow" }), { more: "may_allow = true" }),
  start: { approval: "ask" },
});

test("may_allow gives a session that is read_only, or works for others, no more rights", [
  { calls: [run("echo one > one")] },
  { text: "Done." },
], async (it) => {
  await it.turn("go");
  assertMatch(outputs(it)[0], /this session is read_only/);
  const { session_id } = await it.client.rpc.call("session.start", {
    workdir: it.workdir,
    model: it.model,
    approval: "ask",
    trust: "untrusted",
  });
  await it.client.rpc.call("session.send", { session_id, text: "for others" });
  const waits = async () => (await it.client.rpc.call("approvals.list", {})).approvals.length === 1;
  await until(waits, "the question");
}, {
  toml: hook(answers({ decision: "allow" }), { more: "may_allow = true" }),
  start: { approval: "read_only" },
});

/** The messages of the last request, as they were sent. */
// deno-lint-ignore no-explicit-any -- tests look at what they expect
const sent = (it: Scenario): any[] => it.server.requests.at(-1)!.body.messages;

test("what hooks tell is with the result, and at the beginning of the turn; also after a crash", [
  { calls: [run("echo out")] },
  { text: "Read." },
  { text: "Again." },
], async (it) => {
  await it.turn("go");
  assertEquals(
    outputs(it)[0],
    "out\n[from a hook of the operator]\nbefore it\n[from a hook of the operator]\nafter it",
  );
  const before = sent(it);
  const [message] = before.filter(({ role }) => role === "user");
  const about = '<context about="hook">\nthe branch is frozen\n</context>';
  assertStringIncludes(JSON.stringify(message.content), JSON.stringify(about).slice(1, -1));
  await it.restart();
  await it.turn("again");
  assertEquals(sent(it).slice(0, before.length), before);
}, {
  toml: hook(answers({ context: "before it" })) +
    hook(answers({ context: "after it" }), { on: "tool.after" }) +
    hook(answers({ context: "the branch is frozen" }), { on: "turn.started" }),
});

const FAILING: Record<string, [line: string, problem: RegExp, more?: string]> = {
  "exits with an error": ["exit 3", /it exited with 3/],
  "prints rubbish": ["echo rubbish", /its output is not JSON/],
  "prints another JSON": [`echo '{"decision": "maybe"}'`, /is not an answer: [^]*decision/],
  hangs: ["sleep 600", /it did not end within 0.3 s/, "timeout_s = 0.3"],
  "does not read and hangs in a child": ["sleep 601 & wait", /within 0.3 s/, "timeout_s = 0.3"],
  "prints 200 KB": ["head -c 200000 /dev/zero | tr '\\0' x", /it wrote more than 65536 bytes/],
  "floods without an end": ["yes", /it wrote more than 65536 bytes/],
  "is ended by a signal": ["kill -9 $$", /it exited with 137/],
};

for (const [name, [line, problem, more = ""]] of Object.entries(FAILING)) {
  test(`a hook before calls that ${name}: the call is refused`, [
    { calls: [run("echo one > one")] },
    { text: "Told." },
  ], async (it) => {
    assertEquals((await it.turn("go")).data.message, "Told.");
    assertMatch(outputs(it)[0], /^refused: the hook \/bin\/sh of daemon.toml failed: /);
    assertMatch(outputs(it)[0], problem);
    assertMatch(ran(it)[0].problem, problem);
    assertEquals([...Deno.readDirSync(it.workdir)].map(({ name }) => name), [".svc"]);
    if (Deno.build.os === "linux") assertEquals(processesWith(`sleep 601`), []);
  }, { toml: hook(line, { more }) });
}

test("who hires a session does not learn where the hook is that refuses a call", [
  { calls: [run("echo one > one")] },
  { text: "Told." },
], async (it) => {
  await it.turn("go");
  assertEquals(
    outputs(it)[0],
    "refused: a hook of the operator failed; do not try to do it in another way",
  );
}, { toml: hook("exit 3"), start: { trust: "untrusted" } });

test("a hook that fails with on_failure = ignore, and one after a call, change nothing", [
  { calls: [run("echo one")] },
  { text: "Done." },
], async (it) => {
  assertEquals((await it.turn("go")).data.message, "Done.");
  assertEquals(outputs(it), ["one"]);
  assertEquals(ran(it).map(({ on, problem }) => [on, problem]), [
    ["turn.started", "its output has a decision, which only tool.before accepts"],
    ["tool.before", "it exited with 1"],
    ["tool.after", "it exited with 2"],
  ]);
}, {
  toml: hook("exit 1", { more: 'on_failure = "ignore"' }) +
    hook("exit 2", { on: "tool.after" }) +
    hook(`echo '{"decision": "deny"}'`, { on: "turn.started" }),
});

Deno.test({
  name: "sessions, questions and ends of turns are told, and nothing waits for it",
  ignore,
  async fn() {
    using kept = notes();
    const slowly = (on: string) => hook(`sleep 0.3; cat >> ${kept.path}`, { on });
    await using it = await Scenario.begin([{ calls: [run("echo one")] }, { text: "Done." }], {
      toml: ["session.created", "question.asked", "turn.completed"].map(slowly).join(""),
      start: { approval: "ask" },
    });
    await it.send("go");
    const { data } = await it.event("approval.requested");
    await it.call("session.approve", { approval_id: data.approval_id, decision: "allow" });
    const completed = await it.event("turn.completed");
    await until(() => kept.lines().length === 3, "the hooks");
    const told = kept.lines().map((line) => hookInput().parse(JSON.parse(line)));
    assertEquals(told.map(({ event }) => event), [
      "session.created",
      "question.asked",
      "turn.completed",
    ]);
    const [, asked, ended] = told;
    assert(asked.event === "question.asked" && ended.event === "turn.completed");
    assertEquals([asked.approval_id, asked.tool], [data.approval_id, "run_command"]);
    assertEquals([ended.message, ended.stop_reason], ["Done.", "ok"]);
    assertEquals(ended.turn_id, completed.data.turn_id);
  },
});

Deno.test({
  name: "a call of a subagent goes through the hooks, which are told so",
  ignore,
  async fn() {
    await using it = await Scenario.begin((request) => {
      const [{ text }] = request.messages as { text: string }[];
      const first = request.messages.length === 1;
      if (text === "part") return first ? { calls: [run("echo one > one")] } : { text: "Part." };
      const args = { description: "do the part", task: "part" };
      return first ? { calls: [{ name: "agent", args }] } : { text: "Done." };
    }, {
      toml: hook(
        `grep -q '"subagent":"do the part"' && echo '{"decision":"deny","reason":"a part"}'; true`,
      ),
    });
    assertEquals((await it.turn("go")).data.message, "Done.");
    const [{ data }] = it.client.of("subagent.tool_completed");
    assertMatch(data.output, /does not allow it: a part/);
    assertEquals(outputs(it), ["Part."]);
  },
});

/** Known among the processes of the machine. */
const SLEPT = { stop: `sleep 73${Deno.pid}1`, crash: `sleep 73${Deno.pid}2` };

for (const how of ["stop", "crash"] as const) {
  test(`a ${how} of the daemon leaves no process of a hook, and the call is not made`, [
    { calls: [run("echo one >> out")] },
    { text: "Done." },
  ], async (it) => {
    const slept = SLEPT[how];
    await it.send("go");
    await until(() => processesWith(slept).length > 0, "the hook");
    if (how === "stop") {
      await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
      assertEquals((await it.daemon.ended()).code, 0);
    } else await it.daemon.kill();
    await until(() => processesWith(slept).length === 0, "the end of the hook");
    assertEquals([...Deno.readDirSync(it.workdir)].map(({ name }) => name), [".svc"]);
  }, { toml: hook(`${SLEPT[how]} & wait`) });
}

Deno.test({
  name: "a program is found on the PATH only where no session can write",
  ignore,
  async fn() {
    const above = Deno.makeTempDirSync();
    const bin = join(above, "bin");
    Deno.mkdirSync(bin);
    Deno.writeTextFileSync(join(bin, "svc-test-hook"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    try {
      await using it = await Scenario.begin(() => ({ text: "unused" }), {
        toml: '[[hooks]]\non = "turn.started"\ncommand = ["svc-test-hook"]\n',
        env: { PATH: `${bin}:${Deno.env.get("PATH")}` },
      });
      await it.turn("go");
      assertEquals(ran(it), []);
      // From now on a session can write there.
      await it.client.session({ workdir: above, model: it.model });
      await it.turn("again");
      assertMatch(
        ran(it)[0].problem,
        /svc-test-hook is not on the daemon's PATH where svc can trust/,
      );
    } finally {
      Deno.removeSync(above, { recursive: true });
    }
  },
});

Deno.test("settings that make no sense are refused with their place", () => {
  const parse = (text: string) => parseConfig(text, "/daemon.toml", SECTIONS).of(HOOKS);
  const [read] = parse('[[hooks]]\non = "tool.before"\ncommand = ["x"]\n');
  assertEquals(read, {
    on: "tool.before",
    command: ["x"],
    timeout_s: 30,
    may_allow: false,
    on_failure: "deny",
    format: "svc",
  });
  const wrong: [string, RegExp][] = [
    ['on = "tool.before"', /hooks\.0\.command/],
    ['on = "tool.befor"\ncommand = ["x"]', /hooks\.0\.on/],
    ['on = "turn.started"\nmatch = "run_command"\ncommand = ["x"]', /match: is only for tool/],
    ['on = "tool.after"\nmay_allow = true\ncommand = ["x"]', /may_allow: is only for tool\.before/],
    ['on = "tool.before"\nmatch = "plan: x"\ncommand = ["x"]', /rules for plan have no pattern/],
    ['on = "tool.before"\ncommand = "x"', /command/],
  ];
  for (const [text, message] of wrong) {
    const error = assertThrows(() => parse(`[[hooks]]\n${text}\n`), Error);
    assertMatch(error.message, message);
  }
});
