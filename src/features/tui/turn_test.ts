import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../protocol/events.ts";
import { shortCount } from "../../base/short_count.ts";
import { lineText } from "./text.ts";
import { statusLine } from "./status.ts";
import { type SessionDetail, Tui } from "./tui.ts";

const DETAIL: SessionDetail = {
  title: "a title",
  workdir: "/home/me/work/here",
  model: "acme/large",
  approval: "ask",
  effort: "high",
  state: "running",
  activity: "idle",
  cost_usd: 0.25,
  context: { used: 50, limit: 100 },
  last_seq: 0,
  plan: [],
  lanes: [],
  pending_approvals: [],
};

function session(cols = 100) {
  const tui = new Tui("sess_00000000000000000000000000", { cols, rows: 20 }, () => "id");
  tui.load(DETAIL, { events: [], seq: 0 });
  tui.model.link = "connected";
  tui.model.home = "/home/me";
  let seq = 0;
  return {
    tui,
    /** An event after so many seconds. */
    at(seconds: number, type: string, data: unknown) {
      const at = new Date(seconds * 1000).toISOString();
      tui.apply({ seq: ++seq, at, type, data } as SessionEvent);
    },
    /** The line that says what happens. */
    rule: () => tui.screen().lines.map(lineText).find((text) => text.startsWith("──"))!,
  };
}

const CALL = { lane_id: "main" };
const TURN = { turn_id: "t", model: "m" };
const ASKED = { approval_id: "a", call_id: "c", tool: "run_command", args: {}, reason: "r" };

Deno.test("a turn says for how long it works, without the time it waited for the person", () => {
  const { tui, at, rule } = session();
  assertEquals(rule(), "─".repeat(100));
  at(100, "turn.started", TURN);
  tui.tick(107_900);
  assert(rule().startsWith("── ⠴ 7 s · thinks ──"), rule());
  at(110, "session.tool_started", {
    ...CALL,
    call_id: "c",
    tool: "run_command",
    args: { command: "cargo test\nrm x" },
  });
  assert(rule().includes("10 s · runs cargo test ─"), rule());
  at(112, "approval.requested", { ...ASKED, ...CALL, rule: "r" });
  tui.tick(500_000);
  assert(rule().startsWith("── • 12 s · waits for you ──"), rule());
  assertEquals(tui.moves, false);
  at(512, "approval.resolved", { approval_id: "a", decision: "allow", by: "web" });
  tui.tick(515_000);
  assert(rule().includes("15 s · runs cargo test"), rule());
  at(516, "cost.tick", { usd_delta: 0, tokens_in: 9, tokens_out: 1_234, tokens_cached: 0 });
  assert(rule().includes("16 s · runs cargo test · 1.2k tokens"), rule());
  at(520, "turn.completed", { turn_id: "t", stop_reason: "ok", message: "" });
  assertEquals(rule(), "─".repeat(100));
});

Deno.test("calls that read are counted, others named; text is written", () => {
  const { at, rule } = session();
  at(0, "turn.started", TURN);
  const call = (call_id: string, tool: string, args: unknown) =>
    at(1, "session.tool_started", { ...CALL, call_id, tool, args });
  call("1", "read_file", { path: "a.ts" });
  assert(rule().includes("· reads a.ts ─"), rule());
  call("2", "read_file", { path: "b.ts" });
  call("3", "grep", { pattern: "x" });
  assert(rule().includes("· reads 2 files, 1 search ─"), rule());
  call("4", "run_command", { command: "make" });
  assert(rule().includes("· reads a.ts and 3 more ─"), rule());
  for (const call_id of ["1", "2", "3", "4"]) {
    at(2, "session.tool_completed", { call_id, tool: "read_file", ok: true, output: "" });
  }
  assert(rule().includes("· thinks ─"), rule());
  at(3, "session.delta", { turn_id: "t", text: "So" });
  assert(rule().includes("· writes ─"), rule());
});

Deno.test("nothing moves at rest, without the focus, and where the person wants no motion", () => {
  const { tui, at, rule } = session();
  assertEquals(tui.moves, false);
  at(0, "turn.started", TURN);
  assertEquals(tui.moves, true);
  tui.focused = false;
  assertEquals([tui.moves, rule().startsWith("── • ")], [false, true]);
  tui.focused = true;
  tui.reduced_motion = true;
  assertEquals([tui.moves, rule().startsWith("── • ")], [false, true]);
  tui.reduced_motion = false;
  at(1, "turn.parked", { turn_id: "t", until: "2099-01-01T00:00:00Z", reason: "" });
  assertEquals(tui.moves, false);
});

Deno.test("a chat that is opened during a turn knows since when it runs", () => {
  const { tui, rule } = session();
  const started = { seq: 3, at: new Date(60_000).toISOString(), type: "turn.started", data: TURN };
  tui.load({ ...DETAIL, activity: "working" }, { events: [started as SessionEvent], seq: 3 });
  tui.tick(185_000);
  assert(rule().includes("2 min 5 s"), rule());
});

Deno.test("the status line has the session's settings, the important ones first", () => {
  const { tui, at } = session();
  tui.model.session.branch = "main";
  const shown = (cols: number) => lineText(statusLine(tui.model, cols));
  assertEquals(
    shown(200),
    "● ready · ? help · acme/large · effort high · approval ask · main · context 50% · " +
      "$0.2500 · ~/work/here · sess_00000000000000000000000000",
  );
  assertEquals(shown(50), "● ready · ? help · acme/large · effort high");
  at(1, "session.configured", { effort: "low" });
  assert(shown(200).includes("effort low"));
});

Deno.test("counts are short", () => {
  assertEquals([0, 950, 999, 1_000, 1_249, 99_940, 123_456, 999_950, 3_400_000].map(shortCount), [
    ...["0", "950", "999", "1k", "1.2k", "99.9k", "123k", "1M", "3.4M"],
  ]);
});
