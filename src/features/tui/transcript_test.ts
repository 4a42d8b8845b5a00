import { assert, assertEquals, assertMatch } from "@std/assert";
import type { SessionEvent } from "../../protocol/events.ts";
import { ENTRIES_MAX, ENTRY_MAX } from "./entries.ts";
import type { Model } from "./model.ts";
import { activity } from "./status.ts";
import { Tui } from "./tui.ts";

const ID = "sess_00000000000000000000000000";

/** The interfaces of the models that a test looks at. */
const tuis = new WeakMap<Model, Tui>();

function emptyModel(session_id: string): Model {
  const tui = new Tui(session_id, { cols: 80, rows: 24 }, () => "id");
  tuis.set(tui.model, tui);
  return tui.model;
}

function applyEvent(model: Model, event: SessionEvent): void {
  tuis.get(model)!.apply(event);
}

function fold(model: Model, events: readonly [string, unknown][]): Model {
  for (const [type, data] of events) {
    applyEvent(model, { seq: model.seq + 1, at: "", type, data } as SessionEvent);
  }
  return model;
}

function shown({ entries }: Model): string[] {
  return entries.map(({ kind, lines }) => `${kind}: ${lines.join("\n")}`);
}

const COST = { usd_delta: 0.25, tokens_in: 1, tokens_out: 1, tokens_cached: 0, seen_seq: 0 };
const CALL = { call_id: "c", tool: "read_file", args: { path: "a.txt" }, lane_id: "main" };

Deno.test("a message shows a line for each attachment", () => {
  const attachment = { hash: "", media_type: "image/png", name: "a\x1b[2J.png", bytes: 120_000 };
  const model = fold(emptyModel(ID), [
    ["user.message", { message_id: "m", text: "look", attachments: [attachment] }],
  ]);
  assertEquals(shown(model), ["user: look\n[image: a\\u{1b}[2J.png, 120 kB]"]);
  assertEquals(model.history, ["look"]);
});

Deno.test("a turn is its message, the answer's steps, the calls and how it ended", () => {
  const model = fold(emptyModel(ID), [
    ["user.message", { message_id: "m", text: "read it" }],
    ["turn.started", { turn_id: "t", model: "m" }],
    ["session.delta", { turn_id: "t", text: "I will " }],
    ["session.delta", { turn_id: "t", text: "read it." }],
    ["cost.tick", COST],
    ["session.tool_started", CALL],
    ["session.tool_completed", { call_id: "c", ok: true, output: "one\ntwo\n" }],
    ["session.delta", { turn_id: "t", text: "\n\nDone." }],
    ["cost.tick", COST],
    ["turn.completed", { turn_id: "t", stop_reason: "ok", message: "" }],
  ]);
  assertEquals(shown(model), [
    "user: read it",
    "assistant: I will read it.",
    "call: read_file a.txt\none\ntwo",
    "assistant: Done.",
  ]);
  assertEquals([model.session.turn, model.session.cost_usd], [false, 0.5]);
  assertEquals(model.history, ["read it"]);
});

Deno.test("reasoning is an entry of its own until the model goes on", () => {
  const think = (text: string) => ["session.reasoning", { turn_id: "t", text }] as const;
  const model = fold(emptyModel(ID), [
    ["turn.started", { turn_id: "t", model: "m" }],
    [...think("First ")],
    [...think("I look.\x1b[2J")],
    ["session.delta", { turn_id: "t", text: "Looking." }],
    ["cost.tick", COST],
    [...think("Enough.")],
    ["cost.tick", COST],
    [...think("Again.")],
    ["turn.completed", { turn_id: "t", stop_reason: "ok", message: "" }],
  ]);
  assertEquals(shown(model), [
    "thought: First I look.\\u{1b}[2J",
    "assistant: Looking.",
    "thought: Enough.",
    "thought: Again.",
  ]);
});

Deno.test("what a failed model call had said is taken back", () => {
  const model = fold(emptyModel(ID), [
    ["turn.started", { turn_id: "t", model: "m" }],
    ["session.delta", { turn_id: "t", text: "half an ans" }],
    ["lane.note", { lane_id: "main", text: "trying again", reason_code: "model_retry" }],
    ["session.delta", { turn_id: "t", text: "an answer" }],
    ["turn.completed", { turn_id: "t", stop_reason: "interrupted", message: "" }],
  ]);
  assertEquals(shown(model), [
    "note: trying again",
    "assistant: an answer",
    "problem: turn interrupted",
  ]);
});

Deno.test("the status has until when a turn is parked, and how to try again", () => {
  const until = "2030-01-02T15:00:00Z";
  const model = fold(emptyModel(ID), [
    ["turn.started", { turn_id: "t", model: "m" }],
    ["turn.parked", { turn_id: "t", until, reason: "quota" }],
  ]);
  model.link = "connected";
  assertMatch(activity(model).text, /^parked until 2030-01-0\d \d\d:\d\d$/);
  assertEquals(model.notice, "/continue tries the parked turn again now");
  fold(model, [["turn.continued", { turn_id: "t", after: "limit" }]]);
  assertEquals([activity(model).text, model.notice], ["working", undefined]);
});

