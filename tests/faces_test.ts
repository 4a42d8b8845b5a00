/**
 * Every event, and what each face shows of it. An event without an entry here does not compile; one
 * that a face does not show says where a person finds it instead.
 */
import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { AgentContext } from "@agentclientprotocol/sdk";
import { Sessions } from "../src/acp/sessions.ts";
import { ChatView } from "../src/cli/chat_view.ts";
import type { RpcClient } from "../src/client/rpc.ts";
import { MissionLane } from "../src/features/missions/report.ts";
import { Tui } from "../src/features/tui/tui.ts";
import { lineText } from "../src/features/tui/text.ts";
import { backgroundStartedText } from "../src/protocol/background_text.ts";
import type { EventData, EventType, SessionEvent } from "../src/protocol/events.ts";
import { planText } from "../src/protocol/plan_text.ts";
import type { Session } from "../src/session/session.ts";
import type { Published } from "../src/session/subscription.ts";
import { applyToState, emptyState } from "../src/session/state.ts";
import { ViewList } from "../src/session/view_list.ts";
import { outcomeText } from "../web/src/session/item_text.ts";
import { RowMaker, rowText } from "../web/src/session/rows.ts";

const ID = "sess_00000000000000000000000000";
const AT = "2026-01-01T00:00:00.000Z";

type FaceName = "web" | "tui" | "line" | "acp" | "mission";

type Sample = { [T in EventType]: [T, EventData[T]] }[EventType];

interface Case<T extends EventType> {
  data: EventData[T];
  /** What comes before it. */
  before?: Sample[];
  /** What each face then says that it did not say before. */
  says?: RegExp;
  /** Why a face does not say it. */
  elsewhere?: Partial<Record<FaceName, string>>;
  /** Why no face says it. */
  nowhere?: string;
}

// ── the events ─────────────────────────────────────────────────────────────────────────────────

const TICK = { usd_delta: 0.1, tokens_in: 1, tokens_out: 1, tokens_cached: 0 };
const MISSION = { mission_id: "m", name: "Demo", tasks: 1, criteria: 1 };
const CALL = { call_id: "c", tool: "read_file", args: { path: "a.txt" }, lane_id: "main" };
const STARTED: Sample = ["session.tool_started", CALL];
const LANE = { lane_id: "lane_1", kind: "tool", label: "run make all", started_at: AT } as const;
const LANES: Sample[] = [
  ["lane.created", { lane_id: "main", kind: "main", label: "main", started_at: AT }],
  ["lane.created", LANE],
];
const REQUEST = {
  approval_id: "a",
  lane_id: "lane_1",
  call_id: "other",
  tool: "remember",
  args: { text: "likes tea" },
  reason: "keep what was learned",
  rule: "remember",
};
const NO_LANES = {
  line: "has no lanes: their calls' results are told",
  acp: "the protocol has no lanes: their calls' results are told",
  mission: "the lanes of the session that works are shown in that session",
};

