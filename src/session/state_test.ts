import { assert, assertEquals } from "@std/assert";
import type {
  EventData,
  EventType,
  LaneKind,
  LaneStatus,
  SessionEvent,
  StopReason,
} from "../protocol/events.ts";
import { findLane, laneEnded, laneMayMove, messageWaits } from "./state_steps.ts";
import { stateToCheckpoint } from "./session_state.ts";
import { applyToState, emptyState, SENT_KEPT, stateFromCheckpoint } from "./state.ts";

const at = "2026-01-02T03:04:05.678Z";

/** A fold that numbers events itself. */
class Fold {
  state = emptyState("sess_1");

  add<T extends EventType>(type: T, data: EventData[T]): this {
    const seq = this.state.last_seq + 1;
    applyToState(this.state, { seq, at, type, data } as SessionEvent);
    return this;
  }

  created(): this {
    return this.add("session.created", {
      workdir: "/w",
      model: "m/m",
      title: "t",
      approval: "ask",
      budget_usd: 2,
    }).lane("main");
  }

  lane(lane_id: string, kind: LaneKind = lane_id === "main" ? "main" : "tool"): this {
    return this.add("lane.created", { lane_id, kind, label: lane_id, started_at: at });
  }

  move(lane_id: string, status: LaneStatus): this {
    const prev_status = findLane(this.state, lane_id)?.status ?? "pending";
    return this.add("lane.status", { lane_id, status, prev_status, reason: "", reason_code: "" });
  }

  tick(tokens: number, usd_delta: number): this {
    const [tokens_in, tokens_out, tokens_cached] = [tokens, tokens * 2, tokens * 3];
    return this.add("cost.tick", { usd_delta, tokens_in, tokens_out, tokens_cached, seen_seq: 0 });
  }

  text(text: string): this {
    return this.add("session.delta", { turn_id: "turn_1", text });
  }
}

const usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };

Deno.test("settings change one by one, and what was spent stays with its model", () => {
  const fold = new Fold().created().tick(1, 0.5);
  fold.add("session.configured", { model: "m/other", by: "socket" }).tick(2, 0.25);
  fold.add("session.configured", { approval: "auto", title: "new", by: "socket" });
  const { model, approval, title, budget_usd, cost_hours } = fold.state;
  assertEquals([model, approval, title, budget_usd], ["m/other", "auto", "new", 2]);
  assertEquals(cost_hours.map(({ model, usd }) => [model, usd]), [["m/m", 0.5], ["m/other", 0.25]]);
});

Deno.test("lanes may move as contract.md section 5 says, and in no other way", () => {
  const all: LaneStatus[] = ["pending", "running", "blocked", "done", "errored", "cancelled"];
  const allowed = [
    "pending→running",
    "pending→cancelled",
    "running→blocked",
    "running→done",
    "running→errored",
    "running→cancelled",
    "blocked→running",
    "blocked→cancelled",
    "blocked→errored",
  ];
  const found = all.flatMap((from) =>
    all.filter((to) => laneMayMove(from, to)).map((to) => `${from}→${to}`)
  );
  assertEquals(found.sort(), allowed.sort());
});

Deno.test("a turn: activity, text, usage, totals, messages", () => {
  const fold = new Fold().created();
  assertEquals(fold.state.activity, "idle");
  fold.add("user.message", { message_id: "msg_1", text: "hi" })
    .add("turn.started", { turn_id: "turn_1", model: "m/m" }).text("one ").tick(10, 0.5)
    .text("two").tick(1, 0.25);
  const { state } = fold;
  assertEquals(state.activity, "working");
  assertEquals(state.turn, {
    turn_id: "turn_1",
    started_seq: 4,
    message_id: "msg_1",
    text: "one two",
    step_start: 7,
    usage: { tokens_in: 11, tokens_out: 22, tokens_cached: 33, usd: 0.75 },
  });
  fold.add("turn.completed", { turn_id: "turn_1", stop_reason: "ok", message: "one two", usage });
  assertEquals([state.activity, state.turn, state.last_stop], ["idle", undefined, "ok"]);
  assertEquals([state.tokens_in, state.tokens_out, state.tokens_cached], [11, 22, 33]);
  assertEquals([state.cost_usd, state.messages_count], [0.75, 2]);
  fold.add("turn.started", { turn_id: "turn_2", model: "m/m" }).tick(1, 1)
    .add("turn.completed", { turn_id: "turn_2", stop_reason: "error", message: "", usage });
  assertEquals([state.tokens_in, state.cost_usd, state.messages_count], [12, 1.75, 2]);
});

