/**
 * The append-only journal of one session (contract.md section 6). The write path reads top to
 * bottom in {@linkcode Journal.append}; recovery is the reader of the same format.
 */
import { setImmediate } from "node:timers/promises";
import { dirname } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { flushDir, openOwnFile, syncDir } from "../os/files.ts";
import { type Line, readLineBatches } from "../os/lines.ts";
import { writeAllSync } from "../base/write_all.ts";
import type { EventType, SessionEvent } from "../protocol/events.ts";
import { BadRecord, decodeRecord } from "./record.ts";

/** Least distance in bytes between two entries of the seq → offset table; it doubles with its size. */
const MARK_EVERY = 256 * 1024;
const MARKS_MAX = 1024;
/** Bytes before a place of a journal by which it is known again. */
const KNOWN_BY = 4096;
const CHUNK = 256 * 1024;
const encoder = new TextEncoder();

/** The journal does not have the place it was to be read from: it was replaced, cut or changed. */
export class MovedJournal extends Error {
  override name = "MovedJournal";
}

/** The journal cannot be read on; its file is left as it is. */
export class UnreadableJournal extends Error {
  override name = "UnreadableJournal";
}

/** Another directory took the place of the session's, with a journal that is behind it. */
export class OlderJournal extends Error {
  override name = "OlderJournal";
}

interface Mark {
  seq: number;
  offset: number;
}

/** A place between two records of a journal: what is read from there on needs nothing before it. */
export interface Place {
  /** Of the record before it. */
  seq: number;
  offset: number;
  /** SHA-256 of the last bytes before it. */
  digest: string;
  trimmed_seq: number;
  oldest_at?: string;
  marks: Mark[];
}

/** Lines of consecutive events, as they are appended in one write. */
export interface Batch {
  lines: string;
  first_seq: number;
  last_seq: number;
  /** When the events happened, RFC 3339. */
  at: string;
  /** Whether to wait until they are on the disk. */
  durable: boolean;
}

/** How a journal is opened. */
export interface OpenOptions {
  /** Read from there on; {@linkcode MovedJournal} is thrown when the journal does not have it. */
  from?: Place;
  /** Handed each record that is read, oldest first; what it throws ends the reading. */
  onRecord(event: SessionEvent, line: string): void;
}

/** One record of a journal. */
export interface JournalRecord {
  event: SessionEvent;
  /** Its line, without the newline. */
  line: string;
  /** Byte offset behind its newline. */
  end: number;
}

/** A rewritten journal that waits to take the old one's place. */
export interface Compaction {
  /**
   * Takes over what was appended meanwhile and puts the new file in place, at once and without an
   * await: for the journal's writer to call between two appends.
   */
  finish(): void;
}

export class Journal {
  #path: string;
  #file: Deno.FsFile | undefined;
  /** Bytes of whole records. */
  #size = 0;
  #last_seq = 0;
  /** Where some records begin, so that a replay need not read from the start. */
  #marks: Mark[] = [];
  #mark_every = MARK_EVERY;
  /** Whether nothing was appended since the last flush. */
  #synced = false;
  /** seq up to which a checkpoint stands for the records; 0 without one. */
  #trimmed_seq = 0;
  /** When the oldest event happened that no checkpoint stands for. */
  #oldest_at: string | undefined;

  private constructor(path: string) {
    this.#path = path;
  }

  get path(): string {
    return this.#path;
  }

  /**
   * Makes the empty journal of a new session, mode 0600.
   *
   * @param after the seq that its first record follows; that one is a checkpoint.
   * @throws {Deno.errors.AlreadyExists} when there is one.
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
   * Opens a journal, hands its records to `onRecord`, and cuts off a torn last line.
   *
   * @returns the journal and how many torn bytes were cut.
   * @throws {UnreadableJournal} on a bad line before the last, a newer version or a gap in seq.
   * @throws {MovedJournal} when it does not have the place `from`.
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
    // Left by a crash during a compaction; the journal itself is whole.
    await Deno.remove(compactionPath(path)).catch(() => {});
    let line_number = 0;
    let bad: string | undefined;
    const start = journal.#size;
    // The number of a line is known only where all lines before it were read.
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
        // Only the last line may be bad: a write that was cut off. The next line proves otherwise.
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

  /** The seq of the last record; 0 when there is none. */
  get last_seq(): number {
    return this.#last_seq;
  }

  /** The seq up to which the records were rewritten into a checkpoint; 0 when none were. */
  get trimmed_seq(): number {
    return this.#trimmed_seq;
  }

  /** When the oldest event happened that is not in a checkpoint; undefined when there is none. */
  get oldest_at(): string | undefined {
    return this.#oldest_at;
  }

  /** Bytes of the journal. */
  get size(): number {
    return this.#size;
  }

  /**
   * Appends consecutive events: either all of them are in the journal afterwards, or, when it
   * throws, none.
   */
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

  /** The place behind the last record that is written. */
  async place(): Promise<Place> {
    const [seq, offset] = [this.#last_seq, this.#size];
    const marks = [...this.#marks];
    const { trimmed_seq, oldest_at } = this;
    const digest = await digestBefore(this.path, offset);
    return { seq, offset, digest, trimmed_seq, oldest_at, marks };
  }

  /** Waits until what was appended is on the disk. */
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

  /** Waits until a new journal, its name included, is on the disk. */
  async flush(): Promise<void> {
    await Promise.all([this.#open().sync(), flushDir(dirname(this.path))]);
  }

  /** The events with seq > `since_seq` that are in the journal now, oldest first. */
  async *read(since_seq: number): AsyncGenerator<SessionEvent> {
    for await (const { event } of this.records(since_seq)) yield event;
  }

  /** As {@linkcode Journal.read}, each event with its line and the byte offset behind it. */
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
   * Writes the journal anew beside the old one, with a checkpoint in place of its first records.
   *
   * @param line the checkpoint's record.
   * @param seq the last seq that the checkpoint stands for.
   * @param from the byte offset behind that record.
   * @returns what puts the new file in place.
   */
  async compact(line: string, seq: number, from: number): Promise<Compaction> {
    const path = compactionPath(this.path);
    const file = Deno.openSync(path, {
      read: true,
      write: true,
      create: true,
      truncate: true,
      mode: 0o600,
    });
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

  /** Has the file be at another path from now on: it was moved there, or copied whole. */
  moveTo(path: string): void {
    this.release();
    this.#path = path;
  }

  /** Gives the file back; the next append opens it again. */
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

/** What only the first record of a journal may be. */
const BEGINS: ReadonlySet<string> = new Set<EventType>(["session.created", "session.checkpoint"]);

async function digestBefore(path: string, offset: number): Promise<string> {
  // Loaded at the first use: a daemon's start does without it.
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

/** Where a journal is written anew. */
function compactionPath(path: string): string {
  return `${path}.compact`;
}
