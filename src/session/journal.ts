/**
 * The append-only journal of one session (contract.md section 6). The write path reads top to
 * bottom in {@linkcode Journal.append}; recovery is the reader of the same format.
 */
import { dirname } from "@std/path";
import { SvcError } from "../platform/errors.ts";
import { syncDir } from "../platform/files.ts";
import { readLines } from "../platform/lines.ts";
import type { SessionEvent } from "./events.ts";
import { BadRecord, decodeRecord } from "./record.ts";

/** Distance in bytes between two entries of the seq → offset table. */
const MARK_EVERY = 256 * 1024;
const encoder = new TextEncoder();

/** The journal cannot be read on; its file is left as it is. */
export class UnreadableJournal extends Error {
  override name = "UnreadableJournal";
}

interface Mark {
  seq: number;
  offset: number;
}

export class Journal {
  readonly path: string;
  #file: Deno.FsFile | undefined;
  /** Bytes of whole records. */
  #size = 0;
  #last_seq = 0;
  /** Where some records begin, so that a replay need not read from the start. */
  #marks: Mark[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * Makes the empty journal of a new session, mode 0600.
   *
   * @throws {Deno.errors.AlreadyExists} when there is one.
   */
  static create(path: string): Journal {
    const journal = new Journal(path);
    journal.#file = Deno.openSync(path, { read: true, write: true, createNew: true, mode: 0o600 });
    syncDir(dirname(path));
    return journal;
  }

  /**
   * Opens a journal, hands each of its events to `onEvent`, and cuts off a torn last line.
   *
   * @returns the journal and how many torn bytes were cut.
   * @throws {UnreadableJournal} on a bad line before the last, a newer version or a gap in seq.
   */
  static async open(
    path: string,
    onEvent: (event: SessionEvent) => void,
  ): Promise<{ journal: Journal; torn_bytes: number }> {
    const journal = new Journal(path);
    const info = await Deno.lstat(path);
    if (!info.isFile) throw new UnreadableJournal("the journal is not a regular file");
    let line_number = 0;
    let bad: string | undefined;
    for await (const { line, offset, end, whole } of readLines(path, 0, info.size)) {
      if (bad !== undefined) throw new UnreadableJournal(bad);
      line_number++;
      if (!whole) break;
      try {
        const event = decodeRecord(line);
        const expected = journal.#last_seq + 1;
        if (line_number > 1 && event.seq !== expected) {
          throw new UnreadableJournal(
            `line ${line_number} has seq ${event.seq}, expected ${expected}`,
          );
        }
        onEvent(event);
        journal.#advance(event.seq, offset, end);
      } catch (error) {
        if (!(error instanceof BadRecord)) throw error;
        // Only the last line may be bad: a write that was cut off. The next line proves otherwise.
        bad = `line ${line_number} ${error.message}`;
        if (error.message.includes("schema version")) throw new UnreadableJournal(bad);
      }
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

  /** Bytes of the journal. */
  get size(): number {
    return this.#size;
  }

  /**
   * Appends the lines of consecutive events in one write: either all of them are in the journal
   * afterwards, or, when it throws, none.
   *
   * @param durable also waits until they are on the disk.
   */
  async append(
    lines: string,
    first_seq: number,
    last_seq: number,
    durable: boolean,
  ): Promise<void> {
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
      for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
      if (durable) await file.sync();
    } catch (error) {
      file.truncateSync(this.#size);
      throw error;
    }
    this.#advance(first_seq, this.#size, this.#size + bytes.length);
    this.#last_seq = last_seq;
  }

  /** The events with seq > `since_seq` that are in the journal now, oldest first. */
  async *read(since_seq: number): AsyncGenerator<SessionEvent> {
    const mark = this.#marks.findLast((it) => it.seq <= since_seq + 1);
    for await (const { line } of readLines(this.path, mark?.offset ?? 0, this.#size)) {
      const event = decodeRecord(line);
      if (event.seq > since_seq) yield event;
    }
  }

  /** Gives the file back; the next append opens it again. */
  release(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): Deno.FsFile {
    return this.#file ??= Deno.openSync(this.path, { read: true, write: true });
  }

  #advance(seq: number, offset: number, end: number): void {
    const last = this.#marks.at(-1);
    if (last === undefined || offset - last.offset >= MARK_EVERY) this.#marks.push({ seq, offset });
    this.#last_seq = seq;
    this.#size = end;
  }
}
