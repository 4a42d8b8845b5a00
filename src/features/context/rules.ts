/**
 * Finds and reads the rules for a session: instructions of the person and of the project. Others,
 * even the session's commands, can write all but the person's own. So files are read below a
 * directory, links that lead out are not followed, and writable files import only what the session
 * can read.
 */
import { createHash } from "node:crypto";
import { dirname, isAbsolute, join, normalize } from "@std/path";
import { decodeText } from "../../base/edits/encoding.ts";
import { RootedError } from "../../jail/rooted.ts";
import type { UntrustedFiles, UntrustedReader } from "../../jail/untrusted_files.ts";
import { isWithin } from "../../os/paths.ts";
import type { RulesFile, SkippedRules } from "../../protocol/events.ts";
import { type Import, importsIn } from "./imports.ts";

/** The first non-empty one in each directory counts. */
export const RULES_NAMES: readonly string[] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

const FILE_BYTES_MAX = 64 * 1024;
const ALL_BYTES_MAX = 128 * 1024;
const FILES_MAX = 50;
/** Of imports. */
const DEPTH_MAX = 5;
/** Limits of imports and of reported files. */
const IMPORTS_MAX = 200;
const SKIPPED_MAX = 50;
/** In characters. */
const CACHED_MAX = 512 * 1024;

export interface Rules extends RulesFile {
  text: string;
  /** The directory that it holds for; undefined for the person's rules, which hold everywhere. */
  below?: string;
}

export interface RulesFound {
  /** More specific files come later. */
  files: Rules[];
  skipped: SkippedRules[];
}

/** Absolute real paths. */
export interface RulesPlaces {
  /** svc's home. */
  home: string | undefined;
  /** The top of the project: the session's directory, or one above it. */
  root: string;
  workdir: string;
  /** Directories below the session's. */
  deeper: readonly string[];
  /** Hidden from the session's tools. */
  hidden: readonly string[];
}

/** From the project's top to the session's directory. */
function directoriesDown({ root, workdir }: RulesPlaces): string[] {
  const found = [workdir];
  while (found[0] !== root) found.unshift(dirname(found[0]));
  return found;
}

/** A text, or why it was not read. */
type Read = Text | { reason: string };

interface Text {
  text: string;
  bytes: number;
  sha256: string;
  /** The real path. */
  real: string;
  imports: readonly Import[];
}

interface Cached {
  version: string;
  read: Read;
}

/** Caches files until they change. */
export class RulesReader {
  readonly #untrusted: UntrustedReader;
  readonly #cached = new Map<string, Cached>();
  #cached_length = 0;

  constructor(untrusted: UntrustedReader) {
    this.#untrusted = untrusted;
  }

