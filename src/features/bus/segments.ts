/**
 * The files of the bus: segments, each named for its first bus_seq. The newest is written; the
 * oldest is removed when all are too large. Unreadable ones are moved aside and logged.
 */
import { join } from "@std/path";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import {
  atomicWrite,
  checkPrivate,
  ensurePrivateDir,
  openOwnFile,
  removeTemporaries,
  syncDir,
} from "../../os/files.ts";
import { readLines } from "../../os/lines.ts";
import type { Log } from "../../os/log.ts";
import { writeAllSync } from "../../base/write_all.ts";
import { type BusRecord, decodeBusRecord } from "./record.ts";

export interface SegmentLimits {
  /** Size at which a new segment begins. */
  segment_bytes: number;
  /** Total size at which the oldest segment is removed. */
  total_bytes: number;
}

/** The end of the newest segment at some time. */
export interface SegmentsEnd {
  bus_seq: number;
  /** The segment's first bus_seq. */
  first: number;
  /** In bytes. */
  size: number;
}

interface SegmentsOptions extends SegmentLimits {
  dir: string;
  log: Log;
  /** A known end; earlier records are not read again. */
  end?: SegmentsEnd;
  /**
   * Returns the new content of {@linkcode positionsPath} when a segment is left; undefined keeps
   * the old one.
   */
  positions(end: SegmentsEnd): string | undefined;
}

/** Returns the path of the positions, which save reading all segments. */
export function positionsPath(dir: string): string {
  return join(dir, "positions.json");
}

interface Segment {
  /** Its first bus_seq. */
  readonly first: number;
  readonly path: string;
  /** Bytes of complete records. */
  size: number;
}

/** Bytes read to recognize an end; a longer record is not recognized. */
const KNOWN_BY = 4096;
const NAME = /^(\d{16})\.ndjson(\.bad)?$/;
const encoder = new TextEncoder();

export class Segments {
  readonly #dir: string;
  readonly #limits: SegmentLimits;
  readonly #log: Log;
  /** Oldest first. */
  #segments: Segment[] = [];
  #current: { segment: Segment; file: Deno.FsFile } | undefined;
  #last_seq = 0;
  /** Closed segments that are being flushed. */
  #leaving = new Set<Promise<void>>();
  readonly #positions: SegmentsOptions["positions"];

  private constructor({ dir, log, positions, ...limits }: SegmentsOptions) {
    this.#dir = dir;
    this.#limits = limits;
    this.#log = log;
    this.#positions = positions;
  }

  /**
   * Opens or creates a directory of segments, and repairs the newest: cuts off a torn last line, or
   * moves it aside for other bad lines.
   * @throws {SvcError} permission_denied when others can access the directory
   */
  static async open(options: SegmentsOptions): Promise<Segments> {
    const { dir } = options;
    ensurePrivateDir(dir);
    removeTemporaries(dir);
    const segments = new Segments(options);
    const found = [...Deno.readDirSync(dir)].flatMap(({ name }) => {
      const [, first, bad] = name.match(NAME) ?? [];
      if (first === undefined) return [];
      const path = join(dir, name);
      return [{ first: Number(first), path, size: Deno.lstatSync(path).size, bad }];
    }).sort((a, b) => a.first - b.first);
    segments.#segments = found.filter(({ bad }) => bad === undefined);
    // Including those moved aside: no bus_seq is used twice.
    const newest = found.at(-1);
    if (newest !== undefined) {
      const { end } = options;
      const known = end !== undefined && endsAt(newest, end) ? end : undefined;
      await segments.#mend(newest, newest.bad !== undefined, known);
    }
    return segments;
  }

  /** 0 for an empty bus. */
  get last_seq(): number {
    return this.#last_seq;
  }

  /** Without records, the next bus_seq. */
  get oldest_seq(): number {
    return this.#segments[0]?.first ?? this.#last_seq + 1;
  }

