import { assert, assertEquals } from "@std/assert";
import type { EventData, EventType, SessionEvent } from "../protocol/events.ts";
import type { Item } from "./view.ts";
import { Transcript } from "./transcript.ts";
import { ViewList } from "./view_list.ts";

/** Applies events as `[type, data]`, numbered from 1. */
function folded(...events: { [T in EventType]: [T, EventData[T]] }[EventType][]): ViewList {
  const conversation = new ViewList();
  for (const [n, [type, data]] of events.entries()) {
    conversation.apply({ seq: n + 1, at: "2026-01-01T00:00:00.000Z", type, data } as SessionEvent);
  }
  return conversation;
}

const USAGE = { tokens_in: 1, tokens_out: 1, tokens_cached: 0 };
const TICK = { usd_delta: 0, ...USAGE, seen_seq: 1 };
const delta = (text: string) => ["session.delta", { turn_id: "t", text }] as const;
const call = (call_id: string) =>
  ["session.tool_started", { call_id, tool: "run_command", args: {}, lane_id: "main" }] as const;
const completed = (
  stop_reason: "ok" | "cancelled" | "interrupted" | "error" | "length",
  error?: string,
) =>
  ["turn.completed", {
    turn_id: "t",
    stop_reason,
    message: "",
    usage: { ...USAGE, usd: 0 },
    error,
  }] as const;

function textOf(item: Item): string {
  switch (item.kind) {
    case "tool":
      return `${item.tool} ${item.outcome?.output ?? "…"}`;
    case "question":
      return `question ${item.request.reason}`;
    default:
      return `${item.kind} ${item.text}`;
  }
}

const shown = ({ items }: ViewList) => items.map(textOf);

Deno.test("deltas of a step are one text, those of the next another", () => {
  const conversation = folded(
    ["user.message", { message_id: "m", text: "go" }],
    [...delta("a")],
    [...delta("b")],
    ["cost.tick", TICK],
    [...call("c1")],
    ["session.tool_completed", {
      call_id: "c1",
      tool: "run_command",
      ok: true,
      duration_ms: 5,
      output: "done",
      truncated: false,
      exit_code: 0,
    }],
    [...delta("\n\nc")],
    ["cost.tick", TICK],
    [...completed("ok")],
  );
  assertEquals(shown(conversation), ["user go", "text ab", "run_command done", "text \n\nc"]);
});

Deno.test("reasoning is an item of its own, which ends when the model goes on", () => {
  const think = (text: string) => ["session.reasoning", { turn_id: "t", text }] as const;
  const conversation = folded(
    [...think("First ")],
    [...think("I look.")],
    [...delta("Looking.")],
    ["cost.tick", TICK],
    [...think("Then")],
  );
  assertEquals(shown(conversation), ["thought First I look.", "text Looking.", "thought Then"]);
  const over = conversation.items.map((item) =>
    item.kind === "thought" && item.until !== undefined
  );
  assertEquals(over, [true, false, false]);
});

Deno.test("a model call that is tried again takes back what it said", () => {
  const conversation = folded(
    [...delta("half")],
    ["lane.note", { lane_id: "main", text: "trying again", reason_code: "model_retry" }],
    [...delta("whole")],
  );
  assertEquals(shown(conversation), ["note trying again", "text whole"]);
});

Deno.test("what the model is told about its answer is shown, and how the turn ended", () => {
  const conversation = folded(
    [...delta("One tw")],
    ["cost.tick", TICK],
    ["lane.note", { lane_id: "main", text: "cut off", reason_code: "model_told" }],
    ["lane.note", { lane_id: "main", text: "hidden", reason_code: "pinned" }],
    [...completed("length", "too long")],
  );
  assertEquals(shown(conversation), ["text One tw", "note cut off", "note turn length: too long"]);
});

Deno.test("rules that were read and left out stand in the conversation", () => {
  const conversation = folded(["rules.loaded", {
    turn_id: "t",
    files: [{ path: "/p/AGENTS.md", bytes: 5, sha256: "1" }],
    skipped: [{ path: "/p/a.md", reason: "is a directory" }],
    removed: [],
    text: "not shown",
  }]);
  assertEquals(shown(conversation), [
    "note rules read: /p/AGENTS.md; rules left out: /p/a.md (is a directory)",
  ]);
});

Deno.test("a turn that is cut off leaves no call open, and says why", () => {
  const conversation = folded([...call("c1")], [...completed("interrupted")]);
  assertEquals(shown(conversation), [
    "run_command interrupted, no result",
    "note turn interrupted",
  ]);
  assertEquals(shown(folded([...completed("error", "no key")])), ["note turn error: no key"]);
});

