import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../protocol/events.ts";
import type { CallVerb } from "../verb_types.ts";
import { choicesFor } from "./choices.ts";
import { emptyModel } from "./model.ts";
import { beginPicker } from "./picker.ts";
import { cleanLine, lineText, loadColumns, width } from "./text.ts";
import { type SessionDetail, Tui } from "./tui.ts";
import { parseKey } from "./keys.ts";

await loadColumns();

const ID = "sess_00000000000000000000000000";
const HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e日本語 👍🏽 " + "wide 日本 ".repeat(30);
const DETAIL: SessionDetail = {
  title: "a title",
  workdir: `/work/${HOSTILE}`,
  model: HOSTILE,
  approval: "ask",
  effort: "default",
  state: "running",
  activity: "working",
  cost_usd: 1.5,
  last_seq: 1,
  plan: [],
  lanes: ["main", "lane_1", "lane_2"].map((lane_id) => ({
    lane_id,
    kind: lane_id === "main" ? "main" : "tool",
    status: "running",
    label: HOSTILE,
    started_at: "",
    delta_seq: 0,
    pinned: false,
    cost_usd: 0,
  })),
  pending_approvals: [],
};

function busy(): Tui {
  const tui = new Tui(ID, { cols: 80, rows: 24 }, () => "id");
  const call = { call_id: "c", tool: HOSTILE };
  const events = [
    ["user.message", { message_id: "m", text: HOSTILE }],
    ["session.delta", { turn_id: "t", text: HOSTILE }],
    ["session.tool_started", { ...call, args: {}, lane_id: "main" }],
    ["session.tool_completed", {
      ...call,
      ok: false,
      output: HOSTILE,
      truncated: false,
      duration_ms: 1,
    }],
    ["session.delta", { turn_id: "t", text: HOSTILE }],
  ].map(([type, data], n) => ({ seq: n + 4, at: "", type, data }) as unknown as SessionEvent);
  tui.load(DETAIL, { events, seq: 8 });
  tui.apply({
    seq: 9,
    at: "",
    type: "lane.delta",
    data: { lane_id: "lane_1", delta_seq: 1, content_block: { type: "text", text: HOSTILE } },
  });
  return tui;
}

const ASKED = {
  seq: 10,
  at: "",
  type: "approval.requested",
  data: {
    approval_id: "a",
    call_id: "c",
    tool: HOSTILE,
    args: { [HOSTILE]: HOSTILE },
    reason: HOSTILE,
    rule: HOSTILE,
  },
} as SessionEvent;

/** What repositories, tool servers and providers may call things. */
const HOSTILE_NAMES = [
  HOSTILE,
  "d".repeat(5_000),
  "two\nlines\r\n\x1b[2J",
  "\u202ednuora",
  "日本".repeat(99),
];
const MODELS = await choicesFor(
  "models",
  emptyModel(ID),
  (() => {
    const models = Array.from({ length: 300 }, (_, n) => ({
      id: `${HOSTILE_NAMES[n % HOSTILE_NAMES.length]}/model-${n}`,
    }));
    return Promise.resolve({ models });
  }) as unknown as CallVerb,
);

/** The interface in every state that is drawn in its own way. */
const STATES: Record<string, (tui: Tui) => void> = {
  "a turn": () => {},
  "a question": (tui) => tui.apply(ASKED),
  "a question in full": (tui) => {
    tui.apply(ASKED);
    tui.arm();
    tui.press(parseKey("v"));
  },
  "a lane": (tui) => tui.focusLane("lane_1"),
  "the help": (tui) => tui.press(parseKey("?")),
  "a long message": (tui) => tui.press({ type: "paste", text: HOSTILE + "\n\n" + HOSTILE }),
  "another part": (tui) => tui.press(parseKey("tab")),
  "a menu": (tui) => {
    const [effect] = tui.press({ type: "character", text: "/" });
    assert(effect.type === "suggest");
    tui.suggest(
      effect.token,
      HOSTILE_NAMES.map((it) => ({
        label: `/${it}`,
        hint: it,
        detail: it,
        insert: `/${it}`,
      })),
    );
    tui.press(parseKey("tab"));
    tui.press(parseKey("backspace"));
  },
  "a list of models": (tui) => {
    const picker = tui.model.picker = beginPicker("models", "Models");
    tui.fillPicker(picker, MODELS);
    tui.press({ type: "character", text: "d" });
    tui.press(parseKey("pagedown"));
  },
  "a branch": (tui) => tui.model.session.branch = cleanLine(HOSTILE_NAMES[1]),
  "scrolled up": (tui) => tui.press(parseKey("pageup")),
};

Deno.test("at any size there are as many lines as rows, none wider, none with a control character", () => {
  const sizes = [80, 200, 43, 20, 16, 12, 11, 10, 5, 3, 2, 1].flatMap((cols) =>
    [24, 50, 12, 8, 7, 5, 4, 3, 2, 1].map((rows) => ({ cols, rows }))
  );
  for (const [state, reach] of Object.entries(STATES)) {
    const tui = busy();
    reach(tui);
    for (const size of sizes) {
      tui.size = size;
      const { lines, cursor } = tui.screen();
      const where = `${state} at ${size.cols}x${size.rows}`;
      assertEquals(lines.length, size.rows, where);
      for (const text of lines.map(lineText)) {
        assert(width(text) <= size.cols, `${where}: ${JSON.stringify(text)}`);
        // deno-lint-ignore no-control-regex -- they are what is looked for
        assert(!/[\x00-\x1f\x7f-\x9f\u202e]/.test(text), where);
      }
      if (cursor === undefined) continue;
      assert(cursor.row >= 0 && cursor.row < size.rows, where);
      assert(cursor.col >= 0 && cursor.col < size.cols, where);
    }
  }
});

Deno.test("on a screen of 20 by 5 one can read, answer and type", () => {
  const tui = busy();
  tui.size = { cols: 20, rows: 5 };
  tui.apply(ASKED);
  tui.arm();
  const { view } = tui.snapshot();
  assert(view.includes("n deny  v shows"), view);
  tui.press(parseKey("v"));
  assert(tui.snapshot().view.includes("n deny  PgDn to"));
  tui.press(parseKey("end"));
  assert(tui.snapshot().view.includes("y allow"));
  tui.press({ type: "paste", text: "hello" });
  assert(tui.snapshot().view.includes("› hello"));
});

Deno.test("the outline names what is on the screen, and which part takes the keys", () => {
  const tui = busy();
  tui.apply(ASKED);
  const { tree, focus, seq } = tui.snapshot();
  assertEquals(tree.map(({ role }) => role), ["log", "alertdialog", "list", "textbox", "status"]);
  assertEquals([focus, seq], ["approval", 10]);
  assertEquals(tree.find(({ focused }) => focused)?.role, "alertdialog");
  assertEquals(tree[1].children, []);
  tui.arm();
  const keys = () => tui.snapshot().tree[1].children!.map(({ text }) => text);
  assertEquals(keys(), ["n", "v"]);
  tui.press(parseKey("v"));
  tui.press(parseKey("end"));
  assertEquals(keys(), ["y", "a", "n", "v"]);
  assertEquals(tree[2].children!.map(({ text }) => text), ["running", "running", "running"]);
});
