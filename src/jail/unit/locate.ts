/** Finds the file that a model means by a path that does not exist as given. */
import { lineOf } from "../../base/edits/views.ts";
import { RootedError, type RootedFs } from "../rooted.ts";
import { entriesAt, kindAt, type OpContext } from "./files.ts";
import { type OpOutcome, type UnitArgs, UnitError } from "./protocol.ts";

export interface Located {
  path: string;
  /** Says that it differs from the given path. */
  note?: string;
}

/** Names in a refusal. */
const NAMED_MAX = 5;

/**
 * `locate {paths, home?}`: each path as it is on disk, as JSON: a list of {@linkcode Located}.
 *
 * @throws {UnitError} if several names look like a missing one
 */
export function locate({ fs }: OpContext, args: UnitArgs): OpOutcome {
  const home = args.optionalString("home");
  return { output: JSON.stringify(args.strings("paths").map((path) => located(fs, path, home))) };
}

function located(fs: RootedFs, given: string, home: string | undefined): Located {
  if (/^~(?=\/|$)/.test(given) && home === undefined) {
    throw new UnitError(`${given}: "~" is not known here; use a path inside the working directory`);
  }
  // "~" is the home directory, even if a file has that name.
  if (!given.startsWith("~") && isThere(fs, given)) return { path: given };
  const path = plainPath(given, home);
  if (path !== given && (isThere(fs, path) || isOutside(fs, path))) return { path };
  for (const other of otherForms(path)) {
    if (startsThere(fs, other)) return noted(given, lookalike(fs, other) ?? other);
  }
  const found = lookalike(fs, path);
  return found === undefined ? { path } : noted(given, found);
}

/** Resolves a `file:` address or a path that begins with `~`. */
function plainPath(path: string, home: string | undefined): string {
  if (home !== undefined && /^~(?=\/|$)/.test(path)) return home + path.slice(1);
  const [, encoded] = path.match(/^file:(?:\/\/(?:localhost)?)?(\/.*)$/i) ?? [];
  if (encoded === undefined) return path;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

/** Undoes a shell's escapes or quotes, or the separators of Windows. */
function* otherForms(path: string): Generator<string> {
  const [, , quoted] = path.match(/^(["'`])(.+)\1$/s) ?? [];
  if (quoted !== undefined) yield quoted;
  const unescaped = path.replace(/\\([ ()[\]{}&'"$!*?~#;])/g, "$1");
  if (unescaped !== path) yield unescaped;
  if (path.includes("\\")) yield path.replaceAll("\\", "/");
}

/** Reports whether a path or its first directory exists. */
function startsThere(fs: RootedFs, path: string): boolean {
  if (isThere(fs, path)) return true;
  const slash = path.indexOf("/", 1);
  return slash > 0 && isThere(fs, path.slice(0, slash));
}

/**
 * Follows a path part by part, and replaces a missing part by a name that looks the same: with
 * other blanks, quotes or dashes, or other composed accents. @returns undefined without such a name
 */
function lookalike(fs: RootedFs, path: string): string | undefined {
  let relative: string;
  try {
    relative = fs.relative(path);
  } catch (error) {
    if (error instanceof RootedError) return undefined;
    throw error;
  }
  const parts = relative.split("/");
  let at = "";
  let changed = false;
  for (const [n, part] of parts.entries()) {
    const as_given = at === "" ? part : `${at}/${part}`;
    const name = isThere(fs, as_given) ? part : sameLook(fs, at, part);
    if (name === undefined) return changed ? [at, ...parts.slice(n)].join("/") : undefined;
    changed ||= name !== part;
    at = at === "" ? name : `${at}/${name}`;
  }
  return changed ? at : undefined;
}

function sameLook(fs: RootedFs, directory: string, part: string): string | undefined {
  const look = lineOf(part);
  const alike = entriesAt(fs, directory || ".").map(({ name }) => name)
    .filter((name) => lineOf(name) === look).sort();
  if (alike.length <= 1) return alike[0];
  const names = alike.slice(0, NAMED_MAX).map(spelled).join(", ");
  throw new UnitError(
    `${part}: no such name, and several look like it; give one exactly: ${names}`,
  );
}

function noted(given: string, path: string): Located {
  return { path, note: `[${JSON.stringify(given)} is not there; ${spelled(path)} is meant]` };
}

/** Writes a name with escapes for ambiguous characters. */
function spelled(name: string): string {
  return JSON.stringify(name).replace(
    /[\p{Zs}\p{Pi}\p{Pf}\p{Pd}\p{M}\p{Cf}]/gu,
    (char) => /[ -~]/.test(char) ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function isThere(fs: RootedFs, path: string): boolean {
  return kindAt(fs, path) !== undefined;
}

function isOutside(fs: RootedFs, path: string): boolean {
  try {
    fs.stat(path);
    return false;
  } catch (error) {
    if (error instanceof RootedError) return error.reason === "outside";
    throw error;
  }
}
