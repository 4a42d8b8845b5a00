/** Loaded on first use. */
import type * as z from "zod";
import type { ledgerItemSchema } from "./schemas.ts";
import { SvcError } from "../../protocol/errors.ts";
import { sshFingerprint, sshKeyText } from "../../base/ssh_signature.ts";
import { ledger } from "../../session/ledger.ts";
import { signedStatement } from "../../session/ledger_file.ts";
import { ledgerKey } from "../../session/ledger_key.ts";
import type { Session } from "../../session/session.ts";

/** Returns the record with a hash. @throws {SvcError} not_found. */
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
  /** With an offset. */
  since?: string;
  limit: number;
  cursor?: string;
}

/** Returns a page of records. @throws {SvcError} validation for a wrong cursor. */
export async function pageOf(sessions: readonly Session[], { since, limit, cursor }: Page) {
  const from = since === undefined ? "" : new Date(since).toISOString();
  const start = parseCursor(cursor, sessions);
  const events: z.output<ReturnType<typeof ledgerItemSchema>>[] = [];
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

/** Of a page, which has at least one record. */
const CHARS_MAX = 2_000_000;

/**
 * Returns a page of a signed ledger; the first starts with the statement and its signature.
 * @throws {SvcError} validation for a wrong cursor; journal_trimmed when records were removed
 */
export async function exportPage(session: Session, key_path: string, cursor?: string) {
  const lines: string[] = [];
  let [seq, last_seq] = (/^(\d+):(\d+)$/.exec(cursor ?? "") ?? []).slice(1).map(Number);
  if (cursor === undefined) {
    const key = await ledgerKey(key_path);
    const signed = await signedStatement(session.id, session.journal, key);
    lines.push(...signed.lines);
    [seq, last_seq] = [0, signed.last_seq];
  } else if (!(seq < last_seq && last_seq <= session.published_seq)) throw badCursor(cursor);
  else if (seq < session.journal.trimmed_seq) {
    throw new SvcError(
      "journal_trimmed",
      `records of session ${session.id} were removed meanwhile`,
      {
        hint: "export the ledger again, from its first page",
      },
    );
  }
  let chars = 0;
  for await (const { event, line } of session.journal.records(seq)) {
    if (event.seq > last_seq) break;
    chars += line.length;
    if (chars > CHARS_MAX && chars > line.length) {
      return { lines, next_cursor: `${seq}:${last_seq}` };
    }
    lines.push(line);
    seq = event.seq;
  }
  return { lines };
}

/** Returns the key that signs ledgers. */
export async function publicKey(path: string) {
  const { public_key } = await ledgerKey(path);
  return { public_key: sshKeyText(public_key), fingerprint: await sshFingerprint(public_key) };
}

function badCursor(cursor: string): SvcError {
  return new SvcError("validation", `cursor ${JSON.stringify(cursor)} is not valid`, {
    hint: "pass next_cursor of an earlier page unchanged",
  });
}

/** A cursor is `<session_id>:<last seq>`. */
function parseCursor(cursor: string | undefined, sessions: readonly Session[]) {
  if (cursor === undefined) return { at: 0, seq: 0 };
  const [id, seq] = cursor.split(":");
  const at = sessions.findIndex((session) => session.id === id);
  if (at < 0 || !/^\d+$/.test(seq ?? "")) {
    throw badCursor(cursor);
  }
  return { at, seq: Number(seq) };
}