Deno.test("a turn that goes on says what was half said once, whether it had ended or not", () => {
  for (const ended of [false, true]) {
    const model = fold(emptyModel(ID), [
      ["turn.started", { turn_id: "t", model: "m" }],
      ["session.delta", { turn_id: "t", text: "First." }],
      ["cost.tick", COST],
      ["session.tool_started", CALL],
      ["session.delta", { turn_id: "t", text: "half an ans" }],
    ]);
    const end = ["turn.completed", { turn_id: "t", stop_reason: "interrupted", message: "" }];
    if (ended) fold(model, [end as [string, unknown]]);
    assertEquals(model.notice !== undefined, ended);
    fold(model, [["turn.continued", { turn_id: "t", after: "asked" }]]);
    assertEquals([model.session.turn, model.notice], [true, undefined]);
    fold(model, [
      ["session.tool_completed", { call_id: "c", ok: true, output: "one\n" }],
      ["session.delta", { turn_id: "t", text: "an answer" }],
      ["turn.completed", { turn_id: "t", stop_reason: "ok", message: "" }],
    ]);
    assertEquals(shown(model), [
      "assistant: First.",
      "call: read_file a.txt\none",
      ...ended ? ["problem: turn interrupted"] : [],
      "note: the turn goes on",
      "assistant: an answer",
    ]);
  }
});

Deno.test("what the model is told about its answer is shown, other notes are not", () => {
  const model = fold(emptyModel(ID), [
    ["turn.started", { turn_id: "t", model: "m" }],
    ["session.delta", { turn_id: "t", text: "One tw" }],
    ["lane.note", { lane_id: "main", text: "cut off", reason_code: "model_told" }],
    ["lane.note", { lane_id: "main", text: "hidden", reason_code: "pinned" }],
    ["turn.completed", { turn_id: "t", stop_reason: "length", error: "too long", message: "" }],
  ]);
  assertEquals(shown(model), [
    "assistant: One tw",
    "note: cut off",
    "problem: turn length: too long",
  ]);
});

Deno.test("a call shows what it changes in files, then what it gave; one that goes on runs again", () => {
  const args = { path: "a.txt", old_text: "one\ntwo\n", new_text: "\x1b[2Jthree" };
  const result = { call_id: "c", tool: "edit_file", ok: true, output: "edited" };
  const edit = "- one\n- two\n+ \\u{1b}[2Jthree";
  const model = fold(emptyModel(ID), [["session.tool_started", {
    ...CALL,
    tool: "edit_file",
    args,
  }]]);
  const call = () => [shown(model)[0], model.entries[0].ok, model.entries[0].edit_lines];
  assertEquals(call(), [`call: edit_file a.txt\n${edit}`, undefined, 3]);
  fold(model, [["turn.completed", { turn_id: "t", stop_reason: "interrupted", message: "" }]]);
  assertEquals(call()[1], false);
  fold(model, [["turn.continued", { turn_id: "t", after: "asked" }]]);
  assertEquals(call(), [`call: edit_file a.txt\n${edit}`, undefined, 3]);
  fold(model, [["session.tool_completed", result]]);
  assertEquals(call(), [`call: edit_file a.txt\n${edit}\nedited`, true, 3]);
});

Deno.test("a call that replaced a file shows what differs once its result has it", () => {
  const args = { path: "a.txt", content: "1\ntwo\n" };
  const model = fold(emptyModel(ID), [["session.tool_started", {
    ...CALL,
    tool: "write_file",
    args,
  }]]);
  assertEquals(shown(model), ["call: write_file a.txt\n+ 1\n+ two"]);
  const changes = [{ path: "a.txt", before: "1\n2\n", after: "1\ntwo\n", line: 8 }];
  const result = { call_id: "c", tool: "write_file", ok: true, output: "replaced", changes };
  fold(model, [["session.tool_completed", result]]);
  assertEquals(shown(model), [
    "call: write_file a.txt\na.txt: +1 −1\n  1\n- 2\n+ two\nreplaced",
  ]);
  assertEquals([model.entries[0].recorded, model.entries[0].edit_lines], [true, 4]);
});

Deno.test("a call that is tried again has one note, and a question without a call its outcome", () => {
  const note = (text: string): [string, unknown] => [
    "lane.note",
    { lane_id: "main", text, reason_code: "model_retry" },
  ];
  const request = {
    approval_id: "a",
    lane_id: "lane_1",
    call_id: "x",
    tool: "remember",
    args: {},
    reason: "keep it",
    rule: "remember",
  };
  const model = fold(emptyModel(ID), [
    note("again in 1 s"),
    note("again in 2 s"),
    ["approval.requested", request],
  ]);
  assertEquals(shown(model), ["note: again in 2 s"]);
  fold(model, [["approval.resolved", { approval_id: "a", decision: "allow", by: "local" }]]);
  assertEquals(shown(model), ["note: again in 2 s", "note: allow remember? keep it · allowed"]);
});

