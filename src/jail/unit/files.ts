/** The operations of a unit on single files and directories. */
import { decodeLine, decodeText, isUtf16 } from "../../base/edits/encoding.ts";
import type { BeneathFs, FileEntry } from "../beneath.ts";
import type { Pace } from "./pace.ts";
import { type FileSeen, type OpOutcome, type UnitArgs, UnitError } from "./protocol.ts";

const CHUNK_BYTES = 256 * 1024;
const MAX_OUTPUT_BYTES = 256 * 1024;
const MAX_LINES = 2000;
const MAX_LINE_CHARS = 2000;
/** Whatever the characters, this many bytes hold `MAX_LINE_CHARS` of them. */
const MAX_LINE_BYTES = MAX_LINE_CHARS * 4;
/** How far past a cut lines are still counted, to say of how many the part is. */
const MAX_COUNT_BYTES = 16 * 1024 * 1024;
/** Of UTF-16, which is read whole. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
const MAX_ENTRIES = 1000;
/** A NUL this early makes a file binary. */
const BINARY_PROBE_BYTES = 8 * 1024;
const NEWLINE = 10;

/** What an operation works with. */
export interface OpContext {
  fs: BeneathFs;
  pace: Pace;
}

/** Whether the first bytes of a file are those of a binary one. */
export function looksBinary(start: Uint8Array): boolean {
  return !isUtf16(start) && start.subarray(0, BINARY_PROBE_BYTES).includes(0);
}

/** `stat {path}`: what a path stands for and how large it is; symlinks are followed. */
export function stat({ fs }: OpContext, args: UnitArgs): string {
  const path = args.string("path");
  const { kind, size } = fs.stat(path);
  return kind === "file" ? `${path}: a file of ${size} bytes` : `${path}: a ${kind}`;
}

/**
 * `read_file {path, offset?, limit?}`: the text as it is, from a line on, with a note after it when
 * there is more.
 *
 * @throws {UnitError} for a binary file, an offset past the end, or a file that changes meanwhile
 */
export async function readFile({ fs, pace }: OpContext, args: UnitArgs): Promise<OpOutcome> {
  const path = args.string("path");
  const offset = args.count("offset", 1, Number.MAX_SAFE_INTEGER);
  const limit = args.count("limit", MAX_LINES, Number.MAX_SAFE_INTEGER);
  const lines = new LineWindow(offset, limit);
  const buffer = new Uint8Array(CHUNK_BYTES);
  let version: string | undefined;
  let size = 0;
  let position = 0;
  for (;;) {
    const { bytes, stat } = fs.read(path, position, buffer);
    if (version !== undefined && version !== stat.version) {
      throw new UnitError(`${path}: changed while it was being read; try again`);
    }
    version = stat.version;
    size = stat.size;
    const chunk = buffer.subarray(0, bytes);
    if (position === 0 && looksBinary(chunk)) {
      throw new UnitError(`${path}: is a binary file (${stat.size} bytes)`);
    }
    if (position === 0 && isUtf16(chunk)) {
      lines.add(utf8Of(fs, path, size));
      lines.finish();
      break;
    }
    lines.add(chunk);
    position += bytes;
    if (bytes < buffer.length) {
      lines.finish();
      break;
    }
    if (lines.bytesPastEnd > MAX_COUNT_BYTES) break;
    await pace.step();
  }
  const seen: FileSeen = { path, version };
  if (size === 0 && position === 0) {
    return { output: "[the file is empty]", files: [{ ...seen, text: "" }] };
  }
  if (lines.taken === 0) {
    throw new UnitError(`${path}: has ${lines.total} lines, offset ${offset} is past its end`);
  }
  const output = lines.text();
  const whole = offset === 1 && lines.whole;
  return { output, files: [whole ? { ...seen, text: output.replace(/^\ufeff/, "") } : seen] };
}

/** A UTF-16 file as UTF-8. */
function utf8Of(fs: BeneathFs, path: string, size: number): Uint8Array<ArrayBuffer> {
  if (size > MAX_WHOLE_BYTES) {
    throw new UnitError(`${path}: is too large for UTF-16 (${size} bytes)`);
  }
  const whole = new Uint8Array(size);
  const { bytes } = fs.read(path, 0, whole);
  const file = bytes === size ? decodeText(whole) : undefined;
  if (file === undefined) throw new UnitError(`${path}: is UTF-16, but damaged`);
  return new TextEncoder().encode(file.text);
}