Deno.test("a turn that goes on takes back what was half said, and its calls end", () => {
  for (const end of [[], [completed("interrupted")]]) {
    const ended = end.map((it) => [...it] as [...typeof it]);
    const conversation = folded(
      [...delta("First.")],
      ["cost.tick", TICK],
      [...call("c1")],
      [...delta("half an ans")],
      ...ended,
    );
    const note = conversation.items.at(-1)!;
    assertEquals(note.kind === "note" && note.may_continue, end.length > 0);
    const at = "2026-01-01T00:00:00.000Z";
    const events = [
      ["turn.continued", { turn_id: "t", after: "asked" }],
      ["session.tool_completed", { call_id: "c1", ok: true, output: "done", truncated: false }],
      [...delta("an answer")],
    ];
    for (const [n, [type, data]] of events.entries()) {
      conversation.apply({ seq: 10 + n, at, type, data } as unknown as SessionEvent);
    }
    assertEquals(note.kind === "note" && note.may_continue, false);
    assertEquals(shown(conversation), [
      "text First.",
      "run_command done",
      ...end.length > 0 ? ["note turn interrupted"] : [],
      "note the turn goes on",
      "text an answer",
    ]);
  }
});

Deno.test("a parked turn may continue until it does, ends or is parked again", () => {
  const parked = { turn_id: "t", until: "2026-01-02T00:00:00Z", reason: "quota" };
  for (const then of ["turn.continued", "turn.completed", "turn.parked"]) {
    const conversation = folded([...delta("half")]);
    const at = "2026-01-01T00:00:00.000Z";
    const take = (seq: number, type: string, data: unknown) =>
      conversation.apply({ seq, at, type, data } as unknown as SessionEvent);
    take(10, "turn.parked", parked);
    const note = conversation.items.at(-1)!;
    assertEquals(note.kind === "note" && [note.may_continue, note.parked_until !== undefined], [
      true,
      true,
    ]);
    take(11, then, { ...parked, stop_reason: "cancelled" });
    assertEquals(note.kind === "note" && note.may_continue, false, then);
  }
});

Deno.test("a lane's output goes to its call while that runs", () => {
  const conversation = folded(
    [...call("c1")],
    ["lane.created", {
      lane_id: "l1",
      kind: "tool",
      label: "run x",
      started_at: "now",
      call_id: "c1",
    }],
    ["lane.delta", { lane_id: "l1", delta_seq: 1, content_block: { type: "text", text: "live" } }],
    ["lane.delta", { lane_id: "main", delta_seq: 1, content_block: { type: "text", text: "x" } }],
  );
  const [item] = conversation.items;
  assertEquals(item.kind === "tool" && item.lane_id, "l1");
  assertEquals([...conversation.lane_output], [["l1", "live"]]);
});

Deno.test("items of a checkpoint have the keys that they had before, whichever events it ends", () => {
  const done = (call_id: string) =>
    ["session.tool_completed", {
      call_id,
      tool: "run_command",
      ok: true,
      duration_ms: 5,
      output: "done",
      truncated: false,
    }] as const;
  const said = [
    ["user.message", { message_id: "m", text: "go" }],
    ["session.reasoning", { turn_id: "t", text: "thought" }],
    delta("a"),
    delta("b"),
    ["cost.tick", TICK],
    call("c1"),
    call("c2"),
    done("c2"),
    done("c1"),
    // An answer of calls alone, whose ids come again.
    ["cost.tick", { ...TICK, seen_seq: 9 }],
    call("c1"),
    done("c1"),
    delta("half an answer"),
    ["lane.note", { text: "again", reason_code: "model_retry", lane_id: "main" }],
    delta("the end"),
    ["cost.tick", { ...TICK, seen_seq: 12 }],
    completed("ok"),
    ["user.message", { message_id: "n", text: "and then?" }],
  ] as unknown as Parameters<typeof folded>;
  const live = folded(...said);
  const keys = live.items.map(({ key }) => key);
  assertEquals(new Set(keys).size, keys.length);
  for (let n = 1; n <= said.length; n++) {
    const transcript = new Transcript();
    const conversation = new ViewList();
    const events = said.map(([type, data], m) =>
      ({ seq: m + 1, at: "2026-01-01T00:00:00.000Z", type, data }) as SessionEvent
    );
    for (const event of events.slice(0, n)) transcript.apply(event);
    // No checkpoint ends where an answer is half written.
    if (transcript.writing !== "") continue;
    const data = { transcript: structuredClone(transcript.toCheckpoint()), state: {} };
    conversation.apply({ ...events[n - 1], type: "session.checkpoint", data } as SessionEvent);
    for (const event of events.slice(n)) conversation.apply(event);
    const before = new Map(live.items.map((item) => [item.key, textOf(item)]));
    for (const item of conversation.items) assertEquals(before.get(item.key), textOf(item), `${n}`);
  }
});

