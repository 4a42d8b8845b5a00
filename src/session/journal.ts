/** The append-only journal of one session (contract.md section 6). */
import { setImmediate } from "node:timers/promises";
import { dirname } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { flushDir, openOwnFile, syncDir } from "../os/files.ts";
import { type Line, readLineBatches } from "../os/lines.ts";
import { writeAllSync } from "../base/write_all.ts";
import type { EventType, SessionEvent } from "../protocol/events.ts";
import { BadRecord, decodeRecord } from "./record.ts";

/** Least bytes between two entries of the seq → offset table; it doubles as the table grows. */
const MARK_EVERY = 256 * 1024;
const MARKS_MAX = 1024;
/** Bytes before a place that identify it. */
const KNOWN_BY = 4096;
const CHUNK = 256 * 1024;
const encoder = new TextEncoder();

/** The journal lacks the place to read from: it was replaced, cut or changed. */
export class MovedJournal extends Error {
  override name = "MovedJournal";
}

/** The rest of the journal is unreadable; its file stays as it is. */
export class UnreadableJournal extends Error {
  override name = "UnreadableJournal";
}

/** Another directory with an older journal took the place of the session's. */
export class OlderJournal extends Error {
  override name = "OlderJournal";
}

interface Mark {
  seq: number;
  offset: number;
}

/** A place between two records; reading on from there needs nothing before it. */
export interface Place {
  /** Of the record before. */
  seq: number;
  offset: number;
  /** SHA-256 of the last bytes before it. */
  digest: string;
  trimmed_seq: number;
  oldest_at?: string;
  marks: Mark[];
}

/** Lines of consecutive events, appended in one write. */
export interface Batch {
  lines: string;
  first_seq: number;
  last_seq: number;
  /** When the events happened, RFC 3339. */
  at: string;
  /** Whether to wait for the disk. */
  durable: boolean;
}

export interface OpenOptions {
  /** Where to start; throws {@linkcode MovedJournal} if the journal lacks it. */
  from?: Place;
  /** Called with each record, oldest first; its errors end the reading. */
  onRecord(event: SessionEvent, line: string): void;
}

interface JournalRecord {
  event: SessionEvent;
  /** Without the newline. */
  line: string;
  /** Byte offset after the newline. */
  end: number;
}

/** A rewritten journal, ready to replace the old one. */
interface Compaction {
  /** Adds later records and swaps the files, without an await. Call it between two appends. */
  finish(): void;
}

export class Journal {
  #path: string;
  #file: Deno.FsFile | undefined;
  /** Bytes of whole records. */
  #size = 0;
  #last_seq = 0;
  /** Offsets of some records, so that a replay need not read from the start. */
  #marks: Mark[] = [];
  #mark_every = MARK_EVERY;
  /** Whether nothing was appended since the last flush. */
  #synced = false;
  /** Last seq in the checkpoint; 0 without one. */
  #trimmed_seq = 0;
  /** When the oldest event after the checkpoint happened. */
  #oldest_at: string | undefined;

  private constructor(path: string) {
    this.#path = path;
  }

  get path(): string {
    return this.#path;
  }

  /**
   * Creates the empty journal of a new session, mode 0600.
   *
   * @param after the seq before its first record, a checkpoint
   * @throws {Deno.errors.AlreadyExists}
   */
  static create(path: string, after?: number): Journal {
    const journal = new Journal(path);
    if (after !== undefined) {
      journal.#last_seq = after;
      journal.#trimmed_seq = after + 1;
    }
    journal.#file = Deno.openSync(path, { read: true, write: true, createNew: true, mode: 0o600 });
    return journal;
  }

