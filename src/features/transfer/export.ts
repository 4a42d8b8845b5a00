import { shownTitle } from "../../session/titles.ts";
import { createHash } from "node:crypto";
import { SvcError } from "../../protocol/errors.ts";
import type { Attachment } from "../../protocol/attachments.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import { chain } from "../../session/ledger.ts";
import { ledgerKey } from "../../session/ledger_key.ts";
import type { Session } from "../../session/session.ts";
import { applyToState, emptyState } from "../../session/state.ts";
import type { FileDiff } from "../../session/diff_rows.ts";
import { Transcript } from "../../session/transcript.ts";
import type { Step } from "../../session/transcript_items.ts";
import { ATTACHMENTS, FORMAT, type Header, RECORDS } from "./file.ts";
import { CallDiffs } from "./call_diffs.ts";
import { signedLine } from "./signature.ts";
import { type Format, HTML, MARKDOWN } from "./text.ts";

export interface Part {
  content: string;
  /** Missing after the last part. */
  next_cursor?: string;
}

/** In characters. */
const PART = 1_000_000;
/** An export takes less. */
const EXPORT_MAX_MS = 24 * 3_600_000;

/**
 * Returns a part of a session's file, for `session.export`.
 *
 * @param key_path the key that signs the JSON file
 * @throws {SvcError} validation for a bad cursor; journal_trimmed if records were removed meanwhile
 */
export async function exportPart(
  session: Session,
  format: "markdown" | "html" | "json",
  key_path: string,
  cursor?: string,
): Promise<Part> {
  const places = cursor?.split(".").map(Number) ?? [];
  if (!places.every((it) => Number.isSafeInteger(it) && it >= 0)) throw badCursor();
  if (format === "json") return await filePart(session, key_path, places);
  if (places.length > 1) throw badCursor();
  return await textPart(session, format === "html" ? HTML : MARKDOWN, places[0] ?? 0);
}

function badCursor(): SvcError {
  return new SvcError("validation", "session.export: invalid cursor");
}

async function textPart(session: Session, format: Format, from: number): Promise<Part> {
  const { id: session_id, state: { workdir, model, started_at } } = session;
  const title = shownTitle(session.state);
  const transcript = await session.transcript();
  const messages = transcript.messages();
  const steps = new Map(
    transcript.items.flatMap((it) => "step" in it ? [[it.step.calls, it.step] as const] : []),
  );
  await using calls = new CallDiffs(session.journal);
  const attachments = await session.attachments();
  const read = (attachment: Attachment) => attachments.read(attachment);
  let content = from === 0 ? format.begin({ title, session_id, workdir, model, started_at }) : "";
  let at = from;
  while (at < messages.length && content.length < PART) {
    const before = messages[at - 1];
    const step = before?.role === "assistant"
      ? steps.get(before.calls as Step["calls"])
      : undefined;
    const message = messages[at++];
    const diffs: FileDiff[][] = [];
    if (message.role === "tool" && step !== undefined) {
      for (const result of step.results) diffs.push(await calls.of(step, result));
    }
    content += format.message(message, read, diffs);
  }
  if (at < messages.length) return { content, next_cursor: String(at) };
  return { content: content + format.end() };
}

// ── the JSON file ──────────────────────────────────────────────────────────────────────────────

/** What a file is made of: the same again whenever it is read, unless the journal is shortened. */
interface Source {
  session: Session;
  last_seq: number;
  /** Up to where retention had shortened the journal. */
  trimmed_seq: number;
  exported_at: string;
}

interface Place {
  /** seq of the last record that is written. */
  seq: number;
  /** Number of attachments that are written. */
  attachments: number;
}

async function filePart(session: Session, key_path: string, places: number[]): Promise<Part> {
  const { published_seq, journal } = session;
  const begins = places.length === 0;
  if (begins) places = [published_seq, journal.trimmed_seq, Date.now(), 0, 0];
  const [last_seq, trimmed_seq, at_ms, seq, attachments] = places;
  const now = Date.now();
  const valid = places.length === 5 && last_seq >= 1 && last_seq <= published_seq &&
    at_ms <= now && at_ms > now - EXPORT_MAX_MS;
  if (!valid) throw badCursor();
  const exported_at = new Date(at_ms).toISOString();
  const source: Source = { session, last_seq, trimmed_seq, exported_at };
  const header = begins ? await headerOf(source) : undefined;
  const from = { seq, attachments };
  let content = header === undefined ? "" : headerLine(header);
  for await (const { text, next } of piecesOf(source, from)) {
    content += text;
    if (content.length < PART) continue;
    const place = [last_seq, trimmed_seq, at_ms, next.seq, next.attachments];
    return { content, next_cursor: place.join(".") };
  }
  content += await lastLine(source, header ?? await headerOf(source), key_path);
  return { content };
}