Deno.test("what retention has rewritten is shown from the checkpoint", () => {
  const step = {
    text: "said",
    calls: [{ call_id: "c", tool: "run_command", args: {} }],
    results: [{ call_id: "c", ok: true, output: "out" }],
  };
  const conversation = folded(["session.checkpoint", {
    state: {},
    transcript: {
      items: [{ user: "old", seq: 1 }, { step }],
      waiting: [{ user: "new", seq: 9 }],
      shortened: true,
    },
    chain: "",
  }]);
  assertEquals(shown(conversation), [
    "note earlier messages are no longer stored",
    "user old",
    "text said",
    "run_command out",
    "user new",
  ]);
});

/** Applies more events, numbered from a seq. */
function more(conversation: ViewList, seq: number, ...events: [EventType, unknown][]) {
  const at = "2026-01-01T00:00:02.000Z";
  return events.flatMap(([type, data], n) =>
    conversation.apply({ seq: seq + n, at, type, data } as SessionEvent)
  );
}

const retry = (text: string): [EventType, unknown] => [
  "lane.note",
  { lane_id: "main", text, reason_code: "model_retry" },
];

Deno.test("a model call that is tried again and again is one note, until one is answered", () => {
  const conversation = new ViewList();
  more(conversation, 1, [...delta("ha")], retry("again in 1 s"), [...delta("hal")]);
  more(conversation, 4, retry("again in 2 s"), [...delta("half")]);
  assertEquals(shown(conversation), ["note again in 2 s", "text half"]);
  more(conversation, 6, ["cost.tick", TICK], retry("again in 1 s"));
  assertEquals(shown(conversation), ["note again in 2 s", "text half", "note again in 1 s"]);
});

Deno.test("text that the model writes stays one while another lane's call costs something", () => {
  const conversation = new ViewList();
  more(conversation, 1, [...delta("a")], ["cost.tick", { ...TICK, lane_id: "lane_1" }]);
  more(conversation, 3, [...delta("b")]);
  assertEquals(shown(conversation), ["text ab"]);
});

Deno.test("a message that comes during a turn waits until a model call has seen it", () => {
  const waits = (conversation: ViewList) =>
    conversation.items.flatMap((it) => it.kind === "user" ? [it.waits] : []);
  const conversation = new ViewList();
  const message = (text: string): [EventType, unknown] => [
    "user.message",
    { message_id: text, text },
  ];
  more(conversation, 1, message("go"), ["turn.started", { turn_id: "t", model: "m" }]);
  more(conversation, 3, message("left"), message("right"));
  assertEquals(waits(conversation), [false, true, true]);
  more(conversation, 5, ["cost.tick", { ...TICK, seen_seq: 3 }]);
  assertEquals(waits(conversation), [false, false, true]);
  more(conversation, 6, [...completed("ok")], ["turn.started", { turn_id: "u", model: "m" }]);
  assertEquals(waits(conversation), [false, false, false]);
});

Deno.test("a message that steers waits no longer once the model answers a call made after it", () => {
  const answered = { reason: "calls", calls: [{ call_id: "c1", tool: "run_command", args: {} }] };
  const ended = (call_id: string): [EventType, unknown] => [
    "session.tool_completed",
    { call_id, tool: "run_command", ok: true, duration_ms: 5, output: "", truncated: false },
  ];
  const message = (delivery?: string): [EventType, unknown] => [
    "user.message",
    { message_id: "m", text: "m", delivery },
  ];
  const waits = (conversation: ViewList) =>
    conversation.items.flatMap((it) => it.kind === "user" ? [it.waits] : []);
  const conversation = new ViewList();
  more(conversation, 1, message(), ["turn.started", { turn_id: "t", model: "m" }]);
  // The call under way began before it.
  more(conversation, 3, message("steer"), [...delta("a")]);
  assertEquals(waits(conversation), [false, true]);
  more(conversation, 5, ["cost.tick", { ...TICK, answered }], [...call("c1")]);
  more(conversation, 7, message("steer"), message("queue"), ended("other"));
  assertEquals(waits(conversation), [false, true, true, true]);
  more(conversation, 10, ended("c1"), message("steer"), [...delta("b")]);
  assertEquals(waits(conversation), [false, false, false, true, true]);
  more(conversation, 13, ["cost.tick", { ...TICK, seen_seq: 10 }]);
  assertEquals(waits(conversation), [false, false, false, false, true]);
});

