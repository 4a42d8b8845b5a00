/** Loaded on first use. */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import type { Session } from "../../session/session.ts";
import { textForms } from "../../session/subscription.ts";
import { beforeLast } from "./conversation.ts";
import type { historySchema, journalSchema } from "./schemas.ts";

/** Of event data per answer, which has at least one event. */
const CHARS_MAX = 4_000_000;
/** MCP clients get the records as one text. */
const LINES_CHARS_MAX = 1024 * 1024;

/** Handles `session.history`. @throws {SvcError} journal_trimmed. */
export async function historyPage(
  session: Session,
  { limit, deltas, from_last, since_seq: given }: z.output<ReturnType<typeof historySchema>>,
) {
  const since_seq = from_last === undefined ? given : await beforeLast(session, from_last);
  requireKept(session, since_seq);
  const wanted = textForms(deltas);
  const events: SessionEvent[] = [];
  const { published_seq } = session;
  let last_seq = since_seq;
  let chars = 0;
  for await (const { event, line } of session.journal.records(since_seq)) {
    if (event.seq > published_seq || events.length >= limit) break;
    if (wanted(event)) {
      chars += line.length;
      if (chars > CHARS_MAX && events.length > 0) break;
      events.push(event);
    }
    last_seq = event.seq;
  }
  return { events, last_seq, more: last_seq < published_seq };
}

/** Handles `session.journal`. */
export async function journalPage(
  session: Session,
  { since_seq, limit }: z.output<ReturnType<typeof journalSchema>>,
  signal: AbortSignal,
) {
  const { published_seq } = session;
  const lines: string[] = [];
  let last_seq = since_seq ?? Math.max(published_seq - limit, 0);
  let chars = 0;
  for await (const { event, line } of session.journal.records(last_seq)) {
    signal.throwIfAborted();
    // An unpublished event may still be rolled back.
    if (event.seq > published_seq || lines.length === limit) break;
    chars += line.length;
    if (lines.length > 0 && chars > LINES_CHARS_MAX) break;
    lines.push(line);
    last_seq = event.seq;
  }
  return { lines, last_seq, more: last_seq < published_seq };
}

/** @throws {SvcError} journal_trimmed for a position that a checkpoint replaced */
function requireKept({ journal: { trimmed_seq }, id }: Session, since_seq: number): void {
  if (since_seq === 0 || since_seq >= trimmed_seq) return;
  throw new SvcError(
    "journal_trimmed",
    `events up to ${trimmed_seq} of session ${id} are in a checkpoint`,
    { hint: "start with since_seq 0", details: { oldest_seq: trimmed_seq + 1 } },
  );
}