Deno.test("what another lane spends is the session's cost, and none of the turn in flight", () => {
  const fold = new Fold().created().add("turn.started", { turn_id: "turn_1", model: "m/m" })
    .text("one ").tick(1, 0.5).text("two");
  const tokens = { tokens_in: 5, tokens_out: 5, tokens_cached: 0 };
  fold.add("cost.tick", { usd_delta: 1, ...tokens, seen_seq: 0, lane_id: "lane_1" });
  const { turn, tokens_in, cost_usd } = fold.state;
  assertEquals([turn?.usage.tokens_in, turn?.usage.usd, turn?.step_start], [1, 0.5, 4]);
  assertEquals([tokens_in, cost_usd], [6, 1.5]);
});

Deno.test("a retry takes back the text of its model call, and of no earlier one", () => {
  const fold = new Fold().created().add("turn.started", { turn_id: "turn_1", model: "m/m" })
    .text("kept ").tick(1, 0).text("void");
  const note = { lane_id: "main", text: "again" };
  fold.add("lane.note", { ...note, reason_code: "something_else" });
  assertEquals(fold.state.turn?.text, "kept void");
  fold.add("lane.note", { ...note, reason_code: "model_retry" });
  assertEquals(fold.state.turn?.text, "kept ");
  assertEquals(fold.text("new").state.turn?.text, "kept new");
});

Deno.test("approvals: pending until decided or the turn ends; allow_always is kept", () => {
  const request = { lane_id: "main", tool: "run_command", args: {}, reason: "run x" };
  const fold = new Fold().created().add("turn.started", { turn_id: "turn_1", model: "m/m" })
    .add("approval.requested", {
      ...request,
      approval_id: "appr_1",
      call_id: "call_1",
      rule: "run x",
    })
    .add("approval.requested", { ...request, approval_id: "appr_2", call_id: "call_2", rule: "y" });
  const { state } = fold;
  assertEquals([state.activity, state.pending_approvals.length], ["awaiting_approval", 2]);
  fold.add("approval.resolved", { approval_id: "appr_1", decision: "allow_always", by: "socket" });
  assertEquals([state.activity, state.allowed], ["awaiting_approval", ["run x"]]);
  fold.add("turn.completed", {
    turn_id: "turn_1",
    stop_reason: "interrupted",
    message: "",
    usage,
  });
  assertEquals([state.activity, state.pending_approvals], ["idle", []]);
  fold.add("approval.resolved", { approval_id: "appr_9", decision: "allow_always", by: "socket" });
  assertEquals(state.allowed, ["run x"]);
});

Deno.test("an approval that another lane asks for outlives turns and goes with its lane", () => {
  const request = { call_id: "call_1", tool: "remember", args: {}, reason: "keep", rule: "x" };
  const fold = new Fold().created().lane("lane_1", "lobe").move("lane_1", "running")
    .add("approval.requested", { ...request, approval_id: "appr_1", lane_id: "lane_1" })
    .move("lane_1", "blocked");
  const { state } = fold;
  assertEquals(state.activity, "awaiting_approval");
  fold.add("turn.started", { turn_id: "turn_1", model: "m/m" });
  assertEquals(state.activity, "working");
  fold.add("turn.completed", { turn_id: "turn_1", stop_reason: "ok", message: "", usage });
  assertEquals([state.activity, state.pending_approvals.length], ["awaiting_approval", 1]);
  fold.move("lane_1", "cancelled");
  assertEquals([state.activity, state.pending_approvals], ["idle", []]);
});

