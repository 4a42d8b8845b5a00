/** What the journals have and the bus lacks, after a crash or a full disk. */
import { readLines } from "../../os/lines.ts";
import { BadRecord, decodeRecord } from "../../session/record.ts";
import { type BusEntry, LEFT_OUT } from "./record.ts";

/** Entries that are handed over at once. */
const BATCH = 500;
/** Bytes at the end of a journal that are read first; eight times as many at each next try. */
const TAIL = 256 * 1024;

/**
 * The entries of a journal with seq > `since_seq`, in batches; text deltas are left out. What is
 * before them is not read. Ends at a record that cannot be read.
 *
 * @param path the journal; one that is missing has nothing.
 * @param since_at entries that happened before are left out too.
 */
export async function* entriesAfter(
  path: string,
  since_seq: number,
  since_at = "",
): AsyncGenerator<BusEntry[]> {
  let batch: BusEntry[] = [];
  try {
    const { size } = await Deno.lstat(path);
    const from = await startFor(path, since_seq, size);
    for await (const { line, offset, whole } of readLines(path, from, size)) {
      // The first line of a tail has lost its beginning.
      if (!whole || (from > 0 && offset === from)) continue;
      const { seq, at, type, data } = decodeRecord(line);
      // A checkpoint was never an event.
      if (seq <= since_seq || at < since_at || type === "session.checkpoint") continue;
      if (LEFT_OUT.has(type)) continue;
      batch.push({ seq, at, type, data_json: JSON.stringify(data) });
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
  } catch (error) {
    if (!(error instanceof BadRecord || error instanceof Deno.errors.NotFound)) throw error;
  }
  if (batch.length > 0) yield batch;
}

/** A byte offset from which on all records with seq > `since_seq` are found. */
async function startFor(path: string, since_seq: number, size: number): Promise<number> {
  for (let tail = TAIL; tail < size; tail *= 8) {
    const from = size - tail;
    const first = await firstSeq(path, from, size);
    if (first !== undefined && first <= since_seq + 1) return from;
  }
  return 0;
}

async function firstSeq(path: string, from: number, to: number): Promise<number | undefined> {
  for await (const { line, offset, whole } of readLines(path, from, to)) {
    if (offset === from) continue;
    return whole ? decodeRecord(line).seq : undefined;
  }
}
