import { assert, assertEquals } from "@std/assert";
import { CHAT_COMMANDS } from "../../protocol/chat_commands.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import { parseKey } from "./keys.ts";
import type { Effect } from "./effect.ts";
import { lineText } from "./text.ts";
import { type SessionDetail, Tui } from "./tui.ts";

const ID = "sess_00000000000000000000000000";
const DETAIL: SessionDetail = {
  title: "a title",
  workdir: "/work/project",
  model: "local/model",
  approval: "ask",
  effort: "default",
  state: "running",
  activity: "idle",
  cost_usd: 0,
  last_seq: 3,
  plan: [],
  lanes: [],
  pending_approvals: [],
};
const LANE = { parent_lane_id: "main", started_at: "" };

/** An interface to press keys on, and to tell what happens. */
const RM_X = {
  tool: "run_command",
  args: { command: "rm x" },
  reason: "run rm x",
  rule: "run_command rm x",
};

class Bench {
  readonly tui = new Tui(ID, { cols: 80, rows: 24 }, () => "id-1");
  #seq = 3;

  constructor() {
    this.tui.load(DETAIL, { events: [], seq: 3 });
    this.event("lane.created", { lane_id: "main", kind: "main", label: "p", started_at: "" });
    this.event("lane.status", { lane_id: "main", status: "running", prev_status: "pending" });
  }

