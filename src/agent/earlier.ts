/** Reads messages and outputs that a compaction removed from a conversation. */
import type { Attachment } from "../protocol/attachments.ts";
import type { SessionEvent } from "../protocol/events.ts";
import type { Journal } from "../session/journal.ts";
import { Transcript } from "../session/transcript.ts";
import type { ToolOutcome } from "./tool.ts";

/** Characters of a piece: the default and the maximum. */
const PIECE = 8 * 1024;
const PIECE_MAX = 32 * 1024;

/** Returns a piece of the output or message in record `seq`. */
export async function readEarlier(
  journal: Journal,
  seq: number,
  { offset = 0, limit = PIECE }: { offset?: number; limit?: number },
): Promise<ToolOutcome> {
  const found = await find(journal, seq);
  if ("problem" in found) return { ok: false, output: found.problem };
  const { text, attachments = [] } = found;
  const end = Math.min(offset + Math.min(limit, PIECE_MAX), text.length);
  const piece = text.slice(offset, end);
  if (end >= text.length) return { ok: true, output: piece, attachments };
  const note = `[characters ${offset} to ${end} of ${text.length}; continue with offset ${end}]`;
  return { ok: true, output: `${piece}\n${note}`, truncated: true };
}

interface Found {
  text: string;
  attachments?: readonly Attachment[];
}

async function find(journal: Journal, seq: number): Promise<Found | { problem: string }> {
  for await (const event of journal.read(Math.max(seq - 1, 0))) {
    const found = event.type === "session.checkpoint"
      ? inCheckpoint(event, seq)
      : inEvent(event, seq);
    if (found !== undefined) return found;
    if (event.seq < journal.trimmed_seq) continue;
    break;
  }
  const kept = seq > journal.trimmed_seq;
  return {
    problem: kept
      ? `record ${seq} of this session has neither an output nor a message`
      : `record ${seq} of this session is no longer kept`,
  };
}

// fold-ok: reads single records of the journal for a model
function inEvent(event: SessionEvent, seq: number): Found | undefined {
  if (event.seq !== seq) return undefined;
  if (event.type === "subagent.started") return { text: event.data.task };
  if (event.type === "subagent.completed") return { text: event.data.message };
  if (event.type === "session.tool_completed" || event.type === "subagent.tool_completed") {
    return { text: event.data.output, attachments: event.data.attachments };
  }
  if (event.type === "rules.loaded" || event.type === "context.told") return event.data;
  return event.type === "user.message" ? event.data : undefined;
}

/** Looks in the checkpoint, which lacks what was removed before. */
function inCheckpoint(
  { data }: Extract<SessionEvent, { type: "session.checkpoint" }>,
  seq: number,
): Found | undefined {
  for (const item of Transcript.from(data.transcript).items) {
    if ("user" in item && item.seq === seq) {
      return { text: item.user, attachments: item.attachments };
    }
    if ("told" in item && item.seq === seq) return { text: item.told };
    const result = "step" in item && item.step.results.find((it) => it.seq === seq);
    if (result) return { text: result.output, attachments: result.attachments };
  }
}
