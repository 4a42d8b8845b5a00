/** A subagent: a turn's loop with its own conversation, for a call of the session. */
import { messageOf } from "../protocol/errors.ts";
import {
  type EventData,
  type EventType,
  MAIN_LANE,
  MODEL_RETRY,
  type SessionEvent,
  SUBAGENT,
} from "../protocol/events.ts";
import type { ApprovalRequest } from "../session/approvals.ts";
import type { TurnSession } from "../session/session.ts";
import type { Turn, TurnEnd } from "../session/turn.ts";
import type { OpenTurn, SessionState } from "../session/session_state.ts";
import { findLane, laneEnded } from "../session/state_steps.ts";
import { Transcript } from "../session/transcript.ts";
import type { LoopParts } from "./loop.ts";
import { actLine, outcomeOf, STOPPED, SubagentRecord } from "./subagent_record.ts";
import type { Subagent, SubagentEnd, Tool } from "./tool.ts";

export interface SubagentContext {
  parts: LoopParts<TurnSession>;
  session: TurnSession;
  turn: Turn;
  runLoop(parts: LoopParts<TurnSession>, session: TurnSession, turn: Turn): Promise<TurnEnd>;
}

/** Tools for the session's own conversation only. */
const NOT_OFFERED: ReadonlySet<string> = new Set([SUBAGENT, "plan"]);

/**
 * Runs a subagent to its end. Its actions are recorded as events of the session, in its own lane;
 * the session's conversation only gets the result.
 *
 * @throws {Error} if the model is unknown, or the session cannot record it
 */
export async function runSubagent(
  { parts, session, turn, runLoop }: SubagentContext,
  subagent: Subagent,
): Promise<SubagentEnd> {
  const { call_id, description, task, tools } = subagent;
  const { id: model } = await parts.model(subagent.model ?? session.state.model);
  const lane_id = parts.new_lane_id();
  const stops = new Stops(turn, subagent);
  const forget = session.lanes.onKilled(lane_id, () => stops.kill());
  try {
    await session.lanes.open({
      lane_id,
      kind: "tool",
      parent_lane_id: MAIN_LANE,
      label: `agent: ${description}`,
      started_at: new Date().toISOString(),
      call_id,
    });
    await session.lanes.move(lane_id, "running", "the subagent has started", "subagent_started");
    const started = { lane_id, call_id, description, task, model, tools };
    const { seq } = await session.emit("subagent.started", started);
    const { signal } = stops;
    const child = new SubagentSession(session, { lane_id, description, model, signal });
    await child.begin(task, seq);
    const own = childParts({ parts, session, turn }, subagent);
    const run = () => runLoop(own, child, stops.turn);
    const end = await endOf(run, stops);
    const message = child.answer;
    const done = await session.emit("subagent.completed", {
      lane_id,
      call_id,
      message,
      usage: child.usage,
      ...end,
    });
    const lane = findLane(session.state, lane_id);
    if (lane !== undefined && !laneEnded(lane)) {
      const status = end.stop_reason === "ok" ? "done" : signal.aborted ? "cancelled" : "errored";
      await session.lanes.move(lane_id, status, "the subagent has ended", end.stop_reason);
    }
    return outcomeOf(child.record, { message, ...end }, done.seq);
  } finally {
    forget();
    stops.close();
  }
}

/** Runs the loop. @returns how it ended, whatever ended it */
async function endOf(run: () => Promise<TurnEnd>, stops: Stops): Promise<TurnEnd> {
  try {
    const end = await run();
    return end.stop_reason === "interrupted" ? stops.end() ?? end : end;
  } catch (error) {
    const end = stops.end();
    if (end !== undefined) return end;
    return { stop_reason: "error", error: messageOf(error) };
  }
}

/** What stops a subagent: its turn, the end of its lane, its time. */
class Stops {
  readonly #parent: Turn;
  readonly #max_ms: number;
  readonly #killed = new AbortController();
  readonly #late = new AbortController();
  readonly #timer: number;
  readonly signal: AbortSignal;
  readonly turn: Turn;

