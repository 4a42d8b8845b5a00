/** The operations of a unit on single files and directories. */
import { decodeText, isUtf16, lineDecoder } from "../../base/edits/encoding.ts";
import { type MediaHead, mediaHead, mediaProblem } from "../../base/media.ts";
import type { FileKind, FileStat } from "../../os/openat2.ts";
import { attachmentLine, attachmentName } from "../../protocol/attachments.ts";
import { type FileEntry, RootedError, type RootedFs } from "../rooted.ts";
import type { Leads } from "../runs_later.ts";
import type { Pace } from "./pace.ts";
import { type FileSeen, type OpOutcome, OUTPUT_MAX, type UnitArgs, UnitError } from "./protocol.ts";

const CHUNK_BYTES = 256 * 1024;
const MAX_LINES = 2000;
const MAX_LINE_CHARS = 2000;
/** Leaves room for the last line and a note. */
const MAX_OUTPUT_CHARS = OUTPUT_MAX - MAX_LINE_CHARS - 500;
const MAX_LINE_BYTES = MAX_LINE_CHARS * 4;
/** Bytes after a cut in which lines are still counted, for the total. */
const MAX_COUNT_BYTES = 16 * 1024 * 1024;
/** UTF-16 files are read whole. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
const MAX_ENTRIES = 1000;
/** A NUL in these marks a file as binary. */
const BINARY_PROBE_BYTES = 8 * 1024;
const NEWLINE = 10;

export interface OpContext {
  fs: RootedFs;
  /** Absolute real paths of the working directory and the person's home. */
  workdir: string;
  /** Stands before the paths that a search finds. */
  prefix?: string;
  home: string | undefined;
  /** What runs later because other files lead to it. */
  leads?: Leads;
  pace: Pace;
}

/** Reports whether a file is binary, by its first bytes. */
export function looksBinary(start: Uint8Array): boolean {
  return !isUtf16(start) && start.subarray(0, BINARY_PROBE_BYTES).includes(0);
}

/** `stat {path}`: kind and size; follows symlinks. */
export function stat({ fs }: OpContext, args: UnitArgs): string {
  const path = args.string("path");
  const { kind, size } = fs.stat(path);
  return kind === "file" ? `${path}: a file of ${size} bytes` : `${path}: a ${kind}`;
}

/**
 * `read_file {path, offset?, limit?}`: the unchanged text from a line on, and a note if there is
 * more; an image or a PDF as a whole.
 *
 * @throws {UnitError} for another binary file, one that is too large for a model, an offset past
 * the end, or a file that changes meanwhile
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
    const head = position === 0 ? mediaHead(chunk) : undefined;
    if (head !== undefined) return readMedia(fs, path, head, stat);
    if (position === 0 && looksBinary(chunk)) {
      throw new UnitError(`${path}: is a binary file (${stat.size} bytes)`);
    }
    if (position === 0) lines.decode = lineDecoder(chunk.slice());
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
    throw new UnitError(`${path}: has ${lines.total} lines; offset ${offset} is past its end`);
  }
  const output = lines.text();
  const whole = offset === 1 && lines.whole;
  return { output, files: [whole ? { ...seen, text: output.replace(/^\ufeff/, "") } : seen] };
}

/** Reads an image or a PDF, whatever its name says. */
function readMedia(fs: RootedFs, path: string, head: MediaHead, first: FileStat): OpOutcome {
  const { size, version } = first;
  const problem = mediaProblem(head, size);
  if (problem !== undefined) throw new UnitError(`${path}: ${problem}`);
  const data = new Uint8Array(size);
  const { bytes, stat } = fs.read(path, 0, data);
  if (bytes !== size || stat.version !== version) {
    throw new UnitError(`${path}: changed while it was being read; try again`);
  }
  const { media_type } = head;
  const name = attachmentName(path, "file");
  const output = attachmentLine({ media_type, name, bytes: size });
  return { output, media: [{ media_type, name, data }], files: [{ path, version }] };
}

