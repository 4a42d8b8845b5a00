import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../protocol/events.ts";
import { parseKey } from "./keys.ts";
import { lineText, loadColumns, width } from "./text.ts";
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
  lanes: [{
    lane_id: "main",
    kind: "main",
    status: "running",
    label: "main",
    started_at: "",
    delta_seq: 0,
    pinned: false,
    cost_usd: 0,
  }],
  pending_approvals: [],
};

function session(cols = 80) {
  const tui = new Tui("sess_00000000000000000000000000", { cols, rows: 30 }, () => "id");
  tui.load(DETAIL, { events: [], seq: 0 });
  tui.model.link = "connected";
  let seq = 0;
  return {
    tui,
    at(seconds: number, type: string, data: unknown) {
      const at = new Date(seconds * 1000).toISOString();
      tui.apply({ seq: ++seq, at, type, data } as SessionEvent);
    },
    press: (...keys: string[]) => keys.flatMap((key) => tui.press(parseKey(key))),
    lines: () => tui.screen().lines.map((it) => lineText(it).trimEnd()),
  };
}

const STEPS = ["done", "done", "doing", "pending", "pending"].map((state, n) => ({
  step: `step ${n + 1}`,
  state,
}));
const READ = { lane_id: "main", tool: "read_file" };

/** A turn with a plan, a lane and a command in the background. */
function busy(cols = 80) {
  const it = session(cols);
  it.at(0, "turn.started", { turn_id: "t", model: "m" });
  it.at(1, "plan.changed", { steps: STEPS });
  it.at(2, "lane.created", {
    lane_id: "lane_2",
    kind: "tool",
    label: "run make",
    started_at: new Date(2_000).toISOString(),
  });
  it.at(2, "lane.status", { lane_id: "lane_2", status: "running", prev_status: "pending" });
  it.at(3, "lane.delta", {
    lane_id: "lane_2",
    delta_seq: 1,
    content_block: { type: "text", text: "compiling a\ncompiling b\n" },
  });
  it.at(4, "background.started", { command_id: "cmd_1", command: "npm run dev" });
  it.tui.tick(14_000);
  return it;
}

Deno.test("panels show the plan and what runs, with seconds and the last line of output", () => {
  const { lines } = busy();
  const text = lines().join("\n");
  for (
    const row of [
      "[>] step 3",
      " 2 ● run make  12 s  compiling b",
      " 3 ● npm run dev  10 s in the background",
    ]
  ) assert(text.includes(row), text);
});

Deno.test("a long label leaves room for the seconds and the last line of output", () => {
  const { at, tui, lines } = session(60);
  const label = `run ${"make all ".repeat(20)}`;
  at(0, "turn.started", { turn_id: "t", model: "m" });
  at(1, "session.tool_started", {
    ...READ,
    tool: "run_command",
    call_id: "c",
    args: { command: label },
  });
  at(1, "cost.tick", { usd_delta: 0, tokens_in: 9, tokens_out: 70, tokens_cached: 0 });
  const started_at = new Date(2_000).toISOString();
  at(2, "lane.created", { lane_id: "lane_2", kind: "tool", label, started_at });
  const content_block = { type: "text", text: "compiling b\n" };
  at(2, "lane.delta", { lane_id: "lane_2", delta_seq: 1, content_block });
  tui.tick(14_000);
  const text = lines().join("\n");
  assert(/^ 2 ○ run make all .*… {2}12 s {2}compiling b$/m.test(text), text);
  assert(/^── . 14 s · runs run make .*… · 70 tokens ─/m.test(text), text);
});

Deno.test("a key folds the panels to a line each, and unfolds them", () => {
  for (const cols of [80, 20]) {
    const { lines, press } = busy(cols);
    const before = lines().length;
    press("ctrl-t");
    const folded = lines();
    assertEquals(folded.length, before);
    assert(folded.some((row) => row.startsWith("plan 3 of 5: step")), folded.join("\n"));
    assert(folded.every((row) => width(row) <= cols && !/^.\d ● /.test(row)), folded.join("\n"));
    if (cols === 80) {
      assert(
        folded.includes("● 1 command, 1 in the background  12 s  compiling b"),
        folded.join("\n"),
      );
    }
    // With the keys in it, the panel of what runs is open.
    press("tab");
    assert(lines().some((row) => row.includes("▸")), lines().join("\n"));
    press("escape", "ctrl-t");
    assert(lines().some((row) => row.includes("[>] step 3")));
  }
});

