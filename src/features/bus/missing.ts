/** Reads events that the bus lacks from journals, after a crash or a full disk. */
import { readLines } from "../../os/lines.ts";
import { BadRecord, decodeRecord } from "../../session/record.ts";
import { type BusEntry, LEFT_OUT } from "./record.ts";

const BATCH = 500;
/** Bytes read first from a journal's end; each further attempt reads eight times as many. */
const TAIL = 256 * 1024;

/**
 * Yields a journal's entries after `since_seq` and from `since_at` in batches, without text deltas.
 * Ends at an unreadable record. A missing journal is empty.
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
      // The first line of a tail is incomplete.
      if (!whole || (from > 0 && offset === from)) continue;
      const { seq, at, type, data } = decodeRecord(line);
      // A checkpoint is not an event.
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

/** Returns an offset before all records after `since_seq`. */
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
