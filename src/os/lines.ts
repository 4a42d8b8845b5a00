/** Reads append-only files of lines, such as journals, from any byte on. */
import { concat } from "../base/bytes.ts";
import { openOwnFile } from "./files.ts";

const NEWLINE = 0x0a;
const CHUNK = 256 * 1024;

export interface Line {
  line: string;
  /** Byte offsets of the line and of what follows its newline. */
  offset: number;
  end: number;
  /** Whether it ended with a newline. */
  whole: boolean;
}

/**
 * Yields the lines between two byte offsets; holds at most one chunk and one line. Opens the file
 * in the first `next()`, so a later replacement does not matter.
 */
export async function* readLines(path: string, from: number, to: number): AsyncGenerator<Line> {
  for await (const lines of readLineBatches(path, from, to)) yield* lines;
}

/** Like {@linkcode readLines}, by chunk: a generator's turn costs more than a line. */
export async function* readLineBatches(
  path: string,
  from: number,
  to: number,
): AsyncGenerator<Line[]> {
  using file = openOwnFile(path);
  file.seekSync(from, Deno.SeekMode.Start);
  const decoder = new TextDecoder();
  // Not larger than needed: most journals are small, and many are read at once.
  const chunk = new Uint8Array(Math.min(CHUNK, Math.max(0, to - from)));
  let rest: Uint8Array[] = [];
  let offset = from;
  let position = from;
  while (position < to) {
    const read = await file.read(chunk.subarray(0, Math.min(chunk.length, to - position)));
    if (read === null) break;
    const bytes = chunk.subarray(0, read);
    const lines: Line[] = [];
    let start = 0;
    if (rest.length > 0) {
      start = bytes.indexOf(NEWLINE) + 1;
      if (start > 0) {
        const line = decoder.decode(concat([...rest, bytes.subarray(0, start - 1)]));
        rest = [];
        lines.push({ line, offset, end: position + start, whole: true });
        offset = position + start;
      }
    }
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > start) {
      addLines(lines, bytes.subarray(start, end), position + start, decoder);
      offset = position + end;
    }
    const left = Math.max(start, end);
    if (left < read) rest.push(chunk.slice(left, read));
    position += read;
    if (lines.length > 0) yield lines;
  }
  if (rest.length > 0) {
    yield [{ line: decoder.decode(concat(rest)), offset, end: position, whole: false }];
  }
}

function addLines(lines: Line[], bytes: Uint8Array, offset: number, decoder: TextDecoder): void {
  const text = decoder.decode(bytes);
  // If each character is one byte, a line is a slice of the text: one decoding for all.
  const plain = text.length === bytes.length;
  for (let start = 0; start < bytes.length;) {
    const at = bytes.indexOf(NEWLINE, start);
    const line = plain ? text.slice(start, at) : decoder.decode(bytes.subarray(start, at));
    lines.push({ line, offset: offset + start, end: offset + at + 1, whole: true });
    start = at + 1;
  }
}
