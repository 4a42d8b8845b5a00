import { assertEquals } from "@std/assert";
import type { EventData, EventType, SessionEvent } from "../../../src/protocol/events.ts";
import { Conversation } from "./conversation.ts";

/** Applies events as `[type, data]`, numbered from 1. */
function folded(...events: { [T in EventType]: [T, EventData[T]] }[EventType][]): Conversation {
  const conversation = new Conversation();
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
const completed = (stop_reason: "ok" | "interrupted" | "error" | "length", error?: string) =>
  ["turn.completed", {
    turn_id: "t",
    stop_reason,
    message: "",
    usage: { ...USAGE, usd: 0 },
    error,
  }] as const;

const shown = ({ items }: Conversation) =>
  items.map((item) =>
    item.kind === "tool"
      ? `${item.tool} ${item.outcome?.output ?? "…"}`
      : `${item.kind} ${item.text}`
  );

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
  assertEquals(shown(conversation), ["text One tw", "note cut off", "note Cut off: too long"]);
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
  assertEquals(shown(conversation), ["run_command interrupted, no result", "note Interrupted"]);
  assertEquals(shown(folded([...completed("error", "no key")])), ["note The turn failed: no key"]);
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
    "note Earlier messages are no longer stored",
    "user old",
    "text said",
    "run_command out",
    "user new",
  ]);
});