  /** Appends lines of `count` records, all or none; flushed by {@linkcode Segments.sync}. */
  append(lines: string, count: number): void {
    const bytes = encoder.encode(lines);
    const { segment, file } = this.#writable(bytes.length);
    try {
      writeAllSync(file, bytes);
    } catch (error) {
      try {
        file.truncateSync(segment.size);
        file.seekSync(segment.size, Deno.SeekMode.Start);
      } catch {
        // Readers ignore its torn end; the next records go to a new segment.
        this.#leave();
      }
      throw error;
    }
    segment.size += bytes.length;
    this.#last_seq += count;
    this.#retire();
  }

  /**
   * Yields the records after `since_seq`, including those appended meanwhile.
   * @throws {SvcError} journal_trimmed when the next one was dropped
   */
  async *read(since_seq: number): AsyncGenerator<BusRecord> {
    let next = since_seq + 1;
    this.requireKept(next);
    let segment = this.#segments.findLast(({ first }) => first <= next) ?? this.#segments[0];
    while (segment !== undefined) {
      for await (const record of this.#readOne(segment, next)) {
        yield record;
        next = record.seq + 1;
      }
      this.requireKept(next);
      const { first } = segment;
      segment = this.#segments.find((it) => it.first > first)!;
    }
  }

  /** @throws {SvcError} journal_trimmed when the record `seq` was dropped */
  requireKept(seq: number): void {
    const { oldest_seq } = this;
    if (seq >= oldest_seq) return;
    throw new SvcError("journal_trimmed", `the bus now starts at bus_seq ${oldest_seq}`, {
      hint: `continue from bus_seq ${oldest_seq}; older events are in the sessions' journals`,
      details: { oldest_seq },
    });
  }

