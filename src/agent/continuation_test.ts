import { assertEquals } from "@std/assert";
import { type EventData, type EventType, MAIN_LANE, MODEL_RETRY } from "../protocol/events.ts";
import type { TurnSession } from "../session/session.ts";
import { readLeft } from "./continuation.ts";

type Recorded = { [T in EventType]: [T, EventData[T]] }[EventType];

const ANSWERED: Recorded = ["cost.tick", {
  usd_delta: 0,
  tokens_in: 1,
  tokens_out: 1,
  tokens_cached: 0,
  seen_seq: 1,
  answered: {
    reason: "tool_calls",
    calls: [{ call_id: "call_1", tool: "run_command", args: { command: "make" } }],
  },
}];
const STARTED: Recorded = ["session.tool_started", {
  call_id: "call_1",
  tool: "run_command",
  args: { command: "make" },
  lane_id: MAIN_LANE,
}];
const ASKED: Recorded = ["approval.requested", {
  approval_id: "appr_1",
  lane_id: MAIN_LANE,
  call_id: "call_1",
  tool: "run_command",
  args: { command: "make" },
  reason: "run: make",
  rule: "run_command",
}];

/** What is left of a turn whose journal has these events. */
async function leftOf(...recorded: Recorded[]) {
  const events = recorded.map(([type, data], n) => ({ seq: n + 2, at: "", type, data }));
  const session = {
    state: { last_seq: events.length + 1, turn: { started_seq: 1 } },
    journal: {
      async *read() {
        yield* events;
      },
    },
  };
  return await readLeft(session as unknown as TurnSession);
}

const resolved = (by: string, decision: "allow" | "deny"): Recorded => [
  "approval.resolved",
  { approval_id: "appr_1", decision, by },
];

Deno.test("a call whose question svc settled because a rule allowed it may have run", async () => {
  const of = async (...more: Recorded[]) =>
    (await leftOf(ANSWERED, STARTED, ASKED, ...more)).last?.calls.get("call_1");
  const decided = { command: "make" };
  assertEquals(await of(resolved("svc", "allow")), { asked: true, decision: "allow", decided });
  assertEquals(await of(resolved("svc", "deny")), { asked: true });
  assertEquals(await of(resolved("cli", "deny")), { asked: true, decision: "deny", decided });
});

Deno.test("the fallback of a subagent is not the one of its session's turn", async () => {
  const note = (lane_id: string, reason_code: string): Recorded => [
    "lane.note",
    { lane_id, text: "p/b answers the rest of this turn", reason_code, fallback: "p/b" },
  ];
  assertEquals((await leftOf(note(MAIN_LANE, MODEL_RETRY))).fallback, "p/b");
  assertEquals((await leftOf(note("lane_1", `subagent_${MODEL_RETRY}`))).fallback, undefined);
});
