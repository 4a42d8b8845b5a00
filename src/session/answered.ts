/** Tells who answered a question that is no longer pending. */
import { ALREADY_ANSWERED, SvcError } from "../protocol/errors.ts";
import type { EventData, SessionEvent } from "../protocol/events.ts";

interface Records {
  readonly trimmed_seq: number;
  read(since_seq: number): AsyncIterable<SessionEvent>;
}

/** Doors and clients in words, by their names in records. */
const DOORS: Record<string, string> = {
  socket: "on this machine",
  websocket: "in the web app or over WebSocket",
  http: "over HTTP",
  mcp: "over MCP",
  tui: "in a terminal",
};

/** Returns the error for a late answer, or undefined if the session has no record of it. */
export async function alreadyAnswered(
  approval_id: string,
  journal: Records,
): Promise<SvcError | undefined> {
  let found: { data: EventData["approval.resolved"]; at: string } | undefined;
  for await (const { type, data, at } of journal.read(journal.trimmed_seq)) {
    if (type === "approval.resolved" && data.approval_id === approval_id) found = { data, at };
  }
  if (found === undefined) return undefined;
  const { data: { decision, by, answer }, at } = found;
  const what = answer === undefined ? decision : "with an answer";
  const said = by === "svc"
    ? `question ${approval_id} was withdrawn at ${at}: nothing waits for it any more`
    : `question ${approval_id} was already answered: ${what}, ${DOORS[by] ?? by}, at ${at}`;
  const details = { reason: ALREADY_ANSWERED, approval_id, decision, by, at };
  return new SvcError("conflict", said, { details });
}
