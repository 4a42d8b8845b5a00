/** The operations of a unit that search a tree: glob and grep. */
import { globToRegExp } from "@std/path";
import { shownText } from "../../base/edits/encoding.ts";
import { RootedError, type RootedFs } from "../rooted.ts";
import { cutChars, kindAt, looksBinary, type OpContext } from "./files.ts";
import { within } from "./pace.ts";
import { globOf, translated } from "./pattern.ts";
import { type UnitArgs, UnitError } from "./protocol.ts";
import { walk } from "./walk.ts";

const MAX_PATHS = 1000;
const DEFAULT_MATCHES = 200;
const MAX_MATCHES = 2000;
const MAX_LINE_CHARS = 500;
const MAX_FILE_BYTES = 5 * 1024 * 1024;
const PROBE_BYTES = 64 * 1024;
/** Time for a pattern on one file or path. */
const MATCH_MS = 2000;
/** Skipped files named in a note. */
const MAX_NAMED = 5;

/** `glob {pattern, path?}`: the files below `path` whose path matches, sorted, one per line. */
export async function glob({ fs, prefix = "", pace }: OpContext, args: UnitArgs): Promise<string> {
  const start = fs.relative(args.string("path", "."));
  const pattern = globPattern(fs, args.string("pattern"), start);
  const { matchers, literal } = globOf(fs, start, pattern);
  const skip = start === "" ? 0 : start.length + 1;
  const named = prefix + (start === "" ? pattern : `${start}/${pattern}`);
  // A walk could leave it out.
  if (literal !== undefined) return literal === "file" ? named : `${named}/`;
  const matches = (below: string) => matchers.some((each) => test(each, below, pattern));
  const paths: string[] = [];
  for (const { path, kind } of walk(fs, start)) {
    await pace.step();
    if (kind === "directory" || !matches(path.slice(skip))) continue;
    if (kind === "symlink" && kindAt(fs, path) !== "file") continue;
    if (paths.length === MAX_PATHS) {
      paths.push(`[stopped at ${MAX_PATHS} files; use a narrower pattern]`);
      break;
    }
    paths.push(prefix + path);
  }
  if (paths.length > 0) return paths.join("\n");
  const hint = pattern.includes("/") ? "" : `; "**/${pattern}" searches all directories`;
  return `[no file matches${hint}]`;
}

function globPattern(fs: RootedFs, given: string, start: string): string {
  if (given === "" || given.includes("\0")) throw new UnitError(`"pattern" is not a glob`);
  // As for a path: it may be absolute, and must not lead out.
  const pattern = fs.relative(given);
  const absolute = given.startsWith("/");
  if (!absolute || start === "") return pattern;
  if (!pattern.startsWith(`${start}/`)) throw new UnitError(`"pattern" is outside "path"`);
  return pattern.slice(start.length + 1);
}

function test(matcher: RegExp, path: string, pattern: string): boolean {
  const matches = within(MATCH_MS, () => matcher.test(path));
  if (matches === undefined) {
    throw new UnitError(`the pattern ${pattern} takes too long; simplify it`);
  }
  return matches;
}

/**
 * `grep {pattern, path?, include?, ignore_case?, limit?}`: matching lines as `path:line: text`.
 *
 * @throws {UnitError} for an invalid regular expression, or one that backtracks without end
 */
export async function grep({ fs, prefix, pace }: OpContext, args: UnitArgs): Promise<string> {
  const pattern = toRegExp(args.string("pattern"), args.flag("ignore_case"));
  const limit = args.count("limit", DEFAULT_MATCHES, MAX_MATCHES);
  const start = fs.relative(args.string("path", "."));
  const included = includeRule(args.optionalString("include"));
  const search = new Search(fs, pattern, { limit, prefix });
  if (fs.stat(start || ".").kind === "file") {
    search.file(start, true);
    return search.text();
  }
  const skip = start === "" ? 0 : start.length + 1;
  for (const { path, kind } of walk(fs, start)) {
    await pace.step();
    if (kind !== "file" || !included(path.slice(skip))) continue;
    search.file(path);
    if (search.full) break;
  }
  return search.text();
}

function toRegExp(given: string, ignoreCase: boolean): RegExp {
  const source = translated(given);
  const flags = ignoreCase ? "i" : "";
  try {
    // With "u" for \p{…}; without it for escapes of ordinary characters, which "u" refuses.
    return new RegExp(source, `${flags}u`);
  } catch {
    try {
      return new RegExp(source, flags);
    } catch (error) {
      throw new UnitError(`"pattern": ${(error as Error).message} (JavaScript syntax is expected)`);
    }
  }
}