Deno.test("a queued message leaves its place when its turn begins, and stays through a rewind", () => {
  const conversation = new ViewList();
  const message = (text: string, more = {}): [EventType, unknown] => [
    "user.message",
    { message_id: text, text, ...more },
  ];
  const queued = (text: string) => ({ message_id: text, text });
  const shown = () =>
    conversation.items.flatMap((it) => it.kind === "user" ? [[it.text, it.queued ?? false]] : []);
  more(conversation, 1, message("go"), ["turn.started", { turn_id: "t", model: "m" }]);
  more(conversation, 3, ["user.queued", queued("a")], message("b", { delivery: "steer" }));
  const by = "local";
  const messages = [{ message_id: "b", seq: 4 }];
  more(conversation, 5, ["user.withdrawn", { messages, by, queued: queued("b") }]);
  assertEquals(shown(), [["go", false], ["a", true], ["b", true]]);
  assertEquals(conversation.items.some((it) => it.kind === "note"), false);
  more(conversation, 6, [...completed("ok")], message("a"));
  assertEquals(shown(), [["go", false], ["b", true], ["a", false]]);
  const rewind = { rewind_id: "r", message_id: "go", to_seq: 1, by };
  more(conversation, 9, ["session.rewound", { ...rewind, conversation: {} }]);
  assertEquals(shown(), [["b", true]]);
  more(conversation, 10, [
    "user.withdrawn",
    { messages: [{ message_id: "b", seq: 5 }], by },
  ]);
  assertEquals(shown(), []);
});

Deno.test("a question belongs to its call, and waits no longer when its turn ends", () => {
  const request = {
    approval_id: "a",
    call_id: "c1",
    lane_id: "main",
    tool: "run_command",
    args: {},
  };
  const conversation = folded([...call("c1")]);
  const asked = more(conversation, 10, ["approval.requested", {
    ...request,
    reason: "",
    rule: "",
  }]);
  assertEquals(asked.map(({ type }) => type), ["changed", "asked"]);
  const [item] = conversation.items;
  assertEquals(item.kind === "tool" && item.asked, { approval_id: "a", waits: true });
  const ended = more(conversation, 11, [...completed("cancelled")]);
  assertEquals(item.kind === "tool" && item.asked, { approval_id: "a", waits: false });
  assertEquals(ended.filter(({ type }) => type === "settled").length, 1);
});

Deno.test("what a rewind takes back is not shown, and is shown again when that is undone", () => {
  const conversation = folded(
    ["user.message", { message_id: "m1", text: "one" }],
    [...delta("answer")],
    ["cost.tick", TICK],
    ["user.message", { message_id: "m2", text: "two" }],
  );
  const rewind = { message_id: "m2", to_seq: 4, by: "local", conversation: {} };
  more(conversation, 5, ["session.rewound", { ...rewind, rewind_id: "r1" }]);
  assertEquals(shown(conversation), ["user one", "text answer", "note undone: the conversation"]);
  more(conversation, 6, ["session.rewound", { ...rewind, rewind_id: "r2", undo_of: "r1" }]);
  assertEquals(shown(conversation), [
    "user one",
    "text answer",
    "user two",
    "note undone: the conversation",
    "note done again: the conversation",
  ]);
});

Deno.test("a call that began before anything was seen is shown by its result, once", () => {
  const result = {
    tool: "run_command",
    ok: true,
    output: "done",
    truncated: false,
    duration_ms: 1,
  };
  const conversation = folded([...call("c1")], [...completed("interrupted")]);
  more(conversation, 10, ["session.tool_completed", { ...result, call_id: "c1" }]);
  const changes = more(conversation, 11, ["session.tool_completed", { ...result, call_id: "c2" }]);
  assertEquals(changes.map(({ type }) => type), ["added"]);
  assertEquals(shown(conversation), [
    "run_command interrupted, no result",
    "note turn interrupted",
    "run_command done",
  ]);
});

Deno.test("an event of 25,000 touches one item, whatever came before it", () => {
  const conversation = new ViewList();
  let seq = 0;
  for (let step = 0; step < 1_000; step++) {
    more(conversation, seq + 1, [...call(`c${step}`)], ["session.tool_completed", {
      call_id: `c${step}`,
      tool: "run_command",
      ok: true,
      duration_ms: 1,
      output: "",
      truncated: false,
    }]);
    more(conversation, seq + 3, [...delta("word ")], ["cost.tick", TICK]);
    seq += 4;
  }
  const before = [...conversation.items];
  const revisions = before.map(({ revision }) => revision);
  const started = performance.now();
  for (let n = 0; n < 20_000; n++) {
    const changes = more(conversation, ++seq, [...delta("word ")]);
    assertEquals(changes.length, 1);
  }
  assert(performance.now() - started < 5_000);
  assertEquals(conversation.items.length, before.length + 1);
  assert(before.every((item, n) => conversation.items[n] === item));
  assertEquals(before.map(({ revision }) => revision), revisions);
});
