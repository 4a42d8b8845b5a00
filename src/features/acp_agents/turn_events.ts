/** Records an agent's updates as events of the session. */
import { keepMedia } from "../../agent/calls.ts";
import { fromBase64, type Media, mediaHead, mediaProblem } from "../../base/media.ts";
import { ATTACHED_MAX } from "../../protocol/attachments.ts";
import type {
  PlanEntry,
  SessionUpdate,
  ToolCallContent,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import type { ToolOutcome } from "../../agent/tool.ts";
import { MAIN_LANE } from "../../protocol/events.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import type { KnownCall } from "./own_edits.ts";

/** Of a call, in characters. */
const OUTPUT_MAX = 48 * 1024;

const PLAN_STATES = { pending: "pending", in_progress: "doing", completed: "done" } as const;

interface OwnCall {
  call_id: string;
  tool: string;
  started: number;
  content: ToolCallContent[];
}

interface TurnEventsParts {
  session: Session;
  turn: Turn;
  new_call_id(): string;
  /** The last event that the agent has received. */
  seen_seq: number;
}

export class TurnEvents {
  readonly #parts: TurnEventsParts;
  readonly #calls = new Map<string, OwnCall>();
  /** The updates of each call so far. */
  readonly #known = new Map<string, KnownCall>();
  readonly #settled = new Map<string, ToolOutcome>();
  #last: Promise<unknown> = Promise.resolve();
  /** Whether there is text since the last closed step, or no step yet. */
  #open = true;
  #usd = 0;
  /** Whether the agent has said or done anything. */
  answered = false;

  constructor(parts: TurnEventsParts) {
    this.#parts = parts;
  }

  /** Records an update; svc has no counterpart for some kinds. */
  take(update: SessionUpdate): void {
    if (update.sessionUpdate === "agent_message_chunk") {
      if (update.content.type === "text") this.#say(update.content.text);
    } else if (update.sessionUpdate === "agent_thought_chunk") {
      if (update.content.type === "text") this.#think(update.content.text);
    } else if (
      update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update"
    ) this.#called(update);
    else if (update.sessionUpdate === "plan") this.#planned(update.entries);
    else if (update.sessionUpdate === "usage_update" && update.cost?.currency === "USD") {
      this.#usd = Math.max(this.#usd, update.cost.amount);
    }
  }

  /** Returns the updates of an agent's call. */
  known(id: string): KnownCall {
    return this.#known.get(id) ?? {};
  }

  /** Sets a call's outcome, regardless of what the agent reports later. */
  settle(id: string, outcome: ToolOutcome): void {
    this.#settled.set(id, outcome);
  }

  /** Closes the text so far, so that a call can follow. @param usd_delta its cost */
  closeStep(usd_delta = 0): Promise<void> {
    return this.#inOrder(() => this.#closeStep(usd_delta));
  }

  async #closeStep(usd_delta: number): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    const { session, seen_seq } = this.#parts;
    const cost = { usd_delta, tokens_in: 0, tokens_out: 0, tokens_cached: 0 };
    await session.emit("cost.tick", { ...cost, seen_seq });
  }

  /** Ends the turn and its open calls. @param before_usd the cost reported before this turn */
  async end(before_usd: number): Promise<number> {
    await this.#last;
    this.#open ||= this.#usd > before_usd;
    await this.closeStep(Math.max(0, this.#usd - before_usd));
    for (const [id, call] of this.#calls) {
      await this.#ended(id, call, false, "no result was reported");
    }
    return Math.max(this.#usd, before_usd);
  }

  #say(text: string): void {
    this.answered ||= text.trim() !== "";
    this.#inOrder(() => {
      const { session, turn } = this.#parts;
      this.#open = true;
      session.emitText(turn.turn_id, text);
    });
  }

  #think(text: string): void {
    const { session, turn } = this.#parts;
    this.#inOrder(() => session.emitReasoning(turn.turn_id, text));
  }

  #planned(entries: readonly PlanEntry[]): void {
    const steps = entries.map(({ content, status }) => ({
      step: content,
      state: PLAN_STATES[status],
    }));
    this.#inOrder(async () => {
      await this.#parts.session.emit("plan.changed", { steps });
    });
  }

  #called(update: ToolCallUpdate): void {
    this.answered = true;
    const said = Object.entries(update).filter(([, value]) => value != null);
    this.#known.set(update.toolCallId, {
      ...this.known(update.toolCallId),
      ...Object.fromEntries(said),
    });
    this.#inOrder(async () => {
      const call = this.#calls.get(update.toolCallId) ?? await this.#started(update);
      if (update.content) call.content = update.content;
      if (update.status !== "completed" && update.status !== "failed") return;
      const media = mediaIn(call.content);
      const output = outputOf(call.content, update.rawOutput);
      const ok = update.status === "completed";
      await this.#ended(update.toolCallId, call, ok, output, media);
    });
  }

  async #started(update: ToolCallUpdate): Promise<OwnCall> {
    const { session, new_call_id } = this.#parts;
    const { toolCallId, kind, title, rawInput } = update;
    const tool = `agent_${kind ?? "other"}`;
    const call = { call_id: new_call_id(), tool, started: performance.now(), content: [] };
    this.#calls.set(toolCallId, call);
    await this.#closeStep(0);
    const args = { title, ...(rawInput !== undefined && { input: rawInput }) };
    const { call_id } = call;
    await session.emit("session.tool_started", { call_id, tool, args, lane_id: MAIN_LANE });
    return call;
  }

  async #ended(
    id: string,
    call: OwnCall,
    ok: boolean,
    output: string,
    media: readonly Media[] = [],
  ): Promise<void> {
    this.#calls.delete(id);
    ({ ok, output } = this.#settled.get(id) ?? { ok, output });
    this.#settled.delete(id);
    const attachments = await keepMedia(this.#parts.session, { media });
    const { call_id, tool, started } = call;
    await this.#parts.session.emit("session.tool_completed", {
      call_id,
      tool,
      ok,
      duration_ms: Math.round(performance.now() - started),
      output: output.slice(0, OUTPUT_MAX),
      truncated: output.length > OUTPUT_MAX,
      ...(attachments.length > 0 && { attachments }),
    });
  }

  #inOrder(work: () => void | Promise<void>): Promise<void> {
    // A failed write ends the turn by itself.
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done.catch(() => {});
  }
}

/** Returns the valid images of a call. */
function mediaIn(content: readonly ToolCallContent[]): Media[] {
  const media: Media[] = [];
  for (const it of content) {
    if (it.type !== "content" || it.content.type !== "image" || media.length === ATTACHED_MAX) {
      continue;
    }
    const data = fromBase64(it.content.data);
    const head = data && mediaHead(data);
    if (data === undefined || head === undefined) continue;
    if (mediaProblem(head, data.length) !== undefined) continue;
    const { media_type } = head;
    media.push({ media_type, name: `image-${media.length + 1}.${media_type.split("/")[1]}`, data });
  }
  return media;
}

function outputOf(content: readonly ToolCallContent[], raw: unknown): string {
  const texts = content.map((it) => {
    if (it.type === "diff") return `changed ${it.path}`;
    if (it.type === "content" && it.content.type === "image") return "[image]";
    return it.type === "content" && it.content.type === "text" ? it.content.text : "";
  }).filter((text) => text !== "");
  if (texts.length > 0) return texts.join("\n");
  return raw === undefined ? "" : typeof raw === "string" ? raw : JSON.stringify(raw);
}