const EVENTS: { [T in EventType]: Case<T> } = {
  "session.created": {
    data: { workdir: "/w", model: "m", title: "t", approval: "ask" },
    nowhere: "the head of each face has its directory and its model",
  },
  "session.titled": {
    data: { title: "Mend the parser" },
    nowhere: "the head of each face and the lists have the title",
  },
  "session.moved": {
    data: { workdir: "/renamed", from: "/w", by: "svc", replaced: true },
    says: /goes on in \/renamed.*another directory is at \/w now/i,
  },
  "session.located": {
    data: { directory: { dev: 1, ino: 2 } },
    nowhere: "it is how svc finds the directory again after it was renamed",
  },
  "session.configured": {
    data: {
      model: "anthropic/large",
      added_dirs: [{ path: "/lib", access: "read" }],
      by: "local",
    },
    says: /model is now anthropic\/large, added directories are now \/lib \(read-only\)/,
  },
  "user.message": {
    data: { message_id: "m", text: "please look" },
    says: /please look/,
    elsewhere: { mission: "the mission's spec has the prompt" },
  },
  "user.queued": {
    data: { message_id: "m", text: "and then this" },
    says: /and then this/,
    elsewhere: {
      web: "the list above the message box has it",
      acp: "the protocol has no queue: it is told when its turn begins",
      mission: "the mission's spec has the prompt",
    },
  },
  "user.withdrawn": {
    before: [["user.message", { message_id: "m", text: "please look" }]],
    data: { messages: [{ message_id: "m", seq: 1 }], by: "local" },
    says: /message taken back: please look/i,
  },
  "turn.started": {
    data: { turn_id: "t", model: "m" },
    nowhere: "the status says that the session works",
  },
  "turn.continued": { data: { turn_id: "t", after: "asked" }, says: /the turn goes on/i },
  "turn.parked": {
    data: { turn_id: "t", until: "2026-11-28T15:00:00Z", reason: "work answered 429: quota" },
    says: /parked until .*\d:\d\d, then the turn goes on by itself: work answered 429: quota/i,
  },
  "session.delta": { data: { turn_id: "t", text: "Here it is." }, says: /Here it is\./ },
  "session.reasoning": {
    data: { turn_id: "t", text: "Thinking of a way" },
    says: /thinking/i,
  },
  "session.tool_started": { data: CALL, says: /read_file.*a\.txt/ },
  "session.tool_completed": {
    before: [STARTED],
    data: {
      call_id: "c",
      tool: "read_file",
      ok: false,
      duration_ms: 5,
      output: "no such file",
      truncated: false,
    },
    says: /no such file/,
  },
  "approval.requested": {
    data: REQUEST,
    says: /allow remember\?|"title":"keep what was learned"/i,
    elsewhere: { line: "svc chat puts it as the prompt; svc chat -p denies it, and says so" },
  },
  "approval.resolved": {
    before: [["approval.requested", REQUEST]],
    data: { approval_id: "a", decision: "deny", by: "local" },
    says: /denied|taken back/,
  },
  "turn.completed": {
    data: {
      turn_id: "t",
      stop_reason: "loop",
      message: "",
      usage: { tokens_in: 1, tokens_out: 1, tokens_cached: 0, usd: 0 },
      error: "five times the same",
    },
    says: /loop: five times the same/,
  },
  "cost.tick": {
    data: { ...TICK, seen_seq: 1 },
    nowhere: "the head of each face has the cost; svc cost has all of it",
  },
  "session.paused": { data: { reason: "operator" }, says: /session was paused/i },
  "session.resumed": { data: { reason: "operator" }, says: /session was resumed/i },
  "session.ended": { data: { reason: "killed" }, says: /session has ended \(killed\)/i },
  "session.compacted": {
    data: { reason: "asked", tokens_before: 9000, tokens_after: 3000, seen_seq: 1 },
    says: /shortened from about 9k to 3k tokens/,
  },
  "files.kept": {
    data: { turn_id: "t", moment: "before", state: "s" },
    nowhere: "it is what undo goes back to; where it fails, a lane.note says so",
  },
  "session.rewound": {
    data: {
      rewind_id: "r",
      message_id: "m",
      to_seq: 1,
      by: "local",
      files: { from: "a", to: "b", changed: 2 },
    },
    says: /undone: changes of 2 files/,
  },
  "session.forked": {
    data: { from_session_id: ID, from_seq: 3 },
    nowhere: "the title of a fork says of what it is one",
  },
  "session.checkpoint": {
    data: {
      state: { ...emptyState(ID), sent: [] },
      transcript: {
        items: [
          { user: "an old question", seq: 1 },
          { step: { text: "an old answer", calls: [], results: [] } },
        ],
        waiting: [],
      },
      chain: "",
    },
    says: /an old answer/,
  },
  "daemon.reloaded": { data: { at: AT, version: "1.2.3" }, says: /restarted \(1\.2\.3\)/ },
  "descent.tier_changed": {
    data: { ac_id: "a", tier: "T1", status: "running" },
    nowhere: "the mission's page has it, and its log",
  },
  "mission.created": { data: MISSION, nowhere: "its lanes open; its page and its log have it" },
  "mission.resumed": { data: MISSION, nowhere: "its lanes open; its page and its log have it" },
  "mission.task_started": {
    data: { mission_id: "m", task_id: "t", lane_id: "l", session_id: ID, attempt: 1 },
    nowhere: "its lane runs; the mission's page and its log have it",
  },
  "mission.task_completed": {
    data: { mission_id: "m", task_id: "t", status: "completed" },
    nowhere: "its lane ends; the mission's page and its log have it",
  },
  "mission.conflict": {
    data: { mission_id: "m", files: ["a.txt"] },
    nowhere: "the mission's page has it, and its log",
  },
  "mission.completed": {
    data: { mission_id: "m", status: "completed" },
    nowhere: "its lanes end; the mission's page and its log have it",
  },
  "lane.created": {
    before: [LANES[0]],
    data: LANE,
    says: /run make all/,
    elsewhere: NO_LANES,
  },
  "lane.status": {
    before: LANES,
    data: {
      lane_id: "lane_1",
      status: "errored",
      prev_status: "running",
      reason: "",
      reason_code: "",
    },
    says: /errored/,
    elsewhere: NO_LANES,
  },
  "lane.delta": {
    before: LANES,
    data: { lane_id: "lane_1", delta_seq: 1, content_block: { type: "text", text: "building" } },
    says: /building/,
    elsewhere: NO_LANES,
  },
  "lane.cost": {
    data: { lane_id: "lane_1", ...TICK },
    nowhere: "the lanes of the web app have their cost",
  },
  "lane.note": {
    data: { lane_id: "main", text: "docs cannot start", reason_code: "tools_missing" },
    says: /docs cannot start/,
  },
  "lane.killed": {
    data: { lane_id: "lane_1", reason: "asked", actor: "local" },
    nowhere: "the lane.status that follows is shown",
  },
  "context.told": {
    data: { turn_id: "t", facts: { date: "today" }, text: "Today is today." },
    nowhere: "it is what the person knows, told to the model",
  },
  "rules.loaded": {
    data: {
      turn_id: "t",
      files: [{ path: "/w/AGENTS.md", bytes: 1, sha256: "" }],
      skipped: [],
      removed: [],
      text: "",
    },
    says: /rules read: \/w\/AGENTS\.md/i,
  },
  "plan.changed": { data: { steps: [{ step: "write it", state: "doing" }] }, says: /write it/ },
  "hook.ran": {
    data: { on: "tool.before", program: "guard", decision: "deny", reason: "not on Fridays" },
    says: /hook guard: denied a call: not on Fridays/i,
  },
  "subagent.started": {
    data: {
      lane_id: "lane_1",
      call_id: "c",
      description: "look around",
      task: "look",
      model: "m",
      tools: "read",
    },
    nowhere: "its call and its lane are shown",
  },
  "subagent.tool_started": {
    data: { lane_id: "lane_1", call_id: "s", tool: "grep", args: { pattern: "needle" } },
    nowhere: "a lane.delta says it in its lane",
  },
  "subagent.tool_completed": {
    data: {
      lane_id: "lane_1",
      call_id: "s",
      tool: "grep",
      ok: true,
      duration_ms: 1,
      output: "found",
      truncated: false,
    },
    nowhere: "its answer is the result of its call",
  },
  "subagent.completed": {
    data: {
      lane_id: "lane_1",
      call_id: "c",
      stop_reason: "ok",
      message: "found it",
      usage: { tokens_in: 1, tokens_out: 1, tokens_cached: 0, usd: 0 },
    },
    nowhere: "the result of its call is shown",
  },
  "background.started": {
    data: { command_id: "bg_1", command: "make serve" },
    says: /background command bg_1 \(make serve\): started/i,
  },
  "background.ended": {
    data: { command_id: "bg_1", command: "make serve", reason: "exited", exit_code: 3 },
    says: /background command bg_1 \(make serve\): exit code 3/i,
  },
  "memory.recalled": {
    data: { turn_id: "t", entries: [], text: "" },
    nowhere: "the memory's page has what is remembered",
  },
  "memory.written": {
    data: { entry_id: "e", category: "fact", scope: "session", content_sha: "" },
    nowhere: "the memory's page has it, with its audit trail",
  },
};

