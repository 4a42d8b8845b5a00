/** Finds and lists journal records for the verbs about the ledger. Loaded on first use. */
import { SvcError } from "../../protocol/errors.ts";
import { ledger } from "../../session/ledger.ts";
import type { Session } from "../../session/session.ts";

/** Returns the record with a hash. @throws {SvcError} not_found when no journal has it */
export async function nodeOf(sessions: readonly Session[], hash: string) {
  for (const session of sessions) {
    for await (const node of ledger(session.journal)) {
      if (node.hash !== hash) continue;
      const { seq, at, type, data } = node.event;
      return {
        hash,
        type,
        payload: { session_id: session.id, seq, at, data },
        edges: node.edges,
      };
    }
  }
  throw new SvcError("not_found", `no journal has a record with the hash ${hash}`);
}

interface Page {
  /** Time with an offset. */
  since?: string;
  limit: number;
  cursor?: string;
}

/** Returns a page of the records of journals. @throws {SvcError} validation for a wrong cursor */
export async function pageOf(sessions: readonly Session[], { since, limit, cursor }: Page) {
  const from = since === undefined ? "" : new Date(since).toISOString();
  const start = parseCursor(cursor, sessions);
  const events: { hash: string; type: string; at: string }[] = [];
  for (const session of sessions.slice(start.at)) {
    const after_seq = session === sessions[start.at] ? start.seq : 0;
    for await (const { hash, event } of ledger(session.journal)) {
      if (event.seq <= after_seq || event.at < from) continue;
      if (events.length === limit) {
        return { events, next_cursor: `${session.id}:${event.seq - 1}` };
      }
      events.push({ hash, type: event.type, at: event.at });
    }
  }
  return { events };
}

/** Position where a listing continues: a cursor is `<session_id>:<last seq>`. */
function parseCursor(cursor: string | undefined, sessions: readonly Session[]) {
  if (cursor === undefined) return { at: 0, seq: 0 };
  const [id, seq] = cursor.split(":");
  const at = sessions.findIndex((session) => session.id === id);
  if (at < 0 || !/^\d+$/.test(seq ?? "")) {
    throw new SvcError("validation", `cursor ${JSON.stringify(cursor)} is not valid`, {
      hint: "pass next_cursor of an earlier page unchanged",
    });
  }
  return { at, seq: Number(seq) };
}
