import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../protocol/events.ts";
import { themed } from "../../cli/theme.ts";
import { encode } from "../../cli/terminal_painter.ts";
import { type Line, lineText, loadColumns, width } from "./text.ts";
import { type SessionDetail, Tui } from "./tui.ts";

await loadColumns();

const DETAIL: SessionDetail = {
  title: "a title",
  workdir: "/w",
  model: "m",
  approval: "ask",
  effort: "default",
  state: "running",
  activity: "idle",
  cost_usd: 0,
  last_seq: 0,
  plan: [],
  lanes: ["main", "lane_2"].map((lane_id) => ({
    lane_id,
    kind: lane_id === "main" ? "main" : "tool",
    status: "running",
    label: lane_id,
    started_at: "",
    delta_seq: 0,
    pinned: false,
    cost_usd: 0,
  })),
  pending_approvals: [],
};

function session(cols = 60) {
  const tui = new Tui("sess_00000000000000000000000000", { cols, rows: 30 }, () => "id");
  tui.load(DETAIL, { events: [], seq: 0 });
  let seq = 0;
  let delta_seq = 0;
  const apply = (type: string, data: unknown) =>
    tui.apply({ seq: ++seq, at: "", type, data } as SessionEvent);
  return {
    tui,
    apply,
    delta: (text: string, looks?: number[], redraws?: number) =>
      apply("lane.delta", {
        lane_id: "lane_2",
        delta_seq: ++delta_seq,
        content_block: { type: "text", text },
        looks,
        redraws,
      }),
    row: (part: string) => tui.screen().lines.find((it) => lineText(it).includes(part))!,
  };
}

/** A row with what is coloured in it. */
const marked = (row: Line) =>
  row.map(({ text, style, look }) => look === undefined ? text : `<${style}:${text}>`).join("");

const CALL = { call_id: "c", tool: "run_command", lane_id: "main" };

Deno.test("the output of a call has the colours that the command printed, after a restart too", () => {
  const { tui, apply, row } = session();
  apply("session.tool_started", { ...CALL, args: { command: "make" } });
  const output = "ok\terror here\nand this";
  const ended = { ...CALL, ok: true, output, looks: [3, 5, 9, 9, 8, 2] };
  apply("session.tool_completed", ended);
  assertEquals(marked(row("error")), "  └ ok    <error:error> <success:here>");
  assertEquals(marked(row("this")), "    <success:and> this");
  const events = [["session.tool_started", { ...CALL, args: {} }], [
    "session.tool_completed",
    ended,
  ]]
    .map(([type, data], n) => ({ seq: n + 1, at: "", type, data }) as SessionEvent);
  tui.load(DETAIL, { events, seq: 2 });
  assertEquals(marked(row("error")), "  └ ok    <error:error> <success:here>");
});

Deno.test("a lane has the colours of its output, also of what is drawn again", () => {
  const { tui, delta, row } = session(20);
  delta("plain\nred ", [6, 3, 1]);
  delta("green", [0, 5, 2]);
  tui.focusLane("lane_2");
  assertEquals(marked(row("red")), "<error:red> <success:green>");
  delta("\nnext");
  delta("50%\n", [0, 3, 3], 1);
  assertEquals([marked(row("50%")), marked(row("red"))], [
    "<warning:50%>",
    "<error:red> <success:green>",
  ]);
  delta(`${"word ".repeat(8)}end`, [20, 20, 1]);
  const rows = tui.screen().lines.filter((it) => lineText(it).includes("word")).map(marked);
  assertEquals(rows.slice(0, 2), ["word word word word ", "<error:word word word word >"]);
});

Deno.test("hostile runs of looks break nothing, and hostile output drives no terminal", () => {
  const { tui, delta, apply } = session();
  const hostile = "\x1b]0;t\x07\x1b[2J\x1b[8mhid\u202e\x9b31m";
  for (const looks of [[-5, 99, 1], [0, 1e9, 1], [NaN, 1, 1], [0, 3, 4_000], [0], [2, 3, 64]]) {
    delta(`${hostile}\n`, looks);
    apply("session.tool_started", { ...CALL, args: {} });
    apply("session.tool_completed", { ...CALL, ok: true, output: hostile, looks });
  }
  tui.focusLane("lane_2");
  for (const name of ["dark", "high-contrast", "text"] as const) {
    const paint = themed({ name, depth: "true" });
    const written = tui.screen().lines.map((row) => encode(row, paint)).join("");
    // deno-lint-ignore no-control-regex -- only sequences of colours may be left
    const left = written.replace(/\x1b\[[0-9;]*m/g, "");
    // deno-lint-ignore no-control-regex -- they are what is looked for
    assert(!/[\x00-\x1f\x7f-\x9f\u202e]/.test(left), JSON.stringify(left));
    // Text is not hidden: no concealing, and no background without its own colour of text.
    // deno-lint-ignore no-control-regex -- as above
    assert(!/\x1b\[(?:\d+;)*8(?:;\d+)*m/.test(written.replace(/[34]8;[25][0-9;]*/g, "")));
    if (name === "text") assertEquals(written, left);
  }
  assert(tui.screen().lines.every((it) => width(lineText(it)) <= 60));
});