  event(type: string, data: unknown): void {
    this.tui.apply({ seq: ++this.#seq, at: "", type, data } as SessionEvent);
  }

  ask(approval_id = "appr_1"): void {
    this.event("approval.requested", { approval_id, call_id: "c", ...RM_X });
  }

  keys(...names: string[]): Effect[] {
    return names.flatMap((name) => this.tui.press(parseKey(name)));
  }

  get model() {
    return this.tui.model;
  }
}

Deno.test("Enter sends, and the message is on the screen until the daemon confirms it", () => {
  const bench = new Bench();
  assertEquals(bench.keys("h", "i", "alt-enter", "!", "ctrl-j", "enter"), [
    { type: "send", text: "hi\n!\n", client_message_id: "id-1" },
  ]);
  assertEquals(bench.model.outbox.length, 1);
  assertEquals(bench.model.entries.at(-1)!.client_message_id, "id-1");
  const data = { message_id: "m", text: "hi\n!\n", client_message_id: "id-1" };
  bench.event("user.message", data);
  assertEquals(bench.model.outbox, []);
  assertEquals(bench.model.entries.filter(({ kind }) => kind === "user").length, 1);
  assertEquals(bench.keys("enter", " ", "enter"), []);
  bench.tui.press({ type: "paste", text: "constructor" });
  assertEquals(bench.keys("enter").map(({ type }) => type), ["send"]);
});

Deno.test("a message resumes a session that was paused, not one that comes back with its daemon", () => {
  const bench = new Bench();
  bench.event("session.paused", { reason: "operator" });
  assertEquals(bench.keys("h", "enter").map(({ type }) => type), ["resume", "send"]);
  bench.event("session.resumed", { reason: "operator" });
  bench.event("session.paused", { reason: "daemon_shutdown" });
  assertEquals(bench.keys("h", "enter").map(({ type }) => type), ["send"]);
});

Deno.test("Ctrl-C cancels and a second one leaves; any other key in between keeps the chat", () => {
  const bench = new Bench();
  bench.event("turn.started", { turn_id: "t", model: "m" });
  assertEquals(bench.keys("ctrl-c", "ctrl-c"), [{ type: "cancel" }, { type: "quit" }]);
  assertEquals(bench.keys("ctrl-c", "x", "ctrl-c").map(({ type }) => type), ["cancel", "cancel"]);
  assertEquals(bench.keys("escape"), [{ type: "cancel" }]);
  bench.event("turn.completed", { turn_id: "t", stop_reason: "cancelled", message: "" });
  assertEquals(bench.keys("escape", "ctrl-c"), []);
  assertEquals(bench.model.input.text, "");
  assertEquals(bench.keys("ctrl-d"), [{ type: "quit" }]);
});

Deno.test("y, a and n with Enter answer a question, not before a person can have seen it", () => {
  const bench = new Bench();
  bench.ask();
  assertEquals(bench.keys("y"), []);
  assertEquals(bench.model.input.text, "y");
  bench.keys("backspace", "tab");
  assertEquals(bench.model.focus, "approval");
  bench.tui.arm();
  bench.tui.screen();
  const decisions = { y: "allow", a: "allow_always", N: "deny" } as const;
  for (const [key, decision] of Object.entries(decisions)) {
    const effect = { type: "approve", approval_id: "appr_1", decision, question: RM_X } as const;
    assertEquals(bench.keys(key), []);
    assert(bench.tui.snapshot().view.includes("Enter confirms"));
    assertEquals(bench.keys("enter"), [effect]);
    assertEquals(bench.keys("y", "enter"), []);
    bench.tui.reopen("appr_1");
  }
  bench.event("approval.resolved", { approval_id: "appr_1", decision: "allow", by: "tui" });
  assertEquals(bench.model.focus, "input");
});

Deno.test("1, 2 and 3 with Enter answer a question like y, a and n", () => {
  const bench = new Bench();
  bench.ask();
  bench.tui.arm();
  bench.tui.screen();
  const decisions = { "1": "allow", "2": "allow_always", "3": "deny" } as const;
  for (const [key, decision] of Object.entries(decisions)) {
    assertEquals(bench.keys(key), []);
    assert(bench.tui.snapshot().view.includes("Enter confirms"));
    assertEquals(bench.keys("enter"), [
      { type: "approve", approval_id: "appr_1", decision, question: RM_X },
    ]);
    bench.tui.reopen("appr_1");
  }
});

Deno.test("always shows the rules: a number, a letter and Enter keep one of them", () => {
  const bench = new Bench();
  const choices = ["run_command = rm x", "run_command: rm *", "run_command"];
  const question = { ...RM_X, choices };
  bench.event("approval.requested", { approval_id: "appr_1", call_id: "c", ...question });
  assertEquals(bench.keys("2", "d"), []);
  bench.keys("backspace", "backspace", "tab");
  bench.tui.arm();
  bench.tui.screen();
  const sees = () => bench.tui.snapshot().view;
  assert(!sees().includes("d this directory"));
  assertEquals(bench.keys("a"), []);
  assert(sees().includes("d this directory"), sees());
  assert(sees().includes("2 run_command: rm *"), sees());
  assertEquals(bench.keys("1"), []);
  assert(sees().includes("▸ 1 exactly this command"), sees());
  assertEquals(bench.keys("3", "e"), []);
  assert(sees().includes("always allow every run_command, everywhere"), sees());
  // Without the list: the number of the rule, and where it holds.
  assertEquals(bench.keys("escape", "2", "d"), []);
  assert(sees().includes("always allow run_command: rm *, this directory"), sees());
  assertEquals(bench.keys("enter"), [{
    type: "approve",
    approval_id: "appr_1",
    decision: "allow_always",
    question,
    always: { rule: "run_command: rm *", scope: "directory" },
  }]);
  assertEquals(bench.keys("1", "enter"), []);
});

Deno.test("after 3 one types or pastes what to do instead; Esc goes back", () => {
  const bench = new Bench();
  bench.ask();
  bench.tui.arm();
  bench.tui.screen();
  assertEquals(bench.keys("3", ..."use mv"), []);
  assert(bench.tui.snapshot().view.includes("Enter denies it and says what you type"));
  assertEquals(bench.keys("escape"), []);
  assertEquals([bench.model.focus, bench.model.input.text], ["approval", ""]);
  bench.keys("3");
  assertEquals(bench.tui.press({ type: "paste", text: "yes, but later" }), []);
  assertEquals(bench.keys("enter"), [{
    type: "approve",
    approval_id: "appr_1",
    decision: "deny",
    question: RM_X,
    message: "yes, but later",
  }]);
  assertEquals(bench.model.input.text, "");
});

Deno.test("what to do instead is a message again when it was deleted", () => {
  const bench = new Bench();
  bench.ask();
  bench.tui.arm();
  bench.tui.screen();
  bench.keys("3", "x", "backspace", "h", "i");
  assertEquals(bench.keys("enter").map(({ type }) => type), ["send"]);
  assertEquals(bench.model.approvals[0].answered, false);
});

Deno.test("a message that begins like an answer is a message, whole; the word alone answers", () => {
  const sent = (bench: Bench) =>
    bench.keys("enter").map((effect) => effect.type === "send" ? effect.text : effect.type);
  const choices = ["run_command = rm x", "run_command: rm *"];
  for (
    const text of [
      "add a test first",
      "yep",
      "1st this",
      "2 d",
      "nn",
      "3 files",
      "33",
      "Always",
    ]
  ) {
    const bench = new Bench();
    const question = { ...RM_X, choices };
    bench.event("approval.requested", { approval_id: "appr_1", call_id: "c", ...question });
    bench.tui.arm();
    bench.tui.screen();
    assertEquals(bench.model.focus, "approval");
    assertEquals(bench.keys(...text), []);
    assertEquals(bench.model.input.text, text);
    const is_answer = text === "Always";
    assertEquals(sent(bench), [is_answer ? "approve" : text]);
    assertEquals(bench.model.approvals.map(({ answered }) => answered), [is_answer]);
  }
});

Deno.test("a denial can say what to do instead", () => {
  for (
    const [text, said] of [
      ["no, use deno test", "use deno test"],
      ["n: later", "later"],
      ["3, later", "later"],
    ]
  ) {
    const bench = new Bench();
    bench.event("approval.requested", { approval_id: "appr_1", call_id: "c", ...RM_X });
    bench.tui.arm();
    bench.tui.screen();
    assertEquals(bench.keys(...text), []);
    const [effect] = bench.keys("enter");
    assert(effect.type === "approve" && effect.decision === "deny");
    assertEquals(effect.message, said);
    assertEquals(bench.model.input.text, "");
  }
});

Deno.test("Up and Down go through the answers; Esc and Backspace take one back", () => {
  const bench = new Bench();
  bench.ask();
  bench.tui.arm();
  bench.tui.screen();
  const picked = () => bench.model.approvals[0].picked?.decision;
  const steps = ["down", "down", "down", "down", "up", "escape", "up", "backspace"].map((key) => {
    assertEquals(bench.keys(key), []);
    return picked();
  });
  assertEquals(steps, [
    ...["allow", "allow_always", "deny", "allow", "deny", undefined, "deny", undefined],
  ]);
  assertEquals(bench.keys("enter"), []);
  assertEquals(bench.keys("down", "enter").map(({ type }) => type), ["approve"]);
});

Deno.test("a question that does not fit is read to its end before it can be allowed", () => {
  const bench = new Bench();
  const command = `echo ${"\n".repeat(60)}; rm -rf ~`;
  bench.event("approval.requested", {
    approval_id: "appr_1",
    call_id: "c",
    ...RM_X,
    args: { command },
  });
  bench.tui.arm();
  const sees = () => bench.tui.snapshot().view;
  assertEquals(sees().includes("rm -rf"), false);
  assertEquals(sees().includes("y allow"), false);
  assertEquals(bench.keys("y", "a"), []);
  assertEquals(bench.model.approval_shown, true);
  for (let page = 0; !sees().includes("rm -rf"); page++) {
    assertEquals(bench.keys("y"), []);
    assert(page < 10);
    bench.keys("pagedown");
  }
  assertEquals(bench.keys("y", "enter").map(({ type }) => type), ["approve"]);
});

Deno.test("a question too long for the terminal can only be denied there", () => {
  const bench = new Bench();
  bench.event("approval.requested", {
    approval_id: "appr_1",
    call_id: "c",
    ...RM_X,
    args: { command: "x".repeat(300_000) },
  });
  bench.tui.arm();
  bench.keys("v", "end");
  assert(bench.tui.snapshot().view.includes("more characters: open the web app"));
  assertEquals(bench.keys("y", "a"), []);
  assertEquals(bench.keys("n", "enter").map(({ type }) => type), ["approve"]);
});

Deno.test("a question that comes while a message is typed does not take its keys", () => {
  const bench = new Bench();
  bench.keys("s", "a");
  bench.ask();
  bench.tui.arm();
  assertEquals(bench.keys("y"), []);
  assertEquals(bench.model.input.text, "say");
});

Deno.test("the next question has to be seen before it is answered", () => {
  const bench = new Bench();
  bench.ask("appr_1");
  bench.tui.arm();
  bench.event("approval.resolved", { approval_id: "appr_1", decision: "allow", by: "tui" });
  bench.ask("appr_2");
  assertEquals(bench.keys("y"), []);
});

Deno.test("lanes are shown by number, killed and pinned; Esc goes back before it cancels", () => {
  const bench = new Bench();
  bench.event("turn.started", { turn_id: "t", model: "m" });
  assertEquals(bench.keys("2"), []);
  assertEquals(bench.model.input.text, "2");
  bench.keys("backspace");
  bench.event("lane.created", { lane_id: "lane_1", kind: "tool", label: "run x", ...LANE });
  bench.event("lane.delta", {
    lane_id: "lane_1",
    delta_seq: 1,
    content_block: { type: "text", text: "out\n\x1b[31mred" },
  });
  assertEquals(bench.keys("2"), []);
  assertEquals(bench.model.lane_shown, "lane_1");
  assertEquals(bench.model.lanes[1].output.lines, ["out", "\\u{1b}[31mred"]);
  assertEquals(bench.keys("escape"), []);
  assertEquals(bench.model.lane_shown, undefined);
  assertEquals(bench.keys("tab", "down", "k", "p"), [
    { type: "kill_lane", lane_id: "lane_1" },
    { type: "pin_lane", lane_id: "lane_1", pinned: true },
  ]);
  assertEquals(bench.keys("escape", "escape"), [{ type: "cancel" }]);
});

Deno.test("several questions come one after the other, with their number", () => {
  const bench = new Bench();
  bench.ask("appr_1");
  bench.ask("appr_2");
  bench.ask("appr_3");
  bench.tui.arm();
  assert(bench.tui.snapshot().view.includes("? allow run_command? (1 of 3)"));
  bench.event("approval.resolved", { approval_id: "appr_1", decision: "deny", by: "tui" });
  assert(bench.tui.snapshot().view.includes("? allow run_command? (1 of 2)"));
});

Deno.test("the help has every command and scrolls; another key closes it", () => {
  const bench = new Bench();
  bench.keys(..."/help");
  bench.keys("enter");
  const seen = new Set<string>();
  for (let page = 0; page < 5; page++) {
    for (const line of bench.tui.snapshot().view.split("\n")) seen.add(line);
    bench.keys("pagedown");
  }
  const all = [...seen].join("\n");
  for (const name of CHAT_COMMANDS.filter((it) => it !== "exit")) {
    assert(all.includes(`/${name}`), name);
  }
  assertEquals(bench.model.help, true);
  bench.keys("x");
  assertEquals(bench.model.help, false);
});

Deno.test("? shows the keys when the message is empty, and is a character when it is not", () => {
  const bench = new Bench();
  bench.keys("?");
  assertEquals(bench.model.help, true);
  bench.keys("x", "a", "?");
  assertEquals([bench.model.help, bench.model.input.text], [false, "a?"]);
});

Deno.test("scrolled up, the window stays where it is while text comes in, and End follows again", () => {
  const bench = new Bench();
  bench.event("turn.started", { turn_id: "t", model: "m" });
  const say = (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      bench.event("session.delta", { turn_id: "t", text: `line ${n}\n` });
    }
  };
  say(0, 100);
  bench.keys("pageup");
  const before = bench.tui.snapshot().view.split("\n").slice(0, 15);
  say(100, 200);
  assertEquals(bench.tui.snapshot().view.split("\n").slice(0, 15), before);
  bench.keys("end");
  assertEquals(bench.tui.snapshot().view.includes("line 199"), true);
  bench.keys("home");
  assertEquals(bench.tui.snapshot().view.includes("line 199"), false);
  bench.keys("pagedown", "end");
  assertEquals(bench.model.scroll, undefined);
});

Deno.test("a question that comes during a search gets no key that is meant for the message", () => {
  const bench = new Bench();
  bench.keys("ctrl-r", "h");
  bench.ask();
  bench.tui.screen();
  bench.tui.arm();
  bench.keys("escape");
  assertEquals(bench.model.focus, "input");
  bench.keys("1");
  assertEquals([bench.model.input.text, bench.model.approvals[0].picked], ["1", undefined]);
  // One that was there before has the keys again, but not for what was found.
  const before = new Bench();
  before.ask();
  before.tui.screen();
  before.tui.arm();
  before.keys("1");
  assertEquals(before.model.approvals[0].picked?.decision, "allow");
  before.tui.takeFound("found");
  before.keys("2");
  assertEquals(before.model.input.text, "found2");
});

Deno.test("what is typed into a list is made visible, and a long line shows its end", () => {
  const bench = new Bench();
  bench.keys("ctrl-p");
  bench.tui.press({ type: "paste", text: "a\u202eb\x1b[31mc" });
  const { query } = bench.model.picker!;
  assertEquals(query.includes("\u202e") || query.includes("\x1b"), false);
  bench.tui.press({ type: "paste", text: `${"\u{1f600}".repeat(200)}end` });
  assert(lineText(bench.tui.screen().lines[1]).trimEnd().endsWith("\u{1f600}end"));
});

Deno.test("a click picks another answer, types nothing, and the wheel stays within the help", () => {
  const bench = new Bench();
  bench.ask();
  const shown = () => bench.tui.screen().lines.map((it) => lineText(it));
  const click = (text: string) =>
    bench.tui.point({ row: shown().findIndex((it) => it.includes(text)), col: 4, by: 0 });
  click("1 y allow");
  assertEquals([bench.model.approvals[0].picked, bench.model.input.text], [undefined, ""]);
  bench.tui.arm();
  click("1 y allow");
  assertEquals(bench.model.approvals[0].picked?.decision, "allow");
  click("3 n deny");
  assertEquals(bench.model.approvals[0].picked?.decision, "deny");
  click("1 y allow");
  assertEquals([bench.model.approvals[0].picked?.decision, bench.model.input.text], ["allow", ""]);
  const help = new Bench();
  help.keys("?");
  const turn = (by: 1 | -1) => help.tui.point({ row: 3, col: 3, by });
  const first = JSON.stringify(help.tui.screen().lines);
  for (let n = 0; n < 100; n++) turn(1);
  const last = JSON.stringify(help.tui.screen().lines);
  turn(-1);
  const above = JSON.stringify(help.tui.screen().lines);
  assert(last !== first && above !== last && above !== first);
});
