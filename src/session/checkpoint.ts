/** Journal retention (contract.md section 6): rewrites old finished turns into a checkpoint. */
import type { SessionEvent } from "../protocol/events.ts";
import type { Journal } from "./journal.ts";
import { chain } from "./ledger.ts";
import { isPast, type Retention } from "./retention.ts";
import { type SessionState, stateToCheckpoint } from "./session_state.ts";
import { applyToState, emptyState } from "./state.ts";
import { Transcript } from "./transcript.ts";
import { isTakenBack } from "./undo_state.ts";

/** A checkpoint, and the byte offset behind the last record that it replaces. */
interface CheckpointPlan {
  event: SessionEvent;
  end: number;
}

/**
 * Makes the checkpoint that brings a journal back within its limits.
 *
 * @param now the session's state; undone parts of the conversation are left out
 * @returns undefined within the limits, or when one unfinished turn holds the excess
 */
export async function planCheckpoint(
  now: Pick<SessionState, "id" | "undo">,
  journal: Journal,
  limits: Retention,
): Promise<CheckpointPlan | undefined> {
  if (!isPast(journal, limits)) return undefined;
  const cut = await findCut(journal, limits);
  if (cut === undefined) return undefined;
  const state = emptyState(now.id);
  const transcript = new Transcript();
  let head = "";
  for await (const { event, hash } of chain(journal)) {
    if (event.seq > cut.seq) break;
    applyToState(state, event);
    if (!isTakenBack(now.undo, event.seq)) transcript.apply(event);
    head = hash;
  }
  const data = {
    state: stateToCheckpoint(state),
    transcript: transcript.toCheckpoint(),
    chain: head,
  };
  return {
    event: { seq: cut.seq, at: cut.at, type: "session.checkpoint", data },
    end: cut.end,
  };
}

/** The last event to rewrite, with no turn open behind it. */
async function findCut(
  journal: Journal,
  { age_ms, bytes }: Retention,
): Promise<{ seq: number; at: string; end: number } | undefined> {
  const { size, trimmed_seq } = journal;
  const too_old = new Date(Date.now() - age_ms).toISOString();
  const keep_from = size > bytes ? size - bytes / 2 : 0;
  let cut: { seq: number; at: string; end: number } | undefined;
  let turn_open = false;
  let enough = keep_from === 0;
  // Everything after a recent event is recent, even if the clock was set back.
  let recent = false;
  for await (const { event: { type, seq, at }, end } of journal.records(trimmed_seq)) {
    if (type === "turn.started" || type === "turn.continued") turn_open = true;
    if (type === "turn.completed") turn_open = false;
    recent ||= at >= too_old;
    if (turn_open) continue;
    if (!enough || !recent) cut = { seq, at, end };
    enough ||= end >= keep_from;
  }
  return cut;
}