Deno.test("Tab reaches a command in the background; k stops it, Enter shows its output", () => {
  const { tui, press, at } = busy();
  assertEquals(press("tab", "down", "down"), []);
  const background = (value: string) => [{
    type: "setting",
    command: { setting: "background", value },
  }];
  assertEquals(press("enter"), background("cmd_1") as never);
  assertEquals(press("k"), background("stop cmd_1") as never);
  assertEquals(press("up", "k"), [{ type: "kill_lane", lane_id: "lane_2" }]);
  press("down");
  at(20, "background.ended", { command_id: "cmd_1", command: "npm run dev", reason: "stopped" });
  assertEquals(tui.model.lane_at, "main");
  press("k");
});

Deno.test("panels vanish when they are empty, and with them the keys that they had", () => {
  const { tui, at, press, lines } = session();
  at(1, "background.started", { command_id: "cmd_1", command: "sleep 9" });
  press("tab");
  assertEquals(tui.model.focus, "lanes");
  assert(lines().some((row) => row.startsWith("▸1 ● sleep 9  since ")), lines().join("\n"));
  at(2, "background.ended", { command_id: "cmd_1", command: "sleep 9", reason: "exited" });
  assertEquals(tui.model.focus, "input");
  assert(!lines().some((row) => row.includes("▸")));
  press("k");
  assertEquals(tui.model.input.text, "k");
});

Deno.test("calls that read fold to one line; Ctrl-O shows each, and one that failed stands alone", () => {
  const { at, lines, press } = session();
  at(0, "turn.started", { turn_id: "t", model: "m" });
  for (const [n, path] of ["a.ts", "b.ts", "c.ts"].entries()) {
    at(1, "session.tool_started", { ...READ, call_id: `${n}`, args: { path } });
    at(1, "session.tool_completed", { ...READ, call_id: `${n}`, ok: true, output: `of ${path}` });
  }
  const folded = lines();
  assert(folded.includes("● read 3 files  a.ts, b.ts, c.ts"), folded.join("\n"));
  assert(!folded.join("\n").includes("of a.ts"));
  press("ctrl-o");
  const all = lines().join("\n");
  for (const row of ["● read_file a.ts", "  └ of a.ts", "● read_file c.ts"]) {
    assert(all.includes(row), all);
  }
  press("ctrl-o");
  at(2, "session.tool_started", { ...READ, call_id: "x", args: { path: "gone" } });
  assert(lines().includes("● reads 4 files  a.ts, b.ts, c.ts, gone"));
  at(2, "session.tool_completed", { ...READ, call_id: "x", ok: false, output: "no such file" });
  const failed = lines();
  assert(failed.includes("● read 3 files  a.ts, b.ts, c.ts"), failed.join("\n"));
  assert(failed.includes("  └!no such file"), failed.join("\n"));
});

Deno.test("a long run of calls that read is one line", () => {
  const { tui, at, lines } = session();
  for (let n = 0; n < 4_000; n++) {
    at(1, "session.tool_started", { ...READ, call_id: `${n}`, args: { path: `f${n}` } });
  }
  assert(lines().some((row) => row.startsWith("● reads 4000 files")));
  assertEquals(tui.model.entries.length, 4_001);
});

Deno.test("reasoning is one line with its seconds, until all is asked for", () => {
  const { at, lines, press } = session();
  at(0, "turn.started", { turn_id: "t", model: "m" });
  at(1, "session.reasoning", { turn_id: "t", text: "First I look.\nThen I" });
  assert(lines().includes("~ Then I"), lines().join("\n"));
  at(13, "session.delta", { turn_id: "t", text: "Here" });
  assert(lines().includes("~ thought for 12.0 s: First I look."), lines().join("\n"));
  press("ctrl-o");
  assert(lines().includes("  Then I"), lines().join("\n"));
});
