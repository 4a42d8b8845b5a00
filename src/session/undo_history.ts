/** Finds messages in a session's journal, and its state at their time. */
import { SvcError } from "../protocol/errors.ts";
import type { ConversationState } from "../protocol/events.ts";
import type { Session } from "./session.ts";
import { applyToState, emptyState } from "./state.ts";
import { isTakenBack } from "./undo_state.ts";

/** The message to rewind to. */
export interface Target {
  message_id: string;
  seq: number;
}

interface Wanted {
  message_id?: string;
  turn_id?: string;
  conversation: boolean;
  files: boolean;
}

interface Message extends Target {
  text: string;
  /** Whether it was sent during a turn. */
  steers: boolean;
  /** Turns that started after it. */
  turns: string[];
}

/** Characters of a message's text. */
const TEXT_MAX = 200;

/** Messages in the journal that were not undone, oldest first. */
async function messagesOf(session: Session): Promise<Message[]> {
  let messages: Message[] = [];
  const { undo } = session.state;
  let open = false;
  for await (const event of session.journal.read(session.journal.trimmed_seq)) {
    if (event.seq > session.published_seq) break;
    if (isTakenBack(undo, event.seq)) continue;
    if (event.type === "turn.started") {
      open = true;
      messages.findLast(({ steers }) => !steers)?.turns.push(event.data.turn_id);
    } else if (event.type === "turn.completed") open = false;
    else if (event.type === "user.message") {
      const { message_id, text } = event.data;
      const shown = text.slice(0, TEXT_MAX);
      messages.push({ message_id, seq: event.seq, text: shown, steers: open, turns: [] });
    } else if (event.type === "user.withdrawn") {
      const gone = new Set(event.data.messages.map(({ seq }) => seq));
      messages = messages.filter(({ seq }) => !gone.has(seq));
    }
  }
  return messages;
}

/**
 * Finds the target message: the named one, the one of a turn, or the last; for files, the last one
 * with changes that are not undone.
 *
 * @returns undefined when nothing was named and there is none
 * @throws {SvcError} not_found; journal_trimmed; validation for a message sent during a turn
 */
export async function targetOf(session: Session, wanted: Wanted): Promise<Target | undefined> {
  const { undo } = session.state;
  const { turn_id, conversation } = wanted;
  let { message_id } = wanted;
  if (turn_id !== undefined) {
    message_id ??= undo.turns.find((it) => it.turn_id === turn_id)?.message_id;
  }
  const named = message_id !== undefined || turn_id !== undefined;
  if (!named && !conversation) {
    const last = undo.turns.findLast(({ undone_by, before, after }) =>
      undone_by === undefined && before !== after
    );
    if (last === undefined) return undefined;
    message_id = last.message_id;
  }
  const messages = await messagesOf(session);
  const found = message_id === undefined
    ? turn_id === undefined
      ? messages.findLast(({ steers }) => !steers)
      : messages.find(({ turns }) => turns.includes(turn_id))
    : messages.find((it) => it.message_id === message_id);
  if (found !== undefined) {
    // The files are known if it started a turn after all.
    const started = undo.turns.some((it) => it.message_id === found.message_id);
    if (!found.steers || started && !conversation) return found;
    const start = messages.findLast((it) => !it.steers && it.seq < found.seq);
    throw new SvcError("validation", `message ${found.message_id} came while a turn ran`, {
      hint: start && `rewind to ${start.message_id}, which started the turn`,
    });
  }
  const kept = undo.turns.find((it) => it.message_id === message_id);
  // Files can be restored even if the journal no longer has the message.
  if (kept !== undefined && !conversation) {
    return { message_id: kept.message_id, seq: kept.seq - 1 };
  }
  if (!named) return undefined;
  const what = message_id === undefined ? `turn ${turn_id}` : `message ${message_id}`;
  throw new SvcError("not_found", `session ${session.id} has no ${what} to go back to`, {
    hint: "it may have been taken back, or be older than the journal",
  });
}

/** The session's state before an event. */
export async function knownAt(session: Session, seq: number): Promise<ConversationState> {
  const state = emptyState(session.id);
  for await (const event of session.journal.read(0)) {
    if (event.seq >= seq) break;
    applyToState(state, event);
  }
  const { messages_count, facts, plan, rules, context } = state;
  return { messages_count, facts, plan, rules, context };
}