function utf8Of(fs: RootedFs, path: string, size: number): Uint8Array<ArrayBuffer> {
  if (size > MAX_WHOLE_BYTES) {
    throw new UnitError(`${path}: is too large for UTF-16 (${size} bytes)`);
  }
  const whole = new Uint8Array(size);
  const { bytes } = fs.read(path, 0, whole);
  const file = bytes === size ? decodeText(whole) : undefined;
  if (file === undefined) throw new UnitError(`${path}: is not valid UTF-16`);
  return new TextEncoder().encode(file.text);
}

/** Picks lines out of a stream, in memory no larger than the result. */
class LineWindow {
  /** Lines kept. */
  taken = 0;
  /** Bytes seen after the last kept line. */
  bytesPastEnd = 0;
  /** Decodes a line; set it before the first. */
  decode: ReturnType<typeof lineDecoder> = lineDecoder(new Uint8Array());
  #parts: string[] = [];
  #outputChars = 0;
  #line = 1;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #lineBytes = 0;
  #finished = false;
  #cut = false;

  constructor(readonly offset: number, readonly limit: number) {}

  /** Lines so far; after {@linkcode finish} of the whole file. */
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

  /** Returns the kept lines, and a note if the file has more. */
  text(): string {
    const text = this.#parts.join("");
    const last = this.offset + this.taken - 1;
    if (this.#finished && last === this.total) return text;
    const of = this.#finished ? ` of ${this.total}` : "";
    const gap = text.endsWith("\n") ? "" : "\n";
    return `${text}${gap}[lines ${this.offset}–${last}${of}; continue with offset ${last + 1}]`;
  }

  /** Whether {@linkcode text} is the whole file, unchanged. */
  get whole(): boolean {
    return this.#finished && this.offset + this.taken - 1 === this.total && !this.#cut;
  }

  get #full(): boolean {
    return this.taken >= this.limit || this.#outputChars >= MAX_OUTPUT_CHARS;
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
    // The chunk's buffer is reused.
    this.#kept.push(bytes.slice(0, room));
    this.#keptBytes += Math.min(room, bytes.length);
  }

  #endLine(): void {
    if (this.#line >= this.offset && !this.#full) {
      const line = this.#cutLine();
      this.#parts.push(line);
      this.#outputChars += line.length;
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
    const line = this.decode(bytes, cut);
    if (line.length <= MAX_LINE_CHARS + 1 && !cut) return line;
    this.#cut = true;
    return `${cutChars(line, MAX_LINE_CHARS)} [line cut: it has ${this.#lineBytes} bytes]\n`;
  }
}

/** Returns the first characters of a text without splitting one. */
export function cutChars(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = /[\uD800-\uDBFF]$/.test(text.slice(0, max));
  return text.slice(0, half ? max - 1 : max);
}

/** `list_dir {path?}`: one name per line, directories with a slash, files with their size. */
export function listDir({ fs }: OpContext, args: UnitArgs): string {
  const path = args.string("path", ".");
  const entries = fs.list(path, { details: true }).sort((a, b) => byText(a.name, b.name));
  if (entries.length === 0) return "[the directory is empty]";
  const lines = entries.slice(0, MAX_ENTRIES).map(entryLine);
  if (entries.length > MAX_ENTRIES) {
    lines.push(`[${MAX_ENTRIES} of ${entries.length} entries; use glob to find the others]`);
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

/** Returns the kind of what is at a path; undefined if it is missing or not accessible. */
export function kindAt(fs: RootedFs, path: string): FileKind | undefined {
  try {
    return fs.stat(path).kind;
  } catch (error) {
    if (error instanceof RootedError) return undefined;
    throw error;
  }
}

/** Returns the entries of a directory; none if it is missing or not accessible. */
export function entriesAt(fs: RootedFs, path: string, max?: number): FileEntry[] {
  try {
    return fs.list(path, { max });
  } catch (error) {
    if (error instanceof RootedError) return [];
    throw error;
  }
}

/** Compares by code units, the same on every system. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