// ── the faces ──────────────────────────────────────────────────────────────────────────────────

interface Face {
  apply(event: SessionEvent): void;
  /** What a person sees by now. */
  seen(): string | Promise<string>;
}

const FACES: Record<FaceName, () => Face> = {
  web() {
    const state = emptyState(ID);
    const list = new ViewList();
    const maker = new RowMaker();
    return {
      apply(event) {
        applyToState(state, event);
        list.apply(event);
      },
      seen() {
        const rows = maker.rows(list.items).map((row) =>
          row.kind === "item" && row.item.kind === "tool"
            ? `${rowText(row)} ${outcomeText(row.item)}`
            : rowText(row)
        );
        // The panels beside the conversation.
        const panels = [
          planText(state.plan),
          ...state.background.map(backgroundStartedText),
          ...state.lanes.map(({ label, status }) => `${label} ${status}`),
          ...list.lane_output.values(),
          ...state.pending_approvals.map(({ tool }) => `allow ${tool}?`),
        ];
        return [...rows, ...panels].join("\n");
      },
    };
  },
  tui() {
    const tui = new Tui(ID, { cols: 200, rows: 60 }, () => "id");
    return {
      apply: (event) => tui.apply(event),
      // The transcript, its marks and the panels.
      seen: () =>
        tui.screen().lines.map(lineText).join("\n") +
        tui.model.lanes.map(({ status }) => status).join("\n"),
    };
  },
  line() {
    let seen = "";
    const view = new ChatView({
      text: (text) => void (seen += text),
      endText: () => {},
      say: (line) => void (seen += `${line}\n`),
    });
    return { apply: (event) => view.apply(event), seen: () => seen };
  },
  acp: editor,
  mission() {
    let seen = "";
    const lane = { lane_id: "lane_m", status: "running" };
    const session = {
      state: { lanes: [lane] },
      lanes: { onKilled: () => () => {}, move: () => Promise.resolve() },
      emit: () => Promise.resolve(),
      emitLaneText: (_: string, text: string) => void (seen += text),
    };
    const mission = new MissionLane(session as unknown as Session, "lane_m");
    return {
      apply: (event) => mission.mirror({ ...event, session_id: ID } as Published),
      seen: () => seen,
    };
  },
};

