/** `!command`: a person runs a command in the session, without a question and without a model. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { SvcError } from "../../src/protocol/errors.ts";
import { McpClient } from "../support/mcp.ts";
import { Scenario, until } from "../support/scripted.ts";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const ASKS = { start: { approval: "ask" } };

function run(it: Scenario, text: string) {
  return it.call("session.send", { text, run: true });
}

function there(it: Scenario, name: string): boolean {
  try {
    return Deno.statSync(join(it.workdir, name)).isFile;
  } catch {
    return false;
  }
}

Deno.test({
  name: "a command runs without a question and a model, and the next turn's model has seen it",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "I saw it." }], ASKS);
    const lines = `echo 'a "b"' > made\ncat made | tr a-z A-Z\necho "$HOME" | wc -l`;
    await run(it, `\n${lines}\n`);
    const { data: done } = await it.event("session.tool_completed");
    assertEquals([done.ok, done.output.trimEnd()], [true, 'A "B"\n1']);
    const { data: started } = await it.event("session.tool_started");
    assertEquals([started.tool, started.args.command, started.by], [
      "run_command",
      lines,
      "person",
    ]);
    assertEquals((await it.event("turn.completed")).data.stop_reason, "ok");
    assertEquals([it.asked.length, it.client.of("approval.requested").length], [0, 0]);
    assertEquals((await it.event("user.message")).data.text, `!${lines}`);
    assertEquals((await it.call("session.get")).cost_usd, 0);
    const { data } = await it.turn("what did I run?");
    assertEquals(data.message, "I saw it.");
    const said = JSON.stringify(it.asked.at(-1));
    assertStringIncludes(said, "cat made");
    assertStringIncludes(said, String.raw`A \"B\"`);
  },
});

Deno.test({
  name: "a failing command says so; a read_only session and a deny rule do not stop a person",
  ignore,
  async fn() {
    await using it = await Scenario.begin([], { start: { approval: "read_only" } });
    await it.call("permissions.add", { action: "deny", rule: "run_command", scope: "session" });
    await run(it, "echo no >&2; exit 3");
    const { data } = await it.event("session.tool_completed");
    assertEquals([data.ok, data.exit_code], [false, 3]);
    assertStringIncludes(data.output, "no");
    assertEquals((await it.event("turn.completed")).data.stop_reason, "ok");
    if (!has_bubblewrap) return;
    // The sandbox holds for a person's command too.
    const outside = join(it.place.dir, "outside");
    await run(it, `echo x > '${outside}'`);
    await until(() => it.client.of("turn.completed").length === 2, "the second turn");
    await assertRejects(() => Deno.stat(outside), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "while a turn runs it waits, and what comes while it runs waits for its own turn",
  ignore,
  async fn() {
    const { promise: go_on, resolve } = Promise.withResolvers<void>();
    await using it = await Scenario.begin([
      { text: ["one"], hang_after: 0, go_on },
      { text: "two" },
    ]);
    await it.send("first");
    await it.event("turn.started");
    await run(it, "until [ -e go ]; do sleep 0.05; done; echo ran");
    assertEquals(
      (await it.call("session.get")).queued.map((each: { delivery: string }) => each.delivery),
      ["queue"],
    );
    resolve();
    await it.event("session.tool_started");
    await it.send("second");
    await run(it, "echo last");
    assertEquals((await it.call("session.get")).queued.length, 2);
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await until(() => it.client.of("turn.completed").length === 4, "four turns");
    assertEquals(it.client.of("turn.completed").map(({ data }) => data.message), [
      "one",
      "",
      "two",
      "",
    ]);
    assertEquals(it.client.of("session.tool_completed").map(({ data }) => data.output.trim()), [
      "ran",
      "last",
    ]);
    const said = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(said.length, 3);
  },
});

Deno.test({
  name: "a command is cancelled, undone, and after a kill its outcome is unknown, not repeated",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "go on" }], ASKS);
    await run(it, "echo before > kept; sleep 100");
    await until(() => there(it, "kept"), "the command");
    await it.call("session.cancel");
    assertEquals((await it.event("turn.completed")).data.stop_reason, "cancelled");
    await it.call("session.rewind", { what: "files" });
    assert(!there(it, "kept"));
    await run(it, "echo x >> times; sleep 100");
    await until(() => there(it, "times"), "the second command");
    await it.restart();
    await until(async () => (await it.call("session.get")).activity === "idle", "the rest");
    assertEquals(Deno.readTextFileSync(join(it.workdir, "times")), "x\n");
    const { data } = await it.turn("and now?");
    assertEquals(data.message, "go on");
    assertStringIncludes(JSON.stringify(it.asked.at(-1)), "echo x >> times");
  },
});

Deno.test({
  name: "a message that waits for a command's end outlives a restart, and so does a command",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "answered" }], ASKS);
    await run(it, "sleep 100");
    await it.event("session.tool_started");
    await it.send("a message");
    await run(it, "echo after");
    await it.restart();
    await it.event("session.tool_completed", ({ data }) => data.output.trim() === "after");
    assertEquals(it.asked.length, 1);
  },
});

Deno.test({
  name: "a model cannot run one, neither over MCP nor by pressing keys",
  ignore,
  async fn() {
    await using it = await Scenario.begin([]);
    await using mcp = await McpClient.http(it.daemon, "?caps=all");
    const { session_id } = it;
    const asked = { session_id, text: "touch x", run: true };
    const sent = await mcp.call("svc.session.send", asked);
    assertStringIncludes(JSON.stringify(sent), "only a person runs a command");
    await mcp.call("svc.tui.press_key", { session_id, text: "!touch x" });
    const pressed = await mcp.call("svc.tui.press_key", { session_id, key: "enter" });
    assertStringIncludes(JSON.stringify(pressed), "only a person runs a command");
    assertEquals(it.client.of("turn.started").length, 0);
    assert(!there(it, "x"));
    await assertRejects(() => run(it, "  "), SvcError);
    await it.call("tui.press_key", { key: "enter" });
    await it.event("turn.completed");
    assert(there(it, "x"));
  },
});

Deno.test({
  name: "a model does nothing by keys that its verbs refuse it",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command: "touch y" } }] },
      { text: "done" },
    ], ASKS);
    await using mcp = await McpClient.http(it.daemon, "?caps=all");
    const { session_id } = it;
    const press = (params: { key: string } | { text: string }) =>
      mcp.call("svc.tui.press_key", { session_id, ...params });
    for (
      const [text, says] of [
        [`/add-dir ${it.place.dir}`, "adds directories"],
        ["/network on", "chooses a session's network"],
        ["/trust", "trusts a directory"],
      ]
    ) {
      await press({ text });
      assertStringIncludes(JSON.stringify(await press({ key: "enter" })), `only a person ${says}`);
    }
    await it.send("run it");
    await it.event("approval.requested");
    const armed = async () =>
      (await it.call("tui.get_model", { jsonpath: "$.approvals[0].armed" })).matches[0];
    await it.call("tui.snapshot");
    await until(armed, "the question can be answered");
    await press({ key: "1" });
    assertStringIncludes(JSON.stringify(await press({ key: "enter" })), "only a person allows");
    assertEquals((await it.call("session.get")).pending_approvals.length, 1);
    assert(!there(it, "y"));
    // The person's own keys still answer it.
    await it.call("tui.press_key", { key: "1" });
    await it.call("tui.press_key", { key: "enter" });
    await it.event("turn.completed");
    assert(there(it, "y"));
  },
});

Deno.test({
  name: "in a terminal, line by line, and from svc ctl",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await Scenario.begin([{ text: "not a command" }], ASKS);
    const { place, session_id } = it;
    await using terminal = await TmuxTerminal.open(place, { cols: 100, rows: 60 });
    await terminal.line(svcLine("chat", "--session", session_id));
    await terminal.shows("● ready");
    await terminal.line("!echo in $((1 + 1)) lines; echo done");
    await terminal.shows(
      /› !echo in[^]*● run_command echo in[^]*└ in 2 lines\n {4}done[^]*● ready/,
    );
    await terminal.line(" !not this");
    await terminal.shows("not a command");
    await terminal.press("C-d");
    await terminal.shows("The session continues");
    await terminal.line("clear");
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", session_id)}`);
    await terminal.prompted();
    await terminal.line("!echo typed | tr a-z A-Z");
    await terminal.shows("TYPED");
    await terminal.prompted();
    await terminal.line("/help");
    await terminal.shows("!COMMAND");
    const params = JSON.stringify({ session_id, text: "echo ctl > by_ctl", run: true });
    assertEquals((await place.svc(["ctl", "call", "session.send", params])).code, 0);
    await until(() => there(it, "by_ctl"), "the command of svc ctl");
  },
});
