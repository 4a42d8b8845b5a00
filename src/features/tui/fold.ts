/** How events change the model: the same fold for a terminal and for an instance without one. */
import type { Message } from "../../models/model.ts";
import {
  aboutAnswer,
  type EventData,
  MAIN_LANE,
  MODEL_RETRY,
  type SessionEvent,
} from "../../protocol/events.ts";
import { configuredText } from "../../protocol/configured_text.ts";
import { compactedText } from "../../protocol/compacted_text.ts";
import { applyToApprovals } from "./approvals.ts";
import { callLine } from "../../base/call_line.ts";
import { addEntry, growEntry, removeEntry } from "./entries.ts";
import { planIsOpen, type PlanStep, planText } from "../../protocol/plan_text.ts";
import { rulesLine } from "../../base/rules_line.ts";
import { applyToLanes } from "./lanes.ts";
import type { Entry, Model } from "./model.ts";
import { clean, cleanLine, limited } from "./text.ts";

/** Characters kept of a call's output. */
const OUTPUT_MAX = 32 * 1024;
const HISTORY_MAX = 500;
/** A longer message is not worth recalling, in characters. */
const RECALLED_MAX = 16 * 1024;

/** Applies one event; one that was seen already changes nothing. */
export function applyEvent(model: Model, event: SessionEvent): void {
  if (event.seq <= model.seq) return;
  model.seq = event.seq;
  applyToSession(model, event);
  applyToLanes(model, event);
  applyToApprovals(model, event);
  applyToTranscript(model, event);
}

function applyToSession({ session, cost_seq }: Model, event: SessionEvent): void {
  switch (event.type) {
    case "session.created":
      session.workdir = cleanLine(event.data.workdir);
      session.model = cleanLine(event.data.model);
      session.approval = event.data.approval;
      break;
    case "session.configured": {
      const { model, approval } = event.data;
      if (model !== undefined) {
        session.model = cleanLine(model);
        session.context = undefined;
      }
      session.approval = approval ?? session.approval;
      break;
    }
    case "turn.started":
      session.turn = true;
      break;
    case "turn.completed":
      session.turn = false;
      break;
    case "cost.tick": {
      if (event.seq <= cost_seq) break;
      const { usd_delta, tokens_in, tokens_out, context_limit: limit } = event.data;
      session.cost_usd += usd_delta;
      if (limit !== undefined) session.context = { used: tokens_in + tokens_out, limit };
      break;
    }
    case "session.compacted":
      if (event.seq > cost_seq && session.context) {
        session.context = { ...session.context, used: event.data.tokens_after };
      }
      break;
    case "session.paused":
      session.state = "paused";
      session.paused_by_stop = event.data.reason === "daemon_shutdown";
      break;
    case "session.resumed":
      session.state = "running";
      session.paused_by_stop = false;
      break;
    case "session.ended":
      session.state = "ended";
      session.turn = false;
      break;
  }
}

// ── the transcript ─────────────────────────────────────────────────────────────────────────────

function applyToTranscript(model: Model, event: SessionEvent): void {
  switch (event.type) {
    case "user.message":
      confirmMessage(model, event.data);
      break;
    case "session.delta":
      addText(model, event.data.text);
      break;
    case "cost.tick":
      if ((event.data.lane_id ?? MAIN_LANE) === MAIN_LANE) model.writing = undefined;
      break;
    case "session.tool_started":
      addCall(model, event.data);
      break;
    case "session.tool_completed":
      endCall(model, event.data);
      break;
    case "lane.note":
      if (event.data.reason_code === MODEL_RETRY) {
        removeEntry(model, model.writing);
        model.writing = undefined;
      }
      if (aboutAnswer(event.data.reason_code)) addEntry(model, "note", clean(event.data.text));
      break;
    case "plan.changed":
      setPlan(model, event.data.steps);
      break;
    case "rules.loaded":
      addEntry(model, "note", cleanLine(rulesLine(event.data)));
      break;
    case "turn.completed": {
      model.writing = undefined;
      const { stop_reason, error } = event.data;
      if (stop_reason === "ok") break;
      const text = clean(`turn ${stop_reason}${error ? `: ${error}` : ""}`);
      addEntry(model, stop_reason === "cancelled" ? "note" : "problem", text);
      break;
    }
    case "session.configured":
      addEntry(model, "note", cleanLine(configuredText(event.data)));
      break;
    case "session.compacted":
      addEntry(model, "note", clean(compactedText(event.data)));
      break;
    case "session.paused":
      addEntry(model, "note", `the session was paused (${event.data.reason})`);
      break;
    case "session.ended":
      addEntry(model, "note", `the session has ended (${event.data.reason})`);
      break;
    case "daemon.reloaded":
      addEntry(model, "note", `the daemon was restarted (${cleanLine(event.data.version)})`);
      break;
  }
}

/** Shows a plan while a step of it is open. */
export function setPlan(model: Model, steps: readonly PlanStep[]): void {
  model.plan = planIsOpen(steps) ? cleanLines(planText(steps)) : [];
}

function cleanLines(text: string): string[] {
  return text.split("\n").map((line) => cleanLine(line));
}

/** Adds text that the model writes. */
export function addText(model: Model, text: string): void {
  const open = model.writing === undefined
    ? undefined
    : model.entries.findLast(({ id }) => id === model.writing);
  if (open !== undefined) return growEntry(open, clean(text, open.lines.at(-1)));
  const begun = clean(text).replace(/^\n+/, "");
  if (begun !== "") model.writing = addEntry(model, "assistant", begun).id;
}

/** A message of the person, in the transcript and in the history. */
export function addMessage(model: Model, text: string, client_message_id?: string): Entry {
  if (text.length <= RECALLED_MAX) {
    model.history = [...model.history.filter((it) => it !== text), text].slice(-HISTORY_MAX);
  }
  return addEntry(model, "user", clean(text), { client_message_id });
}

function confirmMessage(model: Model, data: EventData["user.message"]): void {
  const { client_message_id, text } = data;
  model.outbox = model.outbox.filter((it) => it.client_message_id !== client_message_id);
  const waiting = client_message_id === undefined
    ? undefined
    : model.entries.find((entry) => entry.client_message_id === client_message_id);
  if (waiting === undefined) {
    addMessage(model, text);
    return;
  }
  waiting.client_message_id = undefined;
  waiting.epoch++;
}

function addCall(
  model: Model,
  { call_id, tool, args }: { call_id: string; tool: string; args: unknown },
): void {
  addEntry(model, "call", cleanLine(callLine(tool, args)), { call_id });
}

function endCall(
  model: Model,
  { call_id, ok, output }: { call_id: string; ok: boolean; output: string },
): void {
  const entry = model.entries.findLast((it) => it.call_id === call_id);
  if (entry === undefined || entry.ok !== undefined) return;
  entry.ok = ok;
  entry.epoch++;
  const text = limited(clean(output.trimEnd()), OUTPUT_MAX);
  if (text !== "") growEntry(entry, `\n${text}`);
}

/** The conversation so far, as session.transcript gives it. */
export function addConversation(model: Model, messages: readonly Message[]): void {
  for (const message of messages) {
    if (message.role === "user" && message.notice) {
      addEntry(model, "note", clean(message.text));
    } else if (message.role === "user") addMessage(model, message.text);
    else if (message.role === "tool") {
      for (const result of message.results) endCall(model, result);
    } else {
      if (message.text !== "") addEntry(model, "assistant", clean(message.text));
      for (const call of message.calls) addCall(model, call);
    }
  }
}