Deno.test("reasoning that takes a while says how long, and a message during a turn waits", () => {
  const model = emptyModel(ID);
  const at = (seconds: number, type: string, data: unknown) => {
    const time = new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
    applyEvent(model, { seq: model.seq + 1, at: time, type, data } as SessionEvent);
  };
  at(0, "turn.started", { turn_id: "t", model: "m" });
  at(0, "session.reasoning", { turn_id: "t", text: "Hm." });
  at(1, "user.message", { message_id: "m", text: "hurry" });
  at(3, "session.delta", { turn_id: "t", text: "Yes." });
  assertEquals(shown(model), [
    "thought: Hm.\n(thought for 3.0 s)",
    "user: hurry",
    "assistant: Yes.",
  ]);
  assertEquals(model.entries[1].waits, true);
  at(4, "cost.tick", { ...COST, seen_seq: 3 });
  assertEquals(model.entries[1].waits, false);
});

Deno.test("the rules that a model was told are named, and those that could not be read", () => {
  const model = fold(emptyModel(ID), [
    ["rules.loaded", {
      turn_id: "t",
      files: [{ path: "/p/AGENTS.md", bytes: 5, sha256: "1" }],
      skipped: [{ path: "/p/a\x1b[2J.md", reason: "is a pipe" }],
      removed: ["/p/old.md"],
      text: "not shown",
    }],
    ["context.told", { turn_id: "t", facts: {}, text: "not shown" }],
  ]);
  const [note, ...more] = shown(model);
  assertEquals(more, []);
  assert(!note.includes("\x1b"));
  assert(/^note: rules read: \/p\/AGENTS.md; rules gone: \/p\/old.md; rules left out/.test(note));
});

Deno.test("an event that was seen already changes nothing", () => {
  const model = fold(emptyModel(ID), [["session.delta", { turn_id: "t", text: "once" }]]);
  const event = { seq: 1, at: "", type: "session.delta", data: { turn_id: "t", text: "once" } };
  applyEvent(model, event as SessionEvent);
  assertEquals(shown(model), ["assistant: once"]);
});

Deno.test("a question shows every argument, text of several lines as it is", () => {
  const model = emptyModel(ID);
  model.session.workdir = "/work/project";
  fold(model, [["approval.requested", {
    approval_id: "a",
    lane_id: "main",
    call_id: "c",
    tool: "write_file",
    args: { path: "a.txt", content: "one\n\x1b[2Jpath: b.txt\n", mode: 3, "x\ny": [1] },
    reason: "write a.txt",
    rule: "write_file",
  }]]);
  assertEquals(model.approvals[0].about.lines, [
    "write a.txt",
    "in /work/project",
    "content:",
    "  │ one",
    "  │ \\u{1b}[2Jpath: b.txt",
    "  │ ",
    "mode: 3",
    "x\\ny:",
    "  1: 1",
  ]);
});

Deno.test("a question of a lane outlives the turn, and goes with its lane", () => {
  const asks = (approval_id: string, lane_id: string): [string, unknown] => ["approval.requested", {
    approval_id,
    lane_id,
    call_id: "c",
    tool: "remember",
    args: {},
    reason: "keep it",
    rule: "remember",
  }];
  const pending = (model: Model) => model.approvals.map((it) => it.approval_id);
  const ended = { reason: "", reason_code: "", prev_status: "blocked", status: "done" } as const;
  const model = fold(emptyModel(ID), [asks("of_turn", "main"), asks("of_lobe", "lane_1")]);
  assertEquals(pending(model), ["of_turn", "of_lobe"]);
  fold(model, [["turn.completed", { turn_id: "t", stop_reason: "ok", message: "" }]]);
  assertEquals(pending(model), ["of_lobe"]);
  fold(model, [["lane.status", { lane_id: "lane_1", ...ended }]]);
  assertEquals(pending(model), []);
});

Deno.test("however much comes, what is kept stays bounded and ends with the newest", () => {
  const model = emptyModel(ID);
  const text = "x".repeat(99) + "\n";
  for (let n = 0; n < 10_000; n++) fold(model, [["session.delta", { turn_id: "t", text }]]);
  fold(model, [["session.delta", { turn_id: "t", text: "the end" }], ["cost.tick", COST]]);
  const [answer] = model.entries;
  assert(answer.size <= ENTRY_MAX);
  assertEquals(answer.size, answer.lines.join("\n").length);
  assertEquals(answer.lines.at(-1), "the end");
  for (let n = 0; n < 20; n++) {
    const long = "y".repeat(50_000);
    fold(model, [["user.message", { message_id: `${n}`, text: long }]]);
  }
  assert(model.entries.reduce((sum, { size }) => sum + size, 0) <= ENTRIES_MAX);
  assert(model.cut);
  fold(model, [["session.delta", { turn_id: "t", text: "z".repeat(3 * ENTRY_MAX) }]]);
  assert(model.entries.at(-1)!.size <= ENTRY_MAX);
});