/** An editor that has opened a session in which nothing was said. */
function editor(): Face {
  const seen: string[] = [];
  const rpc = {
    onEvent: (_: unknown) => {},
    closed: new Promise(() => {}),
    call: (method: string) => Promise.resolve(ANSWERS[method] ?? {}),
    close() {},
  };
  const client = {
    notify: (_: string, update: unknown) => Promise.resolve(void seen.push(JSON.stringify(update))),
    request(_: string, params: unknown, { cancellationSignal: gone }: Record<string, AbortSignal>) {
      seen.push(JSON.stringify(params));
      return new Promise((_, reject) => {
        gone.addEventListener("abort", () => {
          seen.push("taken back");
          reject(gone.reason);
        });
      });
    },
  };
  const sessions = new Sessions(
    {
      connect: () => Promise.resolve(rpc as unknown as RpcClient),
      start: {},
      notice: (text) => void seen.push(text),
    },
    client as unknown as AgentContext,
    () => {},
  );
  const opened = sessions.load({ sessionId: ID, cwd: "/w" });
  const waiting: SessionEvent[] = [];
  return {
    apply: (event) => void waiting.push(event),
    async seen() {
      await opened;
      for (const event of waiting.splice(0)) rpc.onEvent({ ...event, session_id: ID });
      await new Promise((resolve) => setTimeout(resolve));
      return seen.join("\n");
    },
  };
}

const ANSWERS: Record<string, unknown> = {
  "session.get": { state: "running", workdir: "/w", pending_approvals: [], last_seq: 0 },
  "session.transcript": { messages: [], writing: "", seq: 0 },
};

// ── the test ───────────────────────────────────────────────────────────────────────────────────

for (const [type, { before = [], data, says, elsewhere = {}, nowhere }] of Object.entries(EVENTS)) {
  const what = nowhere === undefined ? "every face shows it" : `shown nowhere: ${nowhere}`;
  Deno.test(`${type}: ${what}`, async () => {
    for (const [name, open] of Object.entries(FACES)) {
      const face = open();
      let seq = 0;
      const apply = ([type, data]: Sample) => face.apply(eventOf(++seq, type, data));
      for (const each of before) apply(each);
      const had = await face.seen();
      apply([type, data] as Sample);
      const has = await face.seen();
      if (nowhere !== undefined) {
        // The terminal UI is seen with its status line.
        if (name !== "tui") assertEquals(has, had, `${name} shows ${type} after all`);
        continue;
      }
      const why = elsewhere[name as FaceName];
      if (says === undefined) throw new Error(`${type} says neither what is shown nor why nothing`);
      assertNotMatch(had, says, `${name} says it before ${type}`);
      if (why === undefined) assertMatch(has, says, `${name} does not show ${type}`);
      else assertNotMatch(has, says, `${name} shows ${type} after all, although "${why}"`);
    }
  });
}

function eventOf(seq: number, type: EventType, data: unknown): SessionEvent {
  return { seq, at: AT, type, data } as SessionEvent;
}
