/** The operations of a unit on single files and directories. */
import type { BeneathFs, FileEntry } from "../beneath.ts";
import { runsLater } from "../later_files.ts";
import type { Pace } from "./pace.ts";
import { type UnitArgs, UnitError } from "./protocol.ts";

const CHUNK_BYTES = 256 * 1024;
const MAX_OUTPUT_BYTES = 256 * 1024;
const MAX_LINES = 2000;
const MAX_LINE_CHARS = 2000;
/** Whatever the characters, this many bytes hold `MAX_LINE_CHARS` of them. */
const MAX_LINE_BYTES = MAX_LINE_CHARS * 4;
/** How far past a cut lines are still counted, to say of how many the part is. */
const MAX_COUNT_BYTES = 16 * 1024 * 1024;
const MAX_WHOLE_BYTES = 10 * 1024 * 1024;
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
  return start.subarray(0, BINARY_PROBE_BYTES).includes(0);
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
export async function readFile({ fs, pace }: OpContext, args: UnitArgs): Promise<string> {
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
    lines.add(chunk);
    position += bytes;
    if (bytes < buffer.length) {
      lines.finish();
      break;
    }
    if (lines.bytesPastEnd > MAX_COUNT_BYTES) break;
    await pace.step();
  }
  if (size === 0 && position === 0) return "[the file is empty]";
  if (lines.taken === 0) {
    throw new UnitError(`${path}: has ${lines.total} lines, offset ${offset} is past its end`);
  }
  return lines.text();
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
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const line = this.#kept.map((part) => decoder.decode(part, { stream: true })).join("");
    if (line.length <= MAX_LINE_CHARS + 1 && this.#lineBytes === this.#keptBytes) {
      return line + decoder.decode();
    }
    return `${cutChars(line, MAX_LINE_CHARS)} [line cut: it has ${this.#lineBytes} bytes]\n`;
  }
}

/** The first characters of a text, never half of one. */
export function cutChars(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = /[\uD800-\uDBFF]$/.test(text.slice(0, max));
  return text.slice(0, half ? max - 1 : max);
}

/** `write_file {path, content}`: the whole file, made or replaced. */
export function writeFile({ fs }: OpContext, args: UnitArgs): string {
  const path = args.string("path");
  const data = new TextEncoder().encode(args.string("content"));
  const done = fs.write(path, data, byItsName(fs, path));
  return `${done} ${path} (${data.length} bytes)`;
}

/** Refuses a file that runs later under another name: nobody was asked about it. */
function byItsName(fs: OpContext["fs"], path: string): (place: string) => void {
  return (place) => {
    const runner = place === fs.relative(path) ? undefined : runsLater(place, undefined);
    if (runner === undefined) return;
    throw new UnitError(`${path}: it is really ${place} (${runner}); write it by that name`);
  };
}

/**
 * `edit_file {path, old_text, new_text, replace_all?}`: replaces a text that occurs exactly once,
 * or everywhere with `replace_all`.
 *
 * @throws {UnitError} when it does not occur, or more often than once
 */
export function editFile({ fs }: OpContext, args: UnitArgs): string {
  const path = args.string("path");
  const oldText = args.string("old_text");
  const newText = args.string("new_text");
  if (oldText === "") throw new UnitError(`"old_text" is empty; write_file writes a whole file`);
  if (oldText === newText) throw new UnitError(`"old_text" and "new_text" are the same`);
  const text = readWholeText(fs, path);
  const parts = text.split(oldText);
  const found = parts.length - 1;
  if (found === 0) throw new UnitError(notFound(path, text, oldText));
  if (found > 1 && !args.flag("replace_all")) {
    throw new UnitError(
      `${path}: old_text occurs ${found} times; give more of the text around it, ` +
        `or set replace_all`,
    );
  }
  const data = new TextEncoder().encode(parts.join(newText));
  fs.write(path, data, byItsName(fs, path));
  const line = parts[0].split("\n").length;
  const times = found === 1 ? `at line ${line}` : `${found} times, first at line ${line}`;
  return `edited ${path}: replaced ${times}`;
}

/** `read_text {path}`: the whole text as it is, for a program and not for a model. */
export function readText({ fs }: OpContext, args: UnitArgs): string {
  return readWholeText(fs, args.string("path"));
}

function readWholeText(fs: BeneathFs, path: string): string {
  const { size } = fs.stat(path);
  if (size > MAX_WHOLE_BYTES) {
    throw new UnitError(`${path}: is too large (${size} bytes, at most ${MAX_WHOLE_BYTES})`);
  }
  // One byte more than it had shows that it has grown since.
  const buffer = new Uint8Array(size + 1);
  const { bytes } = fs.read(path, 0, buffer);
  if (bytes > size) throw new UnitError(`${path}: changed while it was being read; try again`);
  const data = buffer.subarray(0, bytes);
  if (looksBinary(data)) throw new UnitError(`${path}: is a binary file (${size} bytes)`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new UnitError(`${path}: is not UTF-8 text`);
  }
}

function notFound(path: string, text: string, oldText: string): string {
  if (text.replaceAll("\r\n", "\n").includes(oldText.replaceAll("\r\n", "\n"))) {
    const ends = text.includes("\r\n") ? "\\r\\n" : "\\n";
    return `${path}: old_text occurs only with other line ends; the file's lines end in ${ends}`;
  }
  const squeeze = (value: string) => value.replace(/\s+/g, " ").trim();
  if (squeeze(oldText) !== "" && squeeze(text).includes(squeeze(oldText))) {
    return `${path}: old_text occurs only with different whitespace; copy it exactly as it is`;
  }
  return `${path}: old_text was not found`;
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
