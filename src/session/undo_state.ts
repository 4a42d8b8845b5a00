/** Undo history of a session. */
import type { EventData, SessionEvent } from "../protocol/events.ts";
import type { SessionState, UndoState } from "./session_state.ts";

/** Turns and rewinds to keep. */
const KEPT = 500;

export function emptyUndo(): UndoState {
  return { turns: [], rewinds: [], taken_back: [], changed_seq: 0 };
}

/** Whether an event was undone and is not part of the conversation. */
export function isTakenBack({ taken_back }: UndoState, seq: number): boolean {
  return taken_back.some(({ from_seq, to_seq }) => seq >= from_seq && seq <= to_seq);
}

/** Records the files at the start or end of a turn. */
export function applyFilesKept(
  state: SessionState,
  at: string,
  { turn_id, moment, state: files, problem }: EventData["files.kept"],
): void {
  const { undo, turn } = state;
  undo.problem = problem;
  if (files === undefined) return;
  undo.last = files;
  if (moment === "after") {
    const known = undo.turns.findLast((it) => it.turn_id === turn_id);
    if (known !== undefined) known.after = files;
    return;
  }
  const { started_seq: seq = state.last_seq, message_id = state.last_message_id } = turn ?? {};
  undo.turns.push({ turn_id, seq, message_id, at, before: files });
  if (undo.turns.length > KEPT) undo.turns.shift();
}

/** Rewinds the conversation or files to a message, or undoes a rewind. */
export function applyRewound(
  state: SessionState,
  { seq, data }: Extract<SessionEvent, { type: "session.rewound" }>,
): void {
  const { undo } = state;
  const { rewind_id, message_id, to_seq, files, conversation, undo_of } = data;
  if (state.later.length > 0) state.later_held = true;
  if (files !== undefined) undo.last = files.to;
  if (conversation !== undefined) {
    Object.assign(state, conversation);
    state.context = conversation.context;
    state.taken_seq = Math.max(state.taken_seq, state.last_message_seq);
    state.queued = [];
    undo.changed_seq = seq;
    // It is not part of the new conversation.
    state.cut = undefined;
  }
  if (undo_of !== undefined) {
    const undone = undo.rewinds.find((it) => it.rewind_id === undo_of);
    if (undone !== undefined) undone.undone = true;
    undo.taken_back = undo.taken_back.filter((it) => it.rewind_id !== undo_of);
    for (const turn of undo.turns) if (turn.undone_by === undo_of) delete turn.undone_by;
    return;
  }
  const about = conversation !== undefined;
  undo.rewinds.push({ rewind_id, seq, to_seq, message_id, files, conversation: about });
  if (undo.rewinds.length > KEPT) undo.rewinds.shift();
  if (about) undo.taken_back.push({ rewind_id, from_seq: to_seq, to_seq: seq });
  if (files === undefined) return;
  for (const turn of undo.turns) if (turn.seq > to_seq) turn.undone_by ??= rewind_id;
}