function headerLine(header: Header): string {
  // One line for each record: the importer checks them as they are in the journal.
  return `${JSON.stringify(header).slice(0, -1)}${RECORDS}\n`;
}

/** Yields the records and attachments after a place as they are in the file. */
async function* piecesOf(
  source: Source,
  from: Place,
): AsyncGenerator<{ text: string; next: Place }> {
  const { session, last_seq } = source;
  requireWhole(source);
  let { seq } = from;
  if (seq < last_seq) {
    for await (const { event, line } of session.journal.records(seq)) {
      if (event.seq > last_seq) break;
      seq = event.seq;
      const text = seq < last_seq ? `${line},\n` : `${line}\n${ATTACHMENTS}\n`;
      yield { text, next: { seq, attachments: 0 } };
    }
  }
  requireWhole(source);
  if (seq < last_seq) throw wasShortened();
  const named = [...await namedIn(session, last_seq)];
  const files = await session.attachments();
  for (let at = from.attachments; at < named.length; at++) {
    const attachment = named[at];
    const data = files.read(attachment)?.toBase64() ?? null;
    const comma = at < named.length - 1 ? "," : "";
    const text = `${JSON.stringify({ ...attachment, data })}${comma}\n`;
    yield { text, next: { seq, attachments: at + 1 } };
  }
}

/** The signature covers what is on the disk, not what a client says it was sent. */
async function lastLine(source: Source, header: Header, key_path: string): Promise<string> {
  const hash = createHash("sha256").update(headerLine(header));
  let attachments = 0;
  for await (const { text, next } of piecesOf(source, { seq: 0, attachments: 0 })) {
    hash.update(text);
    ({ attachments } = next);
  }
  requireWhole(source);
  const { session_id, exported_at, last_seq, head, count: records } = header;
  const sha256 = hash.digest("hex");
  const facts = { session_id, exported_at, last_seq, head, records, attachments, sha256 };
  return `${await signedLine(facts, await ledgerKey(key_path))}\n`;
}

/** @throws {SvcError} journal_trimmed */
function requireWhole({ session: { journal }, trimmed_seq }: Source): void {
  if (journal.trimmed_seq !== trimmed_seq) throw wasShortened();
}

function wasShortened(): SvcError {
  return new SvcError(
    "journal_trimmed",
    "the journal was shortened during the export; export it again",
  );
}

async function headerOf({ session, last_seq, exported_at }: Source): Promise<Header> {
  // Its title at the last record: a later one may be known already.
  const state = emptyState(session.id);
  let [records, head] = [0, ""];
  for await (const { event, hash } of chain(session.journal)) {
    if (event.seq > last_seq) break;
    applyToState(state, event);
    records++;
    head = hash;
  }
  const title = shownTitle(state);
  const { id: session_id } = session;
  return { format: FORMAT, session_id, title, exported_at, last_seq, count: records, head };
}

/** Returns the attachments of records up to a seq, without duplicates. */
async function namedIn(session: Session, last_seq: number): Promise<Iterable<Attachment>> {
  const { attachmentsIn } = await import("../../session/attachments.ts");
  const found = new Map<string, Attachment>();
  for await (const event of session.journal.read(0)) {
    if (event.seq > last_seq) break;
    for (const it of attachmentsOf(event, attachmentsIn)) found.set(it.hash, it);
  }
  return found.values();
}

// fold-ok: which files a record refers to
function attachmentsOf(
  { type, data }: SessionEvent,
  inTranscript: (transcript: Transcript) => Iterable<Attachment>,
): Iterable<Attachment> {
  if (type === "session.checkpoint") return inTranscript(Transcript.from(data.transcript));
  if (type !== "user.message" && type !== "user.queued" && type !== "session.tool_completed") {
    return [];
  }
  return data.attachments ?? [];
}