  /**
   * Opens a journal, passes its records to `onRecord`, and cuts off a torn last line.
   *
   * @throws {UnreadableJournal} on a bad line before the last, a newer version or a gap in seq
   * @throws {MovedJournal} when it lacks the place `from`
   */
  static async open(
    path: string,
    { from, onRecord }: OpenOptions,
  ): Promise<{ journal: Journal; torn_bytes: number }> {
    const journal = new Journal(path);
    const info = await Deno.lstat(path);
    if (!info.isFile) throw new UnreadableJournal("the journal is not a regular file");
    if (from !== undefined) {
      if (info.size < from.offset || await digestBefore(path, from.offset) !== from.digest) {
        throw new MovedJournal(`the journal no longer contains byte ${from.offset}`);
      }
      journal.#enter(from);
    }
    // Left by a crash during a compaction.
    await Deno.remove(compactionPath(path)).catch(() => {});
    let line_number = 0;
    let bad: string | undefined;
    const start = journal.#size;
    // A line's number is known only if all lines before it were read.
    const nameOf = (at: number) =>
      from === undefined ? `line ${line_number}` : `the line at byte ${at}`;
    const take = ({ line, offset, end, whole }: Line) => {
      if (bad !== undefined) throw new UnreadableJournal(bad);
      line_number++;
      if (!whole) return;
      try {
        const event = decodeRecord(line);
        const expected = journal.#last_seq + 1;
        if (offset === 0 && event.type === "session.checkpoint") {
          journal.#trimmed_seq = event.seq;
        } else if (event.seq !== expected) {
          throw new UnreadableJournal(
            `${nameOf(offset)} has seq ${event.seq}, expected ${expected}`,
          );
        } else if (offset > 0 && BEGINS.has(event.type)) {
          throw new UnreadableJournal(`${nameOf(offset)} has ${event.type} in the middle`);
        } else {
          journal.#oldest_at ??= event.at;
        }
        onRecord(event, line);
        journal.#advance(event.seq, offset, end);
      } catch (error) {
        if (!(error instanceof BadRecord)) throw error;
        // Only the last line may be bad, from a torn write. Another line after it proves otherwise.
        bad = `${nameOf(offset)} ${error.message}`;
        if (error.message.includes("schema version")) throw new UnreadableJournal(bad);
      }
    };
    for await (const lines of readLineBatches(path, start, info.size)) {
      for (const line of lines) take(line);
    }
    const torn_bytes = info.size - journal.#size;
    if (torn_bytes > 0) {
      const file = journal.#open();
      file.truncateSync(journal.#size);
      file.syncSync();
    }
    return { journal, torn_bytes };
  }

  /** 0 in an empty journal. */
  get last_seq(): number {
    return this.#last_seq;
  }

  /** The last seq rewritten into a checkpoint; 0 without one. */
  get trimmed_seq(): number {
    return this.#trimmed_seq;
  }

  /** When the oldest event after the checkpoint happened. */
  get oldest_at(): string | undefined {
    return this.#oldest_at;
  }

  get size(): number {
    return this.#size;
  }

  /** Appends consecutive events: all of them, or none when it throws. */
  async append({ lines, first_seq, last_seq, at, durable }: Batch): Promise<void> {
    if (first_seq !== this.#last_seq + 1) {
      throw new SvcError(
        "append_only_violation",
        `event ${first_seq} cannot follow event ${this.#last_seq}`,
      );
    }
    const file = this.#open();
    const bytes = encoder.encode(lines);
    try {
      file.seekSync(this.#size, Deno.SeekMode.Start);
      writeAllSync(file, bytes);
      if (durable) await file.sync();
    } catch (error) {
      file.truncateSync(this.#size);
      throw error;
    }
    this.#synced = durable;
    this.#advance(first_seq, this.#size, this.#size + bytes.length);
    this.#last_seq = last_seq;
    this.#oldest_at ??= at;
  }

  /** The place after the last record. */
  async place(): Promise<Place> {
    const [seq, offset] = [this.#last_seq, this.#size];
    const marks = [...this.#marks];
    const { trimmed_seq, oldest_at } = this;
    const digest = await digestBefore(this.path, offset);
    return { seq, offset, digest, trimmed_seq, oldest_at, marks };
  }

  /** Waits until appended records are on the disk. */
  async sync(): Promise<void> {
    if (this.#synced) return;
    this.#synced = true;
    await this.#open().sync();
  }

  #enter({ seq, offset, trimmed_seq, oldest_at, marks }: Place): void {
    this.#last_seq = seq;
    this.#size = offset;
    this.#trimmed_seq = trimmed_seq;
    this.#oldest_at = oldest_at;
    for (const mark of marks) this.#mark(mark);
  }

  /** Waits until a new journal and its name are on the disk. */
  async flush(): Promise<void> {
    await Promise.all([this.#open().sync(), flushDir(dirname(this.path))]);
  }

  /** Yields the events after `since_seq`, oldest first. */
  async *read(since_seq: number): AsyncGenerator<SessionEvent> {
    for await (const { event } of this.records(since_seq)) yield event;
  }

  /** As {@linkcode Journal.read}, with each event's line and the byte offset after it. */
  async *records(since_seq: number): AsyncGenerator<JournalRecord> {
    const mark = this.#marks.findLast((it) => it.seq <= since_seq + 1);
    for await (const lines of readLineBatches(this.path, mark?.offset ?? 0, this.#size)) {
      for (const { line, end } of lines) {
        const event = decodeRecord(line);
        if (event.seq > since_seq) yield { event, line, end };
      }
    }
  }

  /**
   * Writes a new journal file that starts with a checkpoint, beside the old one.
   *
   * @param line the checkpoint's record
   * @param seq the last seq that the checkpoint replaces
   * @param from the byte offset after that record
   */
  async compact(line: string, seq: number, from: number): Promise<Compaction> {
    const path = compactionPath(this.path);
    // A command may have put a link there, where nothing keeps it from the journal's directory.
    await Deno.remove(path).catch(() => {});
    const file = Deno.openSync(path, { read: true, write: true, createNew: true, mode: 0o600 });
    const header = encoder.encode(line);
    let copied = from;
    const buffer = new Uint8Array(CHUNK);
    using old = openOwnFile(this.path);
    const copyNext = () => {
      old.seekSync(copied, Deno.SeekMode.Start);
      const read = old.readSync(buffer.subarray(0, Math.min(CHUNK, this.#size - copied))) ?? 0;
      writeAllSync(file, buffer.subarray(0, read));
      copied += read;
    };
    try {
      writeAllSync(file, header);
      while (copied < this.#size) {
        copyNext();
        await setImmediate();
      }
      await file.sync();
    } catch (error) {
      file.close();
      await Deno.remove(path);
      throw error;
    }
    const oldest_at = await this.#firstAt(seq);
    return {
      finish: () => {
        using rest = openOwnFile(this.path);
        rest.seekSync(copied, Deno.SeekMode.Start);
        const bytes = new Uint8Array(this.#size - copied);
        for (let done = 0; done < bytes.length;) done += rest.readSync(bytes.subarray(done)) ?? 0;
        writeAllSync(file, bytes);
        file.syncSync();
        Deno.renameSync(path, this.path);
        syncDir(dirname(this.path));
        this.release();
        this.#file = file;
        const shift = header.length - from;
        this.#marks = [
          { seq, offset: 0 },
          ...this.#marks.filter((mark) => mark.seq > seq)
            .map((mark) => ({ seq: mark.seq, offset: mark.offset + shift })),
        ];
        this.#size += shift;
        this.#trimmed_seq = seq;
        this.#oldest_at = oldest_at;
      },
    };
  }

  async #firstAt(since_seq: number): Promise<string | undefined> {
    for await (const { at } of this.read(since_seq)) return at;
  }

  /** Sets a new path after the file was moved or copied. */
  moveTo(path: string): void {
    this.release();
    this.#path = path;
  }

  /** Closes the file; the next append opens it again. */
  release(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): Deno.FsFile {
    return this.#file ??= openOwnFile(this.path, { writable: true });
  }

  #advance(seq: number, offset: number, end: number): void {
    this.#mark({ seq, offset });
    this.#last_seq = seq;
    this.#size = end;
  }

  #mark(mark: Mark): void {
    const last = this.#marks.at(-1);
    if (last !== undefined && mark.offset - last.offset < this.#mark_every) return;
    this.#marks.push(mark);
    if (this.#marks.length <= MARKS_MAX) return;
    this.#marks = this.#marks.filter((_, n) => n % 2 === 0);
    this.#mark_every *= 2;
  }
}

/** Types that only a first record may have. */
const BEGINS: ReadonlySet<string> = new Set<EventType>(["session.created", "session.checkpoint"]);

async function digestBefore(path: string, offset: number): Promise<string> {
  // Loaded lazily: a daemon's start does not need it.
  const { createHash } = await import("node:crypto");
  using file = openOwnFile(path);
  const length = Math.min(KNOWN_BY, offset);
  file.seekSync(offset - length, Deno.SeekMode.Start);
  const bytes = new Uint8Array(length);
  for (let done = 0, read; done < length; done += read) {
    read = file.readSync(bytes.subarray(done)) ?? 0;
    if (read === 0) throw new MovedJournal(`the journal ends before byte ${offset}`);
  }
  return createHash("sha256").update(bytes).digest("hex");
}

function compactionPath(path: string): string {
  return `${path}.compact`;
}
