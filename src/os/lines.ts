/** Reading append-only files of lines, such as journals, from any byte on. */
import { openOwnFile } from "./files.ts";

const NEWLINE = 0x0a;
const CHUNK = 256 * 1024;

/** One line of a file. */
export interface Line {
  line: string;
  /** Byte offset of the line and of what follows its newline. */
  offset: number;
  end: number;
  /** Whether it ended with a newline. */
  whole: boolean;
}

/**
 * The lines of a file between two byte offsets; never holds more than one chunk and one line. The
 * file is opened within the first `next()` itself, so a file put in its place later does not matter.
 */
export async function* readLines(path: string, from: number, to: number): AsyncGenerator<Line> {
  using file = openOwnFile(path);
  file.seekSync(from, Deno.SeekMode.Start);
  const decoder = new TextDecoder();
  // No larger than what is read: most journals are small, and many are read at once.
  const chunk = new Uint8Array(Math.min(CHUNK, Math.max(0, to - from)));
  let rest: Uint8Array[] = [];
  let offset = from;
  let position = from;
  while (position < to) {
    const read = await file.read(chunk.subarray(0, Math.min(chunk.length, to - position)));
    if (read === null) break;
    position += read;
    const bytes = chunk.subarray(0, read);
    let start = 0;
    for (let at; (at = bytes.indexOf(NEWLINE, start)) >= 0; start = at + 1) {
      const piece = bytes.subarray(start, at);
      const line = rest.length === 0 ? decoder.decode(piece) : decoder.decode(joined(rest, piece));
      rest = [];
      const end = position - read + at + 1;
      yield { line, offset, end, whole: true };
      offset = end;
    }
    if (start < read) rest.push(bytes.slice(start));
  }
  if (rest.length > 0) {
    yield { line: decoder.decode(joined(rest)), offset, end: position, whole: false };
  }
}

function joined(parts: Uint8Array[], last: Uint8Array = new Uint8Array()): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, it) => sum + it.length, last.length));
  let at = 0;
  for (const part of [...parts, last]) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