  constructor(parent: Turn, { signal, max_ms }: Subagent) {
    this.#parent = parent;
    this.#max_ms = max_ms;
    this.signal = AbortSignal.any([signal, this.#killed.signal, this.#late.signal]);
    this.#timer = setTimeout(() => this.#late.abort(new Error("its time is over")), max_ms);
    this.turn = {
      turn_id: parent.turn_id,
      signal: this.signal,
      soft: AbortSignal.any([parent.soft, this.signal]),
      continued: false,
      get left() {
        return parent.left;
      },
    };
  }

  kill(): void {
    this.#killed.abort(new Error("its lane was killed"));
  }

  /** How it ends if it was stopped. */
  end(): TurnEnd | undefined {
    if (this.#killed.signal.aborted) {
      return { stop_reason: "cancelled", error: "its lane was killed" };
    }
    if (this.#parent.soft.aborted) {
      return this.#parent.left
        ? { stop_reason: "interrupted", error: STOPPED }
        : { stop_reason: "cancelled", error: "the turn was stopped" };
    }
    if (!this.#late.signal.aborted) return undefined;
    const error = `it reached its time limit of ${this.#max_ms / 1000} s`;
    return { stop_reason: "cancelled", error };
  }

  close(): void {
    clearTimeout(this.#timer);
    // Nothing that it began outlives it.
    this.#late.abort(new DOMException("the subagent has ended", "AbortError"));
  }
}

/** The parts of the loop; rules, files and undo are the session's. */
function childParts(
  { parts, session, turn }: Omit<SubagentContext, "runLoop">,
  { tools, description }: Subagent,
): LoopParts<TurnSession> {
  const nothing = () => Promise.resolve();
  const offered = ({ spec: { name }, access }: Tool) =>
    !NOT_OFFERED.has(name) && (tools === "all" || access === "read" || access === "network");
  return {
    ...parts,
    of_subagent: true,
    recall: nothing,
    tell: nothing,
    touched: nothing,
    hidden: () => parts.hidden(session),
    added: () => parts.added(session),
    judge: (_child, tool, args) => parts.judge(session, tool, args),
    beforeCall: async (_child, call, signal) =>
      await parts.beforeCall?.(session, { ...call, subagent: description }, signal),
    afterCall: async (_child, call, ...rest) =>
      await parts.afterCall?.(session, { ...call, subagent: description }, ...rest),
    beforeWrite: async () => await parts.beforeWrite?.(session, turn),
    findDirectory: async () => await parts.findDirectory?.(session),
    tools: async (_child, signal) => (await parts.tools(session, signal)).filter(offered),
  };
}

interface ChildOptions {
  lane_id: string;
  description: string;
  model: string;
  signal: AbortSignal;
}

/** The session as a subagent's loop sees it: its actions go to its lane. */
class SubagentSession implements TurnSession {
  readonly #parent: TurnSession;
  readonly #options: ChildOptions;
  readonly #transcript = new Transcript();
  readonly #turn: Omit<OpenTurn, "usage" | "limits">;
  readonly record = new SubagentRecord();
  readonly usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };
  readonly lanes: TurnSession["lanes"];
  readonly approvals: TurnSession["approvals"];
  readonly fresh = false;
  /** Where the text after its last call begins. */
  #answer_start = 0;

  constructor(parent: TurnSession, options: ChildOptions) {
    this.#parent = parent;
    this.#options = options;
    const { turn_id = "", started_seq = 0 } = parent.state.turn ?? {};
    this.#turn = { turn_id, started_seq, text: "", step_start: 0 };
    const { lane_id } = options;
    this.lanes = {
      // The faces look for the call of a lane among those of the session.
      open: ({ call_id: _, ...lane }) => parent.lanes.open({ ...lane, parent_lane_id: lane_id }),
      move: (...move) => parent.lanes.move(...move),
      onKilled: (...on) => parent.lanes.onKilled(...on),
    };
    this.approvals = {
      ask: (asked, how) => parent.approvals.ask(this.#named(asked), { ...how, lane_id }),
      consult: (asked, how) => parent.approvals.consult(this.#named(asked), { ...how, lane_id }),
      request: (asked, _lane, signal) =>
        parent.approvals.request(this.#named(asked), lane_id, signal),
      settle: (call_id, decision) => parent.approvals.settle(this.#idOf(call_id), decision),
      withdraw: (call_id) => parent.approvals.withdraw(this.#idOf(call_id)),
    };
  }

  /** Names the subagent in a question; models number the calls of each conversation anew. */
  #named<T extends Pick<ApprovalRequest, "call_id" | "reason">>(asked: T): T {
    const reason = `agent ${JSON.stringify(this.#options.description)}: ${asked.reason}`;
    return { ...asked, reason, call_id: this.#idOf(asked.call_id) };
  }

  #idOf(call_id: string): string {
    return `${this.#options.lane_id}/${call_id}`;
  }

  /** Begins the conversation with the session's context and the task. */
  async begin(task: string, seq: number): Promise<void> {
    for (const item of (await this.#parent.transcript()).items) {
      if (!("told" in item)) continue;
      const data = {
        turn_id: this.#turn.turn_id,
        facts: {},
        text: item.told,
        parts: [...item.parts ?? []],
      };
      this.#transcript.apply({ seq: item.seq, at: "", type: "context.told", data });
    }
    const data = { message_id: "", text: task };
    this.#transcript.apply({ seq, at: "", type: "user.message", data });
  }

  /** Its text after the last call. */
  get answer(): string {
    return this.#turn.text.slice(this.#answer_start).trim();
  }

  get id(): string {
    return this.#parent.id;
  }

  get reader(): string {
    return this.#options.lane_id;
  }

  get journal(): TurnSession["journal"] {
    return this.#parent.journal;
  }

  get published_seq(): number {
    return this.#parent.published_seq;
  }

  get state(): SessionState {
    const { state } = this.#parent;
    // The turn's limits, and what was spent of them, hold for it too.
    const { usage = this.usage, limits } = state.turn ?? {};
    const turn = { ...this.#turn, usage, ...(limits && { limits }) };
    return { ...state, model: this.#options.model, turn };
  }

  transcript(): Promise<Transcript> {
    return Promise.resolve(this.#transcript);
  }

  attachments(): ReturnType<TurnSession["attachments"]> {
    return this.#parent.attachments();
  }

  holdFresh(): boolean {
    return false;
  }

  takeFresh(): boolean {
    return true;
  }

  compactIfAsked(): Promise<void> {
    return Promise.resolve();
  }

  emitText(turn_id: string, text: string): void {
    const { signal, lane_id } = this.#options;
    if (signal.aborted) return;
    this.#turn.text += text;
    // After everything published; the record of the text has a still later seq.
    const seq = this.published_seq + 1;
    this.#transcript.apply({ seq, at: "", type: "session.delta", data: { turn_id, text } });
    this.#parent.emitLaneText(lane_id, text);
  }

  emitReasoning(): void {}

  emitLaneText(...text: Parameters<TurnSession["emitLaneText"]>): void {
    this.#parent.emitLaneText(...text);
  }

  /** Records the loop's events as the subagent's, and applies them to its conversation. */
  async emit<T extends EventType>(type: T, data: EventData[T]): Promise<SessionEvent> {
    const event = { type, data, seq: 0, at: "" } as SessionEvent;
    const recorded = await this.#record(event);
    const applied = { ...event, seq: recorded.seq, at: recorded.at } as SessionEvent;
    this.#transcript.apply(applied);
    return recorded;
  }

  // fold-ok: passes a subagent's events on as those of its session
  #record(event: SessionEvent): Promise<SessionEvent> {
    const { lane_id, description } = this.#options;
    switch (event.type) {
      case "session.tool_started": {
        const { call_id, tool, args } = event.data;
        this.record.started({ call_id, tool, args });
        this.#answer_start = this.#turn.text.length;
        this.#parent.emitLaneText(lane_id, `\n\n→ ${actLine(tool, args)}\n`);
        return this.#parent.emit("subagent.tool_started", { lane_id, call_id, tool, args });
      }
      case "session.tool_completed":
        this.record.completed(event.data);
        if (!event.data.ok) this.#parent.emitLaneText(lane_id, "  failed\n");
        return this.#parent.emit("subagent.tool_completed", { lane_id, ...event.data });
      case "cost.tick":
        return this.#spent(event.data);
      case "lane.cost":
        return this.#parent.emit("lane.cost", { ...event.data, lane_id: this.#ofLane(event.data) });
      case "lane.note":
        if (event.data.reason_code === MODEL_RETRY) {
          this.#turn.text = this.#turn.text.slice(0, this.#turn.step_start);
        }
        // Under their own codes, such notes would concern the session's conversation.
        return this.#parent.emit("lane.note", {
          ...event.data,
          lane_id,
          text: `agent ${JSON.stringify(description)}: ${event.data.text}`,
          reason_code: `subagent_${event.data.reason_code}`,
        });
      case "session.compacted": {
        const { tokens_before, tokens_after } = event.data;
        return this.#parent.emit("lane.note", {
          lane_id,
          text: `agent ${JSON.stringify(description)}: its conversation was shortened from ` +
            `about ${tokens_before} to ${tokens_after} tokens`,
          reason_code: "subagent_compacted",
        });
      }
      default:
        throw new Error(`a subagent does not record ${event.type}`);
    }
  }

  #ofLane({ lane_id }: { lane_id?: string }): string {
    return lane_id === undefined || lane_id === MAIN_LANE ? this.#options.lane_id : lane_id;
  }

  #spent(data: EventData["cost.tick"]): Promise<SessionEvent> {
    const { answered: _, echo: _echo, context_limit: _limit, ...cost } = data;
    this.usage.tokens_in += cost.tokens_in;
    this.usage.tokens_out += cost.tokens_out;
    this.usage.tokens_cached += cost.tokens_cached;
    this.usage.usd += cost.usd_delta;
    if (data.lane_id === undefined) this.#turn.step_start = this.#turn.text.length;
    return this.#parent.emit("cost.tick", {
      ...cost,
      lane_id: this.#ofLane(data),
      in_turn: true,
    });
  }
}
