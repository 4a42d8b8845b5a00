/** Reads and checks the file of a session. */
import { createHash } from "node:crypto";
import { readLines } from "../../os/lines.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import { type Anchor, BEGINNING, hasher } from "../../session/ledger.ts";
import { decodeRecord } from "../../session/record.ts";
import type { SessionState } from "../../session/session_state.ts";
import { applyToState, emptyState } from "../../session/state.ts";
import {
  ATTACHMENTS,
  FORMAT,
  type Header,
  headerSchema,
  RECORDS,
  SIGNED,
  UNSIGNED_END,
} from "./file.ts";
import { SESSION_FILE_MAX } from "./file_max.ts";
import { signerOf } from "./signature.ts";

/** A line, without the comma at its end. */
interface FileLine {
  part: "header" | "records" | "attachments";
  line: string;
}

/** What comes after the parts. */
interface Ending {
  /** The last line. */
  line: string;
  /** SHA-256 of all bytes before it, hexadecimal. */
  sha256: string;
}

/** @returns an error about the file */
export function refuse(path: string, problem: string, cause?: unknown): SvcError {
  return new SvcError("validation", `${path}: ${problem}`, {
    hint: "use a file that `svc ctl sessions export --format json` wrote",
    cause,
  });
}

/**
 * Yields the lines of a file's parts.
 *
 * @param onEnd called once the file is read
 * @throws {SvcError} validation for an incomplete file, or bytes that svc does not write
 */
export async function* linesOf(
  path: string,
  onEnd: (ending: Ending) => void,
): AsyncGenerator<FileLine> {
  const hash = createHash("sha256");
  const encoder = new TextEncoder();
  let part: FileLine["part"] = "header";
  let ending: string | undefined;
  for await (const { line, offset, end, whole } of readLines(path, 0, SESSION_FILE_MAX)) {
    if (ending !== undefined) throw refuse(path, "something follows its end");
    const bytes = encoder.encode(whole ? `${line}\n` : line);
    // What is hashed is what is read: a byte order mark, say, is not part of a line.
    if (bytes.length !== end - offset) throw refuse(path, "it is not the UTF-8 that svc writes");
    if (part === "attachments" && (line === UNSIGNED_END || line.startsWith(SIGNED))) {
      ending = line;
      continue;
    }
    hash.update(bytes);
    if (part === "records" && line === ATTACHMENTS) part = "attachments";
    else {
      yield { part, line: part !== "header" && line.endsWith(",") ? line.slice(0, -1) : line };
      if (part === "header") part = "records";
    }
  }
  if (ending === undefined) throw refuse(path, "the file is incomplete");
  onEnd({ line: ending, sha256: hash.digest("hex") });
}

/** A file whose chain and signature are right. */
export interface Checked {
  header: Header;
  /** What the records amount to. */
  state: SessionState;
  sha256: string;
  /** The public key that signed it, 32 bytes. */
  key?: Uint8Array<ArrayBuffer>;
}

/** Checks the hash chain and the signature. @throws {SvcError} validation */
export async function checked(path: string): Promise<Checked> {
  await checkSize(path);
  const hashOf = await hasher();
  const state = emptyState("");
  let header: Header | undefined;
  let ending: Ending | undefined;
  let head: Anchor = BEGINNING;
  let [records, attachments] = [0, 0];
  for await (const { part, line } of linesOf(path, (it) => ending = it)) {
    if (part === "header") header = headerOf(path, line);
    else if (part === "attachments") attachments++;
    else {
      const event = recordOf(path, line, ++records);
      const begins = records === 1 && event.type === "session.checkpoint";
      if (!begins && event.seq !== head.seq + 1) {
        throw refuse(path, `record ${records} does not follow the one before it`);
      }
      try {
        head = hashOf(head, event, line);
        applyToState(state, event);
      } catch (error) {
        throw refuse(path, `record ${records} cannot be read`, error);
      }
    }
  }
  if (header === undefined || ending === undefined) throw refuse(path, "the file is incomplete");
  if (head.hash !== header.head || head.seq !== header.last_seq || records !== header.count) {
    throw refuse(path, "the records were changed: their hash chain does not end as the file says");
  }
  const { sha256, line } = ending;
  if (header.format !== FORMAT) {
    if (line === UNSIGNED_END) return { header, state, sha256 };
    throw refuse(path, "its first line says that it has no signature, and it has one");
  }
  const { session_id, exported_at, last_seq } = header;
  const facts = {
    ...{ session_id, exported_at, last_seq, head: head.hash, records, attachments, sha256 },
  };
  const key = line === UNSIGNED_END ? "its signature is missing" : await signerOf(line, facts);
  if (typeof key === "string") throw refuse(path, key);
  return { header, state, sha256, key };
}

async function checkSize(path: string): Promise<void> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.lstat(path);
  } catch (error) {
    throw refuse(path, `cannot be read: ${messageOf(error)}`, error);
  }
  if (!info.isFile) throw refuse(path, "is not a regular file");
  if (info.size > SESSION_FILE_MAX) throw refuse(path, "is larger than 512 MiB");
}

function headerOf(path: string, line: string): Header {
  try {
    if (!line.endsWith(RECORDS)) throw new Error("no records");
    return headerSchema().parse(JSON.parse(`${line.slice(0, -RECORDS.length)}}`));
  } catch (error) {
    throw refuse(
      path,
      `is not an exported session: its first line has no "format":"${FORMAT}"`,
      error,
    );
  }
}

function recordOf(path: string, line: string, n: number): SessionEvent {
  try {
    return decodeRecord(line);
  } catch (error) {
    throw refuse(path, `record ${n} ${messageOf(error)}`, error);
  }
}
