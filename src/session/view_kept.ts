/** Items of kept conversations, from a checkpoint or `session.transcript`. */
import type { Message } from "../models/model.ts";
import type { Attachment } from "../protocol/attachments.ts";
import type { CheckpointState, CheckpointTranscript } from "../protocol/events.ts";
import { EARLIER_GONE } from "../protocol/note_text.ts";
import type { Later, SessionState } from "./session_state.ts";
import type { NoteItem, TextItem, ToolItem, UserItem } from "./view_items.ts";

/** A step of the model, with the results so far. */
interface KeptStep {
  text: string;
  calls: { call_id: string; tool: string; args: unknown }[];
  results: { call_id: string; ok: boolean; output: string; attachments?: readonly Attachment[] }[];
  first_seq?: number;
}

type KeptItem =
  | { user: string; attachments?: Attachment[]; seq?: number }
  | { notice: string; seq?: number }
  | { told: string }
  | { summary: string; seq?: number }
  | { step: KeptStep };

/** The conversation in a checkpoint (`transcript.ts`). */
interface Kept {
  items: KeptItem[];
  waiting: KeptItem[];
  /** Whether earlier items were left out. */
  shortened?: boolean;
}

/** The result of session.transcript. */
export interface SoFar {
  messages: readonly Message[];
  /** Text of the answer being written. */
  writing: string;
}

/** An item without key and revision. */
export type Unkeyed =
  & { seq: number }
  & (
    | Pick<UserItem, "kind" | "text" | "attachments">
    | Pick<TextItem, "kind" | "text">
    | Pick<
      ToolItem,
      "kind" | "call_id" | "tool" | "args" | "outcome"
    >
    | Pick<NoteItem, "kind" | "topic" | "tone" | "text">
  );

/** Items of a checkpoint. */
export function* itemsOfCheckpoint(transcript: CheckpointTranscript): Generator<Unkeyed> {
  const { items, waiting, shortened } = transcript as unknown as Kept;
  if (shortened) yield note("plain", EARLIER_GONE);
  for (const item of [...items, ...waiting]) {
    if ("user" in item) {
      yield { kind: "user", text: item.user, attachments: item.attachments, seq: item.seq ?? 0 };
    } else if ("summary" in item) {
      yield note("plain", `summary of earlier messages: ${item.summary}`, item.seq);
    } else if ("notice" in item) yield note("warning", item.notice, item.seq, "answer");
    else if ("step" in item) yield* itemsOfStep(item.step);
  }
}

/** Messages that waited for turns of their own when a checkpoint was written. */
export function laterOfCheckpoint(state: CheckpointState): Later[] {
  return (state as Partial<Pick<SessionState, "later">>).later ?? [];
}

/** Items of session.transcript. */
export function* itemsOfTranscript({ messages, writing }: SoFar): Generator<Unkeyed> {
  for (const [n, message] of messages.entries()) {
    if (message.role === "user") {
      const { text, attachments } = message;
      if (message.notice) yield note("plain", text, 0, "summary");
      else yield { kind: "user", text, attachments, seq: 0 };
    } else if (message.role === "assistant") {
      const next = messages[n + 1];
      yield* itemsOfStep({ ...message, results: next?.role === "tool" ? next.results : [] });
    }
  }
  if (writing !== "") yield { kind: "text", text: writing, seq: 0 };
}

function* itemsOfStep({ text, calls, results, first_seq: seq = 0 }: KeptStep): Generator<Unkeyed> {
  if (text !== "") yield { kind: "text", text, seq };
  for (const { call_id, tool, args } of calls) {
    const result = results.find((it) => it.call_id === call_id);
    const outcome = result && { ...result, truncated: false };
    yield { kind: "tool", call_id, tool, args, outcome, seq };
  }
}

function note(tone: NoteItem["tone"], text: string, seq = 0, topic?: NoteItem["topic"]): Unkeyed {
  return { kind: "note", topic, tone, text, seq };
}