  /** Reads the rules of all places. Never throws: unreadable files are skipped. */
  read(places: RulesPlaces): RulesFound {
    const reading = new Reading(places, (path, within) => this.#read(path, within, places.hidden));
    const { home, root, workdir } = places;
    if (home !== undefined) reading.directory(home, { within: home });
    for (const directory of directoriesDown(places)) {
      const within = directory === workdir ? workdir : root;
      reading.directory(directory, { within, below: directory });
    }
    for (const directory of places.deeper) {
      reading.directory(directory, { within: workdir, below: directory });
    }
    return reading.found;
  }

  #read(path: string, within: string, hidden: readonly string[]): Read | undefined {
    const version = versionOf(path);
    if (version === undefined) return undefined;
    const key = JSON.stringify([within, path]);
    const before = this.#cached.get(key);
    if (before?.version === version) return before.read;
    const read = readFile(path, this.#untrusted.files(within, hidden));
    if (read === undefined) return undefined;
    const length = "text" in read ? read.text.length : 0;
    if (this.#cached_length + length > CACHED_MAX) {
      this.#cached.clear();
      this.#cached_length = 0;
    }
    this.#cached_length += length;
    this.#cached.set(key, { version, read });
    return read;
  }
}

/** Differs after a change of the file or its content; undefined without a file. */
function versionOf(path: string): string | undefined {
  try {
    const { dev, ino, size, mtime, ctime, isFile } = Deno.statSync(path);
    return [dev, ino, size, mtime?.getTime(), ctime?.getTime(), isFile].join();
  } catch {
    return undefined;
  }
}

function readFile(path: string, files: UntrustedFiles): Read | undefined {
  try {
    const data = files.read(path, FILE_BYTES_MAX);
    if (data === undefined) return undefined;
    const decoded = decodeText(data)?.text;
    if (decoded === undefined || decoded.includes("\0")) return { reason: "is no text" };
    const sha256 = createHash("sha256").update(data).digest("hex");
    const text = decoded.trim();
    const real = Deno.realPathSync(path);
    return { text, bytes: data.length, sha256, real, imports: importsIn(text) };
  } catch (error) {
    if (error instanceof RootedError) {
      // The message begins with the path.
      return { reason: error.message.slice(error.message.indexOf(": ") + 2) };
    }
    if (error instanceof Deno.errors.NotFound) return undefined;
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Where a file may import from, and what it holds for. */
interface Bounds {
  within: string;
  below?: string;
}

class Reading {
  readonly found: RulesFound = { files: [], skipped: [] };
  readonly #places: RulesPlaces;
  readonly #read: (path: string, within: string) => Read | undefined;
  /** Real paths. */
  readonly #seen = new Set<string>();
  #bytes = 0;
  #imports = 0;

  constructor(places: RulesPlaces, read: (path: string, within: string) => Read | undefined) {
    this.#places = places;
    this.#read = read;
  }

  /** Reads the first non-empty rules file of a directory. */
  directory(directory: string, bounds: Bounds): void {
    for (const name of RULES_NAMES) {
      if (this.#file(join(directory, name), bounds)) return;
    }
  }

  /** Reads a file with its imports. @returns whether it has content */
  #file(path: string, bounds: Bounds, imported_by?: string, depth = 0): boolean {
    const { within, below } = bounds;
    const read = this.#read(path, within);
    if (read === undefined) return false;
    if ("reason" in read) return this.#skip(path, read.reason, imported_by);
    const { text, bytes, sha256, real, imports } = read;
    if (text === "") return false;
    if (this.#seen.has(real)) return true;
    if (this.found.files.length >= FILES_MAX) {
      return this.#skip(path, `there are more than ${FILES_MAX} files of rules`, imported_by);
    }
    if (this.#bytes + bytes > ALL_BYTES_MAX) {
      return this.#skip(path, `all rules have more than ${ALL_BYTES_MAX} bytes`, imported_by);
    }
    this.#seen.add(real);
    this.#bytes += bytes;
    const by = imported_by === undefined ? {} : { imported_by };
    this.found.files.push({ path, bytes, sha256, ...by, text, below });
    const { workdir } = this.#places;
    // Files that the session can write import only what it can read.
    const narrow = isWithin(path, workdir) || isWithin(real, workdir);
    const more = { within: narrow ? workdir : within, below };
    for (const each of imports) this.#import(each, path, more, depth + 1);
    return true;
  }

  #import(
    { path: written, meant }: { path: string; meant: boolean },
    by: string,
    bounds: Bounds,
    depth: number,
  ): void {
    if (++this.#imports > IMPORTS_MAX) return;
    const path = isAbsolute(written) ? normalize(written) : join(dirname(by), written);
    if (written.startsWith("~") || !isWithin(path, bounds.within)) {
      if (meant) this.#skip(path, `lies outside of ${bounds.within}`, by);
      return;
    }
    // Keys and tokens may be beside the person's rules.
    if (bounds.within === this.#places.home && !meant) return;
    if (depth > DEPTH_MAX) {
      this.#skip(path, `is imported more than ${DEPTH_MAX} files deep`, by);
    } else if (!this.#file(path, bounds, by, depth) && meant && !this.#isSkipped(path)) {
      this.#skip(path, "is not there, or empty", by);
    }
  }

  #skip(path: string, reason: string, imported_by?: string): false {
    const { skipped } = this.found;
    const by = imported_by === undefined ? {} : { imported_by };
    if (skipped.length < SKIPPED_MAX) skipped.push({ path, reason, ...by });
    return false;
  }

  #isSkipped(path: string): boolean {
    return this.found.skipped.some((it) => it.path === path);
  }
}
