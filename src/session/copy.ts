/** Starts a session with a copy of another one's conversation. */
import type { Attachment } from "../protocol/attachments.ts";
import type { CheckpointTranscript, ConversationState, EventData } from "../protocol/events.ts";
import type { Session } from "./session.ts";
import { stateToCheckpoint } from "./session_state.ts";
import { emptyState } from "./state.ts";

/** Another session's conversation up to a seq. */
export interface Copy {
  seq: number;
  /** Ledger hash of that record. */
  chain: string;
  transcript: CheckpointTranscript;
  known: ConversationState;
  attachments: readonly Attachment[];
  /** Reads an attachment; undefined when its file is missing. */
  read(attachment: Attachment): Uint8Array<ArrayBuffer> | undefined;
  forked: EventData["session.forked"];
}

type Beginning = Omit<EventData["session.created"], "untitled" | "skill_pack"> & {
  main: Omit<EventData["lane.created"], "call_id">;
};

/** Records the conversation as a checkpoint, as retention does. */
export async function beginWithCopy(
  session: Session,
  { seq, chain, transcript, known, attachments, read, forked }: Copy,
  { main, trust = "trusted", ...own }: Beginning,
): Promise<void> {
  // First: a record must not name a missing file.
  for (const attachment of attachments) {
    const data = read(attachment);
    if (data !== undefined) await (await session.attachments()).put({ ...attachment, data });
  }
  const { started_at } = main;
  const state = stateToCheckpoint({
    ...emptyState(session.id),
    ...known,
    ...own,
    trust,
    started_at,
    last_seq: seq,
    last_event_at: started_at,
    taken_seq: seq,
    lanes: [{ ...main, status: "pending", delta_seq: 0, pinned: false, cost_usd: 0 }],
  });
  await Promise.all([
    session.emit("session.checkpoint", { state, transcript, chain }),
    session.emit("session.forked", forked),
  ]);
}
