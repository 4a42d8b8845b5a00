/** The tui verbs: a session's terminal UI, read and driven without a terminal, and with one. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { SvcError } from "../../src/protocol/errors.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc;
const ASK = { start: { approval: "ask" } };

interface Region {
  role: string;
  name: string;
  text?: string;
  focused?: boolean;
  children?: Region[];
}

/** Waits until the screen shows something. @returns the snapshot then. */
async function shows(scenario: Scenario, what: RegExp) {
  let snapshot: { view: string; tree: Region[]; focus: string; seq: number };
  await until(async () => {
    snapshot = await scenario.call("tui.snapshot");
    return what.test(snapshot.view);
  }, `the screen shows ${what}`);
  return snapshot!;
}

Deno.test({
  name: "without a terminal, an agent types, answers a question, watches a lane and reads the end",
  ignore,
  async fn() {
    const command = "echo early; until [ -e go ]; do sleep 0.1; done; echo late";
    const call = { name: "run_command", args: { command } };
    await using scenario = await Scenario.begin([
      { text: "I will.", calls: [call] },
      { text: "All done." },
    ], ASK);
    const press = (params: Record<string, unknown>) => scenario.call("tui.press_key", params);
    const { view } = await scenario.call("tui.snapshot");
    assertEquals(view.split("\n").length, 24);
    await press({ text: "please run it" });
    assertStringIncludes((await scenario.call("tui.snapshot")).view, "› please run it");
    await press({ key: "Enter" });
    const asked = await shows(scenario, /y allow/);
    assertEquals(asked.focus, "approval");
    const question = asked.tree.find(({ role }) => role === "alertdialog")!;
    assertEquals([question.name, question.focused], ["allow run_command?", true]);
    assertStringIncludes(question.text!, command);
    await press({ key: "y" });
    await press({ key: "Enter" });
    await shows(scenario, /2 ● run echo early/);
    const { matches } = await scenario.call("tui.get_model", {
      jsonpath: '$.lanes[?@.kind == "tool"].lane_id',
    });
    await scenario.call("tui.focus_lane", { lane_id: matches[0] });
    const lane = await shows(scenario, /^early$/m);
    assertEquals(lane.tree[0].name, `lane run ${command}`);
    Deno.writeTextFileSync(join(scenario.workdir, "go"), "");
    await press({ key: "escape" });
    await press({ key: "escape", cols: 200, rows: 50 });
    const done = await shows(scenario, /All done\.[^]*● ready/);
    assertEquals(done.view.split("\n").length, 50);
    assert(done.view.split("\n").some((line) => line.length === 200));
    assertEquals(done.tree[0].children!.map(({ name }) => name), [
      "note",
      "you",
      "assistant",
      "call, done",
      "assistant",
    ]);
    assertEquals(done.seq, (await scenario.call("session.get")).last_seq);
  },
});

Deno.test({
  name: "opened in the middle of an answer, the interface has what was said before",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([
      { text: ["one ", "two ", "three"], hang_after: 3 },
      { text: "still here" },
    ]);
    await scenario.send("count");
    await scenario.event("session.delta", ({ data }) => data.text.endsWith("three"));
    const { view } = await scenario.call("tui.snapshot");
    assertEquals(view.match(/one two three/g)?.length, 1);
    await scenario.call("tui.press_key", { key: "escape" });
    await shows(scenario, /turn cancelled[^]*● ready/);
    await scenario.turn("and now?");
    const after = await shows(scenario, /still here[^]*● ready/);
    assertEquals(after.view.match(/one two three/g)?.length, 1);
  },
});

Deno.test({
  name: "what the tui verbs are asked wrongly is refused with what to do",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([]);
    const refused = async (method: string, params: Record<string, unknown>, said: string) => {
      const error = await assertRejects(() => scenario.call(method, params), SvcError, said);
      assert(error.hint !== undefined || error.code === "validation" || error.code === "not_found");
    };
    await refused("tui.press_key", { key: "entre" }, 'there is no key "entre"');
    await refused("tui.press_key", {}, "pass either key or text");
    await refused("tui.get_model", { jsonpath: "$.lanes[" }, "jsonpath:");
    await refused("tui.focus_lane", { lane_id: "lane_x" }, "is not shown");
    await refused("tui.snapshot", { session_id: "sess_00000000000000000000000000" }, "no session");
    await refused("tui.answer", { request_id: "x" }, "is waiting for an answer");
  },
});

Deno.test({
  name: "with a chat open on the session, the verbs read and drive that very terminal",
  ignore: ignore || !has_tmux,
  async fn() {
    await using scenario = await Scenario.begin([{ text: "hello to you" }], ASK);
    const { place, session_id } = scenario;
    await scenario.call("tui.press_key", { text: "typed without a terminal" });
    await using terminal = await TmuxTerminal.open(place, { cols: 60, rows: 15 });
    await terminal.line(svcLine("chat", "--session", session_id));
    await until(
      async () => (await scenario.call("tui.snapshot")).view.split("\n").length === 15,
      "the terminal has registered itself",
    );
    await scenario.call("tui.press_key", { text: "hel" });
    await terminal.type("lo");
    await terminal.shows("› hello");
    await scenario.call("tui.press_key", { key: "enter" });
    const screen = await terminal.shows(/hello to you[^]*● ready/);
    const { view } = await scenario.call("tui.snapshot");
    const trimmed = (text: string) =>
      text.split("\n").map((row) => row.trimEnd()).join("\n").trim();
    assertEquals(trimmed(view), trimmed(screen));
    await assertRejects(
      () => scenario.call("tui.press_key", { key: "entre" }),
      SvcError,
      'there is no key "entre"',
    );
    await scenario.call("tui.press_key", { key: "ctrl-d" });
    await terminal.shows("The session continues");
    const after = await scenario.call("tui.snapshot");
    assertEquals(after.view.split("\n").length, 24);
    assertStringIncludes(after.view, "hello to you");
  },
});