/** Picks lines out of a stream of bytes, keeping no more of it than it gives back. */
class LineWindow {
  /** Lines kept. */
  taken = 0;
  /** Bytes seen after the last line kept. */
  bytesPastEnd = 0;
  #parts: string[] = [];
  #outputBytes = 0;
  #line = 1;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #lineBytes = 0;
  #finished = false;
  #cut = false;

  constructor(readonly offset: number, readonly limit: number) {}

  /** Lines seen so far; after {@linkcode finish} the lines of the file. */
  get total(): number {
    return this.#line - 1;
  }

  add(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.length : newline + 1;
      this.#feed(chunk.subarray(at, end));
      if (newline >= 0) this.#endLine();
      at = end;
    }
  }

  finish(): void {
    if (this.#lineBytes > 0) this.#endLine();
    this.#finished = true;
  }

  /** The lines kept, and a note when they are not the rest of the file. */
  text(): string {
    const text = this.#parts.join("");
    const last = this.offset + this.taken - 1;
    if (this.#finished && last === this.total) return text;
    const of = this.#finished ? ` of ${this.total}` : "";
    const gap = text.endsWith("\n") ? "" : "\n";
    return `${text}${gap}[lines ${this.offset}–${last}${of}; read on with offset ${last + 1}]`;
  }

  /** Whether {@linkcode text} is all there is, each line as it is. */
  get whole(): boolean {
    return this.#finished && this.offset + this.taken - 1 === this.total && !this.#cut;
  }

  get #full(): boolean {
    return this.taken >= this.limit || this.#outputBytes >= MAX_OUTPUT_BYTES;
  }

  #feed(bytes: Uint8Array): void {
    this.#lineBytes += bytes.length;
    if (this.#line < this.offset) return;
    if (this.#full) {
      this.bytesPastEnd += bytes.length;
      return;
    }
    const room = MAX_LINE_BYTES - this.#keptBytes;
    if (room <= 0) return;
    // A copy: the chunk's buffer is used again.
    this.#kept.push(bytes.slice(0, room));
    this.#keptBytes += Math.min(room, bytes.length);
  }

  #endLine(): void {
    if (this.#line >= this.offset && !this.#full) {
      const line = this.#cutLine();
      this.#parts.push(line);
      this.#outputBytes += this.#keptBytes;
      this.taken++;
    }
    this.#kept = [];
    this.#keptBytes = 0;
    this.#lineBytes = 0;
    this.#line++;
  }

  #cutLine(): string {
    const bytes = new Uint8Array(this.#keptBytes);
    let at = 0;
    for (const part of this.#kept) {
      bytes.set(part, at);
      at += part.length;
    }
    const cut = this.#lineBytes !== this.#keptBytes;
    const line = decodeLine(bytes, cut);
    if (line.length <= MAX_LINE_CHARS + 1 && !cut) return line;
    this.#cut = true;
    return `${cutChars(line, MAX_LINE_CHARS)} [line cut: it has ${this.#lineBytes} bytes]\n`;
  }
}

/** The first characters of a text, never half of one. */
export function cutChars(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = /[\uD800-\uDBFF]$/.test(text.slice(0, max));
  return text.slice(0, half ? max - 1 : max);
}

/** `list_dir {path?}`: one name a line, directories with a slash, files with their size. */
export function listDir({ fs }: OpContext, args: UnitArgs): string {
  const path = args.string("path", ".");
  const entries = fs.list(path, { details: true }).sort((a, b) => byText(a.name, b.name));
  if (entries.length === 0) return "[the directory is empty]";
  const lines = entries.slice(0, MAX_ENTRIES).map(entryLine);
  if (entries.length > MAX_ENTRIES) {
    lines.push(`[${MAX_ENTRIES} of ${entries.length} entries; glob finds the others]`);
  }
  return lines.join("\n");
}

function entryLine({ name, kind, size, target }: FileEntry): string {
  switch (kind) {
    case "directory":
      return `${name}/`;
    case "symlink":
      return `${name} -> ${target}`;
    case "file":
      return `${name}  ${size} bytes`;
    case "other":
      return `${name}  (a pipe, socket or device)`;
  }
}

/** Orders by code units, the same on every system. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