Deno.test("a subagent's approval holds the turn up, and what it spends is the turn's too", () => {
  const request = { call_id: "call_1", tool: "run_command", args: {}, reason: "run x", rule: "x" };
  const fold = new Fold().created().add("turn.started", { turn_id: "turn_1", model: "m/m" })
    .lane("lane_1").move("lane_1", "running")
    .add("approval.requested", { ...request, approval_id: "appr_1", lane_id: "lane_1" });
  const { state } = fold;
  assertEquals(state.activity, "awaiting_approval");
  fold.move("lane_1", "cancelled");
  assertEquals([state.activity, state.pending_approvals], ["working", []]);
  fold.text("said");
  const tokens = { tokens_in: 5, tokens_out: 5, tokens_cached: 0 };
  const own = { seen_seq: 0, lane_id: "lane_1", in_turn: true } as const;
  fold.add("cost.tick", { usd_delta: 1, ...tokens, ...own });
  assertEquals([state.turn?.usage.usd, state.turn?.usage.tokens_in, state.turn?.step_start], [
    1,
    5,
    0,
  ]);
  assertEquals([state.cost_usd, state.tokens_in, state.taken_seq], [1, 5, 0]);
});

Deno.test("pause, resume, end", () => {
  const fold = new Fold().created().add("session.paused", { reason: "daemon_shutdown" });
  const { state } = fold;
  assertEquals([state.state, state.paused_by], ["paused", "daemon_shutdown"]);
  fold.add("session.resumed", { reason: "daemon_started" });
  assertEquals([state.state, state.paused_by], ["running", undefined]);
  fold.add("session.ended", { reason: "killed" });
  assertEquals([state.state, state.activity, state.ended_at], ["ended", "idle", at]);
});

Deno.test("what waits for a turn: live, and by what the journal says of turns that were cut", () => {
  const fold = new Fold().created();
  const say = (id: string) => fold.add("user.message", { message_id: id, text: id });
  const start = () => fold.add("turn.started", { turn_id: "turn_1", model: "m/m" });
  const end = (stop_reason: StopReason, taken_seq?: number) =>
    fold.add("turn.completed", { turn_id: "turn_1", stop_reason, message: "", usage, taken_seq });
  const waits = () => messageWaits(fold.state);
  assertEquals(waits(), false);
  say("msg_1");
  assertEquals(waits(), true, "no turn has begun");
  start();
  end("interrupted");
  assertEquals(waits(), false, "its turn was cut off");
  start();
  const { last_seq } = say("msg_2").state;
  end("interrupted");
  assertEquals(waits(), true, "it came during a turn that was cut off");
  start();
  say("msg_3");
  end("cancelled", last_seq);
  assertEquals(waits(), true, "no call of the cancelled turn has seen it");
  start();
  const seen_seq = say("msg_4").state.last_seq;
  fold.add("cost.tick", { usd_delta: 0, tokens_in: 0, tokens_out: 0, tokens_cached: 0, seen_seq });
  assertEquals(waits(), false, "a model call was built from it");
  end("interrupted");
  assertEquals(waits(), false);
});

