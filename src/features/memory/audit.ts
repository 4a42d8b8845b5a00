/**
 * `cortex/curator-audit.jsonl`: an append-only record of each automatic write (product.md,
 * daemon-level files) and each change of an entry. Invalid lines, cut off by a crash or damaged by
 * the disk, are moved to a file beside it.
 */
import type * as z from "zod";
import { dirname } from "@std/path";
import { checkPrivate, ensurePrivateDir, openOwnFile, syncDir } from "../../os/files.ts";
import { readLines } from "../../os/lines.ts";
import type { Log } from "../../os/log.ts";
import { concat } from "../../base/bytes.ts";
import { writeAllSync } from "../../base/write_all.ts";
import type { auditRecordSchema } from "./schemas.ts";

export type AuditRecord = z.output<ReturnType<typeof auditRecordSchema>>;

/** The source of a client's change. */
export const EDITED = "edited";

export interface AuditPage {
  records: AuditRecord[];
  next_cursor?: string;
}

const NEWLINE = 0x0a;
const CHUNK = 64 * 1024;

export class AuditTrail {
  readonly #path: string;
  readonly #log: Log;

  /** @param path created at the first record, with its directory */
  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /**
   * Appends a record durably, all of it or nothing.
   * @throws {SvcError} permission_denied when others can access the file or its directory; the
   * system's error when it cannot be written
   */
  append(record: AuditRecord): void {
    ensurePrivateDir(dirname(this.#path));
    const { file, is_new } = openOrCreate(this.#path);
    try {
      // A record that a crash cut off never took effect.
      const size = this.#cutTorn(file);
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
    if (is_new) syncDir(dirname(this.#path));
  }

  /** Yields the records, oldest first, then moves invalid lines aside. */
  async *records(): AsyncGenerator<AuditRecord> {
    if (!checkPrivate(this.#path, 0o600, "file")) return;
    const { size } = Deno.statSync(this.#path);
    let damaged = false;
    for await (const { line, whole } of readLines(this.#path, 0, size)) {
      const record = whole ? toRecord(line) : undefined;
      if (record !== undefined) yield record;
      else damaged ||= whole;
    }
    if (damaged) this.#mend();
  }

  /** Returns the last records, oldest first; with a `cursor`, those before that page. */
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

  /** Moves an incomplete last line aside. @returns the remaining size */
  #cutTorn(file: Deno.FsFile): number {
    const { size } = file.statSync();
    const whole = wholeSize(file, size);
    if (whole === size) return size;
    this.#putAside(readAt(file, whole, size - whole));
    file.truncateSync(whole);
    return whole;
  }

  /**
   * Rewrites the trail without invalid lines. It is synchronous, so no record is added meanwhile.
   * After a crash, the same lines may be aside twice, which does no harm.
   */
  #mend(): void {
    const good: Uint8Array[] = [];
    const bad: Uint8Array[] = [];
    const bytes = Deno.readFileSync(this.#path);
    const decoder = new TextDecoder();
    let start = 0;
    for (let at; (at = bytes.indexOf(NEWLINE, start)) >= 0; start = at + 1) {
      const record = toRecord(decoder.decode(bytes.subarray(start, at)));
      (record === undefined ? bad : good).push(bytes.subarray(start, at + 1));
    }
    // The next append cuts off an incomplete last line.
    good.push(bytes.subarray(start));
    this.#putAside(concat(bad));
    const mended = `${this.#path}.${crypto.randomUUID()}.tmp`;
    try {
      const file = Deno.openSync(mended, { write: true, createNew: true, mode: 0o600 });
      try {
        writeAllSync(file, concat(good));
        file.syncSync();
      } finally {
        file.close();
      }
      Deno.renameSync(mended, this.#path);
    } catch (error) {
      Deno.removeSync(mended);
      throw error;
    }
    syncDir(dirname(this.#path));
  }

  #putAside(bytes: Uint8Array): void {
    const path = `${this.#path}.bad`;
    const { file, is_new } = openOrCreate(path);
    try {
      file.seekSync(0, Deno.SeekMode.End);
      writeAllSync(file, bytes);
      file.syncSync();
    } finally {
      file.close();
    }
    if (is_new) syncDir(dirname(path));
    this.#log.warn("moved invalid lines out of the memory's audit trail", {
      path: this.#path,
      aside: path,
      bytes: bytes.length,
    });
  }
}

const FIELDS = ["ts", "entry_id", "category", "content_sha", "source_msg_id"] as const;

/** Undefined for an invalid line. */
function toRecord(line: string): AuditRecord | undefined {
  try {
    const record = JSON.parse(line);
    return FIELDS.every((name) => typeof record?.[name] === "string") ? record : undefined;
  } catch {
    return undefined;
  }
}

function openOrCreate(path: string): { file: Deno.FsFile; is_new: boolean } {
  const is_new = !checkPrivate(path, 0o600, "file");
  const file = is_new
    ? Deno.openSync(path, { read: true, write: true, createNew: true, mode: 0o600 })
    : openOwnFile(path);
  return { file, is_new };
}

/** Bytes up to the last newline. */
function wholeSize(file: Deno.FsFile, size: number): number {
  for (let end = size; end > 0;) {
    const from = Math.max(0, end - CHUNK);
    const at = readAt(file, from, end - from).lastIndexOf(NEWLINE);
    if (at >= 0) return from + at + 1;
    end = from;
  }
  return 0;
}

function readAt(file: Deno.FsFile, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  file.seekSync(position, Deno.SeekMode.Start);
  let read = 0;
  while (read < length) {
    const count = file.readSync(bytes.subarray(read));
    if (count === null) break;
    read += count;
  }
  return bytes.subarray(0, read);
}
