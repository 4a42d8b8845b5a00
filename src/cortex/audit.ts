/**
 * `cortex/curator-audit.jsonl`: one record for each automatic write of the memory (product.md,
 * daemon-level files), and for each change of an entry. Append-only; a record is on the disk when
 * {@linkcode AuditTrail.append} returns.
 */
import { dirname } from "@std/path";
import { checkPrivate, ensurePrivateDir, syncDir } from "../platform/files.ts";
import { readLines } from "../platform/lines.ts";
import { writeAllSync } from "../platform/write_all.ts";

export interface AuditRecord {
  ts: string;
  entry_id: string;
  category: string;
  /** SHA-256 of the entry's content, in hex. */
  content_sha: string;
  /** The person's message that it came from, or {@linkcode EDITED}. */
  source_msg_id: string;
}

/** The source of what a client made of an entry that was there. */
export const EDITED = "edited";

/** Some records, and where those before them are. */
export interface AuditPage {
  records: AuditRecord[];
  next_cursor?: string;
}

/** More than any record takes. */
const TAIL_BYTES = 4096;
const NEWLINE = 0x0a;

export class AuditTrail {
  readonly #path: string;

  /** @param path of the file; it and its directory are made at the first record. */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Adds a record: all of it, or, when it throws, nothing.
   *
   * @throws {SvcError} permission_denied when the file or its directory is not ours alone; what the
   * system says when it cannot be written.
   */
  append(record: AuditRecord): void {
    ensurePrivateDir(dirname(this.#path));
    const there = checkPrivate(this.#path, 0o600, "file");
    const file = Deno.openSync(this.#path, { read: true, write: true, create: true, mode: 0o600 });
    try {
      const size = wholeSize(file);
      // A record that a crash cut off was never acted upon.
      file.truncateSync(size);
      file.seekSync(size, Deno.SeekMode.Start);
      const bytes = new TextEncoder().encode(`${JSON.stringify(record)}\n`);
      try {
        writeAllSync(file, bytes);
        file.syncSync();
      } catch (error) {
        file.truncateSync(size);
        throw error;
      }
    } finally {
      file.close();
    }
    if (!there) syncDir(dirname(this.#path));
  }

  /** The records, oldest first. */
  async *records(): AsyncGenerator<AuditRecord> {
    if (!checkPrivate(this.#path, 0o600, "file")) return;
    const { size } = Deno.statSync(this.#path);
    for await (const { line, whole } of readLines(this.#path, 0, size)) {
      if (whole) yield JSON.parse(line);
    }
  }

  /**
   * The last records, oldest first.
   *
   * @param options.cursor the `next_cursor` of a page: those before that page.
   */
  async page({ limit, cursor }: { limit: number; cursor?: string }): Promise<AuditPage> {
    const end = cursor === undefined ? Infinity : Number(cursor);
    const records: AuditRecord[] = [];
    let read = 0;
    for await (const record of this.records()) {
      if (read === end) break;
      read++;
      records.push(record);
      if (records.length > limit) records.shift();
    }
    const first = read - records.length;
    return { records, ...(first > 0 ? { next_cursor: String(first) } : {}) };
  }
}

/** Bytes of a file up to its last newline. */
function wholeSize(file: Deno.FsFile): number {
  const { size } = file.statSync();
  const tail = new Uint8Array(Math.min(size, TAIL_BYTES));
  file.seekSync(size - tail.length, Deno.SeekMode.Start);
  for (let read = 0; read < tail.length;) {
    const count = file.readSync(tail.subarray(read));
    if (count === null) break;
    read += count;
  }
  return size - tail.length + tail.lastIndexOf(NEWLINE) + 1;
}