Deno.test("a turn that goes on is the same turn, without what was half said", () => {
  const fold = new Fold().created();
  const turn_id = "turn_1";
  const tokens = { tokens_in: 1, tokens_out: 1, tokens_cached: 0 };
  const say = (text: string) => fold.add("session.delta", { turn_id, text });
  const end = (stop_reason: StopReason, message: string) =>
    fold.add("turn.completed", { turn_id, stop_reason, message, usage });
  fold.add("user.message", { message_id: "msg_1", text: "go" });
  const { last_seq } = fold.add("turn.started", { turn_id, model: "m/m" }).state;
  say("one ");
  fold.add("cost.tick", { usd_delta: 0.5, ...tokens, seen_seq: last_seq });
  say("tw");
  fold.add("turn.continued", { turn_id, after: "crash" });
  say("two");
  fold.add("turn.continued", { turn_id, after: "crash" });
  const { turn } = fold.state;
  assertEquals([turn?.text, turn?.crashes, turn?.usage.usd], ["one ", 2, 0.5]);
  say("t");
  end("interrupted", "one t");
  const cut = fold.state;
  assertEquals([cut.turn, cut.cut?.turn_id, cut.messages_count], [undefined, turn_id, 2]);
  assertEquals(stateFromCheckpoint(stateToCheckpoint(cut)).cut, cut.cut);
  fold.add("turn.continued", { turn_id, after: "asked" });
  const { state } = fold;
  assertEquals([state.cut, state.messages_count, state.activity], [undefined, 1, "working"]);
  assertEquals([state.turn?.text, state.turn?.crashes], ["one ", 0]);
  assertEquals(state.turn?.started_seq, last_seq);
  end("ok", "one ");
  assertEquals([state.cut, state.messages_count], [undefined, 2]);
  fold.add("turn.continued", { turn_id, after: "asked" });
  assertEquals(state.turn, undefined, "nothing was cut off");
});

Deno.test("client_message_ids are remembered, the oldest forgotten past 10,000", () => {
  const fold = new Fold().created();
  for (let n = 1; n <= SENT_KEPT + 44; n++) {
    const message_id = `msg_${n}`;
    fold.add("user.message", { message_id, text: "x", client_message_id: `c${n}` });
  }
  const { sent } = fold.state;
  assertEquals([sent.size, sent.has("c44"), sent.has("c45")], [SENT_KEPT, false, true]);
  assertEquals(sent.get("c300"), { message_id: "msg_300", seq: 302 });
});

Deno.test("finished lanes are forgotten past 64; main and running ones never", () => {
  const fold = new Fold().created().move("main", "running").lane("long").move("long", "running");
  for (let n = 0; n < 500; n++) {
    const lane_id = `lane_${n}`;
    fold.lane(lane_id).move(lane_id, "running").move(lane_id, "done");
  }
  const { lanes } = fold.state;
  assert(lanes.length <= 64, String(lanes.length));
  assertEquals(lanes.slice(0, 2).map((lane) => lane.lane_id), ["main", "long"]);
  assertEquals(lanes.at(-1)!.lane_id, "lane_499");
  assert(lanes.slice(2).every(laneEnded));
});

Deno.test("rules that change take their own place, those that are gone go; facts are the last told", () => {
  const file = (path: string, sha256 = "1") => ({ path, bytes: 1, sha256 });
  const loaded = { turn_id: "turn", files: [], skipped: [], removed: [], text: "" };
  const pipe = { path: "/p/a/AGENTS.md", reason: "is a pipe" };
  const fold = new Fold().created()
    .add("rules.loaded", { ...loaded, files: [file("/a"), file("/b")], skipped: [pipe] })
    .add("context.told", { turn_id: "turn", facts: { date: "1", model: "m" }, text: "" })
    .add("context.told", { turn_id: "turn", facts: { date: "2" }, text: "" });
  assertEquals(fold.state.rules.skipped, [pipe]);
  fold.add("rules.loaded", { ...loaded, files: [file("/c"), file("/a", "2")], removed: ["/b"] });
  assertEquals(fold.state.rules, { files: [file("/a", "2"), file("/c")], skipped: [] });
  assertEquals(fold.state.facts, { date: "2" });
});

Deno.test("events of unknown types and of unknown lanes only move last_seq", () => {
  const fold = new Fold().created();
  const before = structuredClone(fold.state);
  applyToState(fold.state, { seq: 3, at: "later", type: "memory.written", data: {} } as never);
  fold.move("lane_9", "done").add("lane.delta", {
    lane_id: "lane_9",
    delta_seq: 4,
    content_block: { type: "text", text: "x" },
  });
  assertEquals(fold.state, { ...before, last_seq: 5, last_event_at: at });
});