/** A glob without a slash matches the file's name, as in other tools. */
function includeRule(include: string | undefined): (path: string) => boolean {
  if (include === undefined) return () => true;
  const matcher = globToRegExp(include, { extended: true, globstar: true });
  const whole = include.includes("/");
  return (path) => {
    const subject = whole ? path : path.slice(path.lastIndexOf("/") + 1);
    // A name may contain glob characters.
    return subject === include || test(matcher, subject, include);
  };
}

/** The matches of one grep. */
class Search {
  readonly #fs: RootedFs;
  readonly #pattern: RegExp;
  readonly #limit: number;
  readonly #prefix: string;
  readonly #matches: string[] = [];
  readonly #tooLarge: string[] = [];
  readonly #unreadable: string[] = [];
  readonly #binary: string[] = [];
  readonly #probe = new Uint8Array(PROBE_BYTES);

  constructor(
    fs: RootedFs,
    pattern: RegExp,
    { limit, prefix = "" }: { limit: number; prefix?: string },
  ) {
    this.#fs = fs;
    this.#pattern = pattern;
    this.#limit = limit;
    this.#prefix = prefix;
  }

  get full(): boolean {
    return this.#matches.length >= this.#limit;
  }

  /** @param named whether the call names this file */
  file(path: string, named = false): void {
    const text = this.#read(path, named);
    if (text === undefined) return;
    // A new list, because an interrupted run must leave nothing behind.
    const found = within(MATCH_MS, () => this.#lines(path, text));
    if (found === undefined) {
      throw new UnitError(
        `the pattern takes too long on ${path} (it backtracks); simplify it or make it more specific`,
      );
    }
    this.#matches.push(...found);
  }

  text(): string {
    const lines = [...this.#matches];
    if (lines.length === 0) lines.push("[no match]");
    if (this.full) lines.push(`[stopped at ${this.#limit} matches]`);
    const note = (files: string[], why: string) => {
      if (files.length === 0) return;
      const more = files.length > MAX_NAMED ? ` and ${files.length - MAX_NAMED} more` : "";
      lines.push(`[skipped, ${why}: ${files.slice(0, MAX_NAMED).join(", ")}${more}]`);
    };
    note(this.#tooLarge, "over 5 MiB");
    note(this.#unreadable, "not readable");
    note(this.#binary, "binary");
    return lines.join("\n");
  }

  /** `undefined` if the file is skipped. */
  #read(path: string, named: boolean): string | undefined {
    try {
      const { bytes, stat } = this.#fs.read(path, 0, this.#probe);
      const start = this.#probe.subarray(0, bytes);
      if (looksBinary(start)) {
        if (named) this.#binary.push(path);
        return undefined;
      }
      if (stat.size > MAX_FILE_BYTES) {
        this.#tooLarge.push(path);
        return undefined;
      }
      if (bytes < this.#probe.length) return this.#shown(path, start);
      const whole = new Uint8Array(stat.size);
      const { bytes: all } = this.#fs.read(path, 0, whole);
      return this.#shown(path, whole.subarray(0, all));
    } catch (error) {
      if (!(error instanceof RootedError)) throw error;
      this.#unreadable.push(path);
      return undefined;
    }
  }

  #shown(path: string, data: Uint8Array<ArrayBuffer>): string | undefined {
    const text = shownText(data);
    if (text === undefined) this.#unreadable.push(path);
    return text;
  }

  #lines(path: string, text: string): string[] {
    const found: string[] = [];
    const room = this.#limit - this.#matches.length;
    for (let at = 0, line = 1; at < text.length && found.length < room; line++) {
      const newline = text.indexOf("\n", at);
      const end = newline < 0 ? text.length : newline;
      const content = text.slice(at, text[end - 1] === "\r" && end > at ? end - 1 : end);
      const match = this.#pattern.exec(content);
      if (match !== null) found.push(`${this.#prefix}${path}:${line}: ${shorten(content, match)}`);
      at = end + 1;
    }
    return found;
  }
}

/** The part of a long line around the match. */
function shorten(line: string, { index, 0: { length } }: RegExpExecArray): string {
  if (line.length <= MAX_LINE_CHARS) return line;
  const before = Math.max(0, Math.min((MAX_LINE_CHARS - length) / 2, MAX_LINE_CHARS / 2));
  const from = index + length <= MAX_LINE_CHARS ? 0 : Math.floor(index - before);
  const rest = line.slice(from).replace(/^[\uDC00-\uDFFF]/, "");
  const end = rest.length <= MAX_LINE_CHARS ? "" : "…";
  return `${from === 0 ? "" : "…"}${cutChars(rest, MAX_LINE_CHARS)}${end}`;
}