  /**
   * Blanks a scope's records, also in segments moved aside. Lengths stay, so readers keep their
   * positions.
   */
  async blank(scope: string): Promise<void> {
    this.#leave();
    await Promise.all(this.#leaving);
    const { blankSegment } = await import("./blank.ts");
    for (const { name } of [...Deno.readDirSync(this.#dir)]) {
      if (NAME.test(name)) await blankSegment(join(this.#dir, name), scope);
    }
  }

  async sync(): Promise<void> {
    await this.#current?.file.sync();
  }

  async close(): Promise<void> {
    this.#leave();
    await Promise.all(this.#leaving);
  }

  /** Returns the current file, or a new one if that is full. */
  #writable(bytes: number): { segment: Segment; file: Deno.FsFile } {
    const size = this.#current?.segment.size ?? 0;
    if (size > 0 && size + bytes > this.#limits.segment_bytes) this.#leave();
    if (this.#current !== undefined) return this.#current;
    const first = this.#last_seq + 1;
    const path = join(this.#dir, `${String(first).padStart(16, "0")}.ndjson`);
    const file = Deno.openSync(path, { write: true, create: true, truncate: true, mode: 0o600 });
    const segment = { first, path, size: 0 };
    this.#segments = [...this.#segments.filter((it) => it.first !== first), segment];
    return this.#current = { segment, file };
  }

  /** Closes the current segment, and flushes it in the background. */
  #leave(): void {
    if (this.#current === undefined) return;
    const { file, segment: { first, path, size } } = this.#current;
    this.#current = undefined;
    const positions = this.#positions({ bus_seq: this.#last_seq, first, size });
    const leaving = file.sync()
      .then(() => syncDir(this.#dir))
      .then(async () => {
        if (positions === undefined) return;
        await atomicWrite(positionsPath(this.#dir), positions, 0o600, { durable: false });
      })
      .catch((error) => this.#log.warn("flushing the bus failed", { path, error: String(error) }))
      .finally(() => {
        file.close();
        this.#leaving.delete(leaving);
      });
    this.#leaving.add(leaving);
  }

  /** Removes the oldest segments while the total is too large. */
  #retire(): void {
    let total = this.#segments.reduce((sum, { size }) => sum + size, 0);
    while (total > this.#limits.total_bytes && this.#segments.length > 1) {
      const [{ path, size }] = this.#segments.splice(0, 1);
      total -= size;
      try {
        Deno.removeSync(path);
      } catch (error) {
        this.#log.warn("cannot remove an old segment of the bus", {
          path,
          error: messageOf(error),
        });
      }
    }
  }

  async *#readOne(segment: Segment, from: number): AsyncGenerator<BusRecord> {
    let at = 0;
    let seq = segment.first;
    // The current segment grows while it is read.
    while (at < segment.size) {
      try {
        for await (const { line, end, whole } of readLines(segment.path, at, segment.size)) {
          // The writer was cut off here and continued in another segment.
          if (!whole) return;
          at = end;
          if (seq >= from) {
            const record = decodeBusRecord(line);
            if (record?.seq !== seq) return this.#isolate(segment, `bus_seq ${seq} is unreadable`);
            yield record;
          }
          seq++;
        }
      } catch (error) {
        // It was dropped; requireKept reports that.
        if (error instanceof Deno.errors.NotFound) return this.#forget(segment);
        throw error;
      }
    }
  }

  #isolate(segment: Segment, problem: string): void {
    const { path } = segment;
    if (this.#current?.segment === segment) this.#leave();
    this.#forget(segment);
    const moved = `${path}.bad`;
    try {
      Deno.renameSync(path, moved);
    } catch {
      // Another reader moved it.
      return;
    }
    this.#log.error("a segment of the bus was moved aside", { path: moved, problem });
  }

  #forget(segment: Segment): void {
    this.#segments = this.#segments.filter((it) => it !== segment);
  }

  /** Finds the last bus_seq, repairs the newest segment and opens it for writing. */
  async #mend(
    segment: Segment,
    moved_aside: boolean,
    known: SegmentsEnd | undefined,
  ): Promise<void> {
    const { path } = segment;
    checkPrivate(path, 0o600, "file");
    let next = known === undefined ? segment.first : known.bus_seq + 1;
    let good_end = known?.size ?? 0;
    let good_next = next;
    let bad_lines = 0;
    for await (const { line, end, whole } of readLines(path, good_end, segment.size)) {
      if (!whole) break;
      const seq = decodeBusRecord(line)?.seq;
      if (seq === next && bad_lines === 0) {
        good_end = end;
        good_next = next + 1;
      } else bad_lines++;
      next = Math.max(next, seq ?? 0) + 1;
    }
    if (moved_aside || bad_lines > 1) {
      this.#last_seq = next - 1;
      if (!moved_aside) this.#isolate(segment, `bus_seq ${good_next} is unreadable`);
      return;
    }
    this.#last_seq = good_next - 1;
    const file = Deno.openSync(path, { write: true });
    if (good_end < segment.size) {
      file.truncateSync(good_end);
      this.#log.warn("cut off the torn last line of the bus", {
        path,
        torn_bytes: segment.size - good_end,
      });
      segment.size = good_end;
    }
    file.seekSync(good_end, Deno.SeekMode.Start);
    this.#current = { segment, file };
  }
}

/** Reports whether a segment has the record at that end; otherwise all of it is read. */
function endsAt({ first, path, size }: Segment, end: SegmentsEnd): boolean {
  if (end.first !== first || end.size > size) return false;
  const bytes = new Uint8Array(Math.min(end.size, KNOWN_BY));
  using file = openOwnFile(path);
  file.seekSync(end.size - bytes.length, Deno.SeekMode.Start);
  for (let done = 0, read; done < bytes.length; done += read) {
    read = file.readSync(bytes.subarray(done)) ?? 0;
    if (read === 0) return false;
  }
  const lines = new TextDecoder().decode(bytes).split("\n");
  return lines.pop() === "" && decodeBusRecord(lines.at(-1) ?? "")?.seq === end.bus_seq;
}