Deno.test("the descent of a criterion is bounded, and outlives a checkpoint", () => {
  const fold = new Fold().created();
  for (let n = 1; n <= 70; n++) {
    fold.add("descent.tier_changed", {
      ac_id: "a",
      tier: "T2",
      status: "failed",
      evidence_ref: `m#${n}`,
    });
  }
  fold.add("descent.tier_changed", { ac_id: "b", tier: "T1", status: "passed" });
  fold.add("descent.tier_changed", { ac_id: "a", tier: "T4", status: "passed" });
  const [b, a] = fold.state.descents;
  assertEquals([b.ac_id, a.ac_id, a.changes.length], ["b", "a", 64]);
  assertEquals(a.changes.at(-1), { tier: "T4", status: "passed", at });
  assertEquals(a.changes[0].evidence_ref, "m#8");
  const later = new Fold();
  later.add("session.checkpoint", {
    state: JSON.parse(JSON.stringify(stateToCheckpoint(fold.state))),
    transcript: {},
    chain: "",
  });
  assertEquals(later.state.descents, fold.state.descents);
});

Deno.test("criteria that were never heard of again are forgotten after two hundred others", () => {
  const fold = new Fold().created();
  for (let n = 0; n <= 200; n++) {
    fold.add("descent.tier_changed", { ac_id: `ac-${n}`, tier: "T1", status: "running" });
  }
  assertEquals([fold.state.descents.length, fold.state.descents[0].ac_id], [200, "ac-1"]);
});

Deno.test("a queued message that is taken back leaves what was sent before and after it", () => {
  const fold = new Fold().created();
  const { state } = fold;
  const send = (message_id: string, more = {}) =>
    fold.add("user.message", { message_id, text: message_id, ...more });
  const withdraw = (...ids: string[]) => {
    const messages = state.queued.filter(({ message_id }) => ids.includes(message_id));
    fold.add("user.withdrawn", { messages, by: "local" });
  };
  const last = () => [state.last_message_id, state.messages_count, messageWaits(state)];
  send("first").add("turn.started", { turn_id: "t", model: "m" });
  fold.add("cost.tick", {
    usd_delta: 0,
    tokens_in: 1,
    tokens_out: 1,
    tokens_cached: 0,
    seen_seq: state.last_seq,
  });
  assertEquals(last(), ["first", 1, false]);
  send("a", { max_steps: 1 });
  send("b", { max_steps: 2 });
  send("c", { max_steps: 3 });
  withdraw("a", "c");
  assertEquals(last(), ["b", 2, true]);
  withdraw("b");
  assertEquals(last(), ["first", 1, false]);
  send("d", { max_steps: 4 });
  send("e", { max_steps: 5 });
  withdraw("e");
  const usage = { tokens_in: 1, tokens_out: 1, tokens_cached: 0, usd: 0 };
  fold.add("turn.completed", { turn_id: "t", stop_reason: "ok", message: "", usage });
  fold.add("turn.started", { turn_id: "u", model: "m" });
  assertEquals([state.turn?.message_id, state.turn?.limits], ["d", { max_steps: 4 }]);
});

Deno.test("a message that waited when an older version kept the state still waits", () => {
  const { state } = new Fold().created().add("user.message", { message_id: "m", text: "hi" });
  const { queued: _, ...kept } = stateToCheckpoint(state);
  const [waiting] =
    stateFromCheckpoint({ ...kept, first_waiting: "m", turn_limits: { max_usd: 1 } })
      .queued;
  assertEquals([waiting.message_id, waiting.seq, waiting.limits], [
    "m",
    state.last_seq,
    { max_usd: 1 },
  ]);
  const answered = stateFromCheckpoint({ ...kept, taken_seq: state.last_seq });
  assertEquals(messageWaits(answered), false);
});
