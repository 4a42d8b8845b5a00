import { SvcError } from "../../protocol/errors.ts";
import type { Attachment } from "../../protocol/attachments.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import { chain } from "../../session/ledger.ts";
import type { Session } from "../../session/session.ts";
import { Transcript } from "../../session/transcript.ts";
import { FORMAT, type Header } from "./file.ts";
import { type Format, HTML, MARKDOWN } from "./text.ts";

export interface Part {
  content: string;
  /** Missing after the last part. */
  next_cursor?: string;
}

/** In characters. */
const PART = 1_000_000;

/**
 * Returns a part of a session's file, for `session.export`. @throws {SvcError} validation for a bad
 * cursor.
 */
export async function exportPart(
  session: Session,
  format: "markdown" | "html" | "json",
  cursor?: string,
): Promise<Part> {
  const places = (cursor ?? "0").split(".").map(Number);
  if (places.length > 3 || !places.every((it) => Number.isSafeInteger(it) && it >= 0)) {
    throw new SvcError("validation", "session.export: invalid cursor");
  }
  if (format === "json") return await recordsPart(session, cursor === undefined ? [] : places);
  return await textPart(session, format === "html" ? HTML : MARKDOWN, places[0]);
}

async function textPart(session: Session, format: Format, from: number): Promise<Part> {
  const { id: session_id, state: { title, workdir, model, started_at } } = session;
  const messages = (await session.transcript()).messages();
  const attachments = await session.attachments();
  const read = (attachment: Attachment) => attachments.read(attachment);
  let content = from === 0 ? format.begin({ title, session_id, workdir, model, started_at }) : "";
  let at = from;
  while (at < messages.length && content.length < PART) {
    content += format.message(messages[at++], read);
  }
  if (at < messages.length) return { content, next_cursor: String(at) };
  return { content: content + format.end() };
}

/**
 * @param places the file's last seq, the seq before the part, and the number of written attachments
 */
async function recordsPart(
  session: Session,
  [last_seq, since_seq = 0, written = 0]: number[],
): Promise<Part> {
  let content = "";
  if (last_seq === undefined) {
    const header = await headerOf(session);
    last_seq = header.last_seq;
    // One line for each record: the importer checks them as they are in the journal.
    content = `${JSON.stringify(header).slice(0, -1)},"records":[\n`;
  }
  let at = since_seq;
  if (at < last_seq) {
    for await (const { event, line } of session.journal.records(at)) {
      if (event.seq > last_seq || content.length >= PART) break;
      at = event.seq;
      content += at < last_seq ? `${line},\n` : `${line}\n],"attachments":[\n`;
    }
    if (at === since_seq) {
      throw new SvcError(
        "journal_trimmed",
        "the journal was shortened during the export; export it again",
      );
    }
    return { content, next_cursor: `${last_seq}.${at}.0` };
  }
  const named = [...await namedIn(session, last_seq)];
  const attachments = await session.attachments();
  const attachment = named[written];
  if (attachment === undefined) return { content: "]}\n" };
  const data = attachments.read(attachment);
  const comma = written < named.length - 1 ? "," : "";
  const line = JSON.stringify({ ...attachment, data: data?.toBase64() ?? null });
  return { content: `${line}${comma}\n`, next_cursor: `${last_seq}.${at}.${written + 1}` };
}

async function headerOf(session: Session): Promise<Header> {
  const { published_seq } = session;
  let [records, head] = [0, ""];
  for await (const { event, hash } of chain(session.journal)) {
    if (event.seq > published_seq) break;
    records++;
    head = hash;
  }
  return {
    format: FORMAT,
    session_id: session.id,
    title: session.state.title,
    exported_at: new Date().toISOString(),
    last_seq: published_seq,
    count: records,
    head,
  };
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
