import { assert, assertEquals, assertMatch } from "@std/assert";
import type { EventData, EventType, SessionEvent } from "../protocol/events.ts";
import type { Journal } from "../session/journal.ts";
import { readEarlier } from "./earlier.ts";
import { answerText, readSubagent, SubagentRecord } from "./subagent_record.ts";

/** A journal with these events. */
function journalOf(...events: [EventType, unknown][]): Journal {
  const all = events.map(([type, data], n) => ({ seq: n + 1, at: "", type, data } as SessionEvent));
  return {
    trimmed_seq: 0,
    async *read(since_seq: number) {
      yield* all.filter(({ seq }) => seq > since_seq);
    },
  } as unknown as Journal;
}

const usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };
const started = (lane_id: string, call_id: string): [EventType, EventData["subagent.started"]] => [
  "subagent.started",
  { lane_id, call_id, description: "d", task: `task of ${call_id}`, model: "m/m", tools: "all" },
];
const call = (lane_id: string, call_id: string, ok?: boolean): [EventType, unknown][] => [
  ["subagent.tool_started", { lane_id, call_id, tool: "run_command", args: { command: call_id } }],
  ...(ok === undefined ? [] : [[
    "subagent.tool_completed",
    { lane_id, call_id, tool: "run_command", ok, duration_ms: 1, output: "", truncated: false },
  ]] as [EventType, unknown][]),
];

Deno.test("a subagent that was cut off is told of with its own calls, and no other one's", async () => {
  const journal = journalOf(
    started("l1", "a"),
    started("l2", "b"),
    ...call("l1", "one", true),
    ...call("l2", "other"),
    ...call("l1", "two", false),
    ...call("l1", "three"),
  );
  const read = (call_id: string) => readSubagent(journal, { from_seq: 1, to_seq: 99, call_id });
  assertEquals(await read("none"), undefined);
  assertEquals((await read("a"))?.ok, false);
  assertEquals((await read("a"))?.output.split("\n"), [
    "The subagent did not finish: svc was stopped while it ran. " +
    "What it did until then was not undone.",
    "Its calls:",
    '- run_command {"command":"one"}: done',
    '- run_command {"command":"two"}: failed',
    '- run_command {"command":"three"}: started; it may or may not have taken effect',
  ]);
});

Deno.test("a subagent that had ended before its call got the result is not lost", async () => {
  const completed = { lane_id: "l1", call_id: "a", message: "The answer.", usage };
  const journal = journalOf(started("l1", "a"), ["subagent.completed", {
    ...completed,
    stop_reason: "ok",
  }]);
  const where = { from_seq: 1, to_seq: 99, call_id: "a" };
  assertEquals(await readSubagent(journal, where), { ok: true, output: "The answer." });
  const critic = journalOf(started("l1", "a"), ["subagent.completed", {
    ...completed,
    stop_reason: "critic",
    error: "rule canary",
  }]);
  const { output } = (await readSubagent(critic, where))!;
  assert(output.includes("rule canary") && !output.includes("The answer."), output);
});

Deno.test("a subagent that a provider's limit ended tells until when, live and from the journal", async () => {
  const limited = journalOf(started("l1", "a"), ["subagent.completed", {
    lane_id: "l1",
    call_id: "a",
    stop_reason: "rate_limit",
    message: "",
    error: "it asks to wait until 15:00:00 UTC",
    usage,
  }]);
  const { ok, output } = (await readSubagent(limited, { from_seq: 1, to_seq: 9, call_id: "a" }))!;
  assertEquals(ok, false);
  assertMatch(output, /until 15:00:00 UTC[^]*with the same model fails too[^]*can do the rest/);
});

Deno.test("of many calls the last ones are named, and all that are still open", () => {
  const record = new SubagentRecord();
  for (let n = 0; n < 1_000; n++) {
    record.started({ call_id: `c${n}`, tool: "read_file", args: { path: "x".repeat(1_000) } });
    if (n !== 0) record.completed({ call_id: `c${n}`, ok: true, output: "" });
  }
  const text = record.cutOffText("x", "y".repeat(100_000));
  assertMatch(text, /960 earlier ones not shown/);
  assertEquals(text.match(/started; it may/g)?.length, 1);
  assert(text.length < 15_000, String(text.length));
});

Deno.test("the task and the whole answer of a subagent can be read again", async () => {
  const message = "x".repeat(30_000);
  const journal = journalOf(started("l1", "a"), ["subagent.completed", {
    lane_id: "l1",
    call_id: "a",
    stop_reason: "ok",
    message,
    usage,
  }]);
  assertMatch(answerText(message, 2), /read_earlier with seq 2 reads the whole answer/);
  assertEquals((await readEarlier(journal, 2, { limit: 32_768 })).output, message);
  assertEquals((await readEarlier(journal, 1, {})).output, "task of a");
});
