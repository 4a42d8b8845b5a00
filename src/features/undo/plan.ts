/** What a rewind restores: a message's time, or what the last rewind changed. */
import { SvcError } from "../../protocol/errors.ts";
import type { EventData } from "../../protocol/events.ts";
import type { Session } from "../../session/session.ts";
import type { Rewound } from "../../session/session_state.ts";
import { knownAt, type Target, targetOf } from "../../session/undo_history.ts";
import type { Force } from "./choice.ts";
import type { Comparison, Now } from "./compare.ts";

type What = "files" | "conversation" | "both";

export interface RestoreOptions {
  force: Force;
  /** Whether to only say what would change. */
  dry_run: boolean;
  by: string;
}

export interface RewindOptions extends RestoreOptions {
  message_id?: string;
  turn_id?: string;
  what: What;
  /** Whether to undo the last rewind instead. */
  undo: boolean;
}

export interface Plan {
  target: Target;
  files: boolean;
  /** The state to restore; undefined for some files of states. */
  state?: string;
  /** The session's knowledge, if the conversation is rewound too. */
  known?: EventData["session.rewound"]["conversation"];
  undo_of?: Rewound;
  only?: EventData["session.rewound"]["only"];
}

export interface FilePlan extends Plan {
  /** Compares the files now with what is to be restored. */
  compare(now: Now): Promise<Comparison>;
}

/** @throws {SvcError} not_found, journal_trimmed, validation */
export async function rewindPlan(
  session: Session,
  { what, message_id, turn_id }: RewindOptions,
): Promise<Plan> {
  const files = what !== "conversation";
  const conversation = what !== "files";
  const target = await targetOf(session, { message_id, turn_id, conversation, files });
  if (target === undefined) throw nothing(session, what);
  const { undo } = session.state;
  const first = undo.turns.find(({ seq }) => seq > target.seq);
  const known = conversation ? await knownAt(session, target.seq) : undefined;
  // Without a later turn, the files have not changed.
  return { target, files, known, state: first?.before ?? undo.last };
}

/** @throws {SvcError} not_found, conflict, journal_trimmed */
export async function undoPlan(session: Session, { force }: RewindOptions): Promise<Plan> {
  const { undo, last_message_seq } = session.state;
  const last = undo.rewinds.findLast(({ undone }) => !undone);
  if (last === undefined) throw new SvcError("not_found", "there is no rewind to undo");
  if (last_message_seq > last.seq && (last.conversation || force === false)) {
    throw new SvcError("conflict", "a message was sent since the last rewind", {
      hint: last.conversation ? undefined : "force restores the files of that time",
    });
  }
  if (last.conversation && last.to_seq <= session.journal.trimmed_seq) {
    throw new SvcError("journal_trimmed", "what was taken back is no longer in the journal");
  }
  const { message_id, to_seq: seq, files, conversation } = last;
  return {
    target: { message_id, seq },
    files: files !== undefined,
    state: files?.from,
    known: conversation ? await knownAt(session, last.seq) : undefined,
    undo_of: last,
  };
}

/** Returns the error for a session without anything to undo. */
export function nothing({ id, state: { undo } }: Session, what: What): SvcError {
  if (undo.problem !== undefined) {
    return new SvcError("unavailable", `the files of session ${id} are not kept: ${undo.problem}`);
  }
  const changes = what === "conversation" ? "no message" : "no change of files";
  return new SvcError("not_found", `session ${id} has ${changes} to undo`);
}
