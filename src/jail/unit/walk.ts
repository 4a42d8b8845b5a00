/** Walks a directory tree the way a person searches a project: without what `.gitignore` names. */
import ignore, { type Ignore } from "ignore";
import { BeneathError, type BeneathFs, type FileEntry } from "../beneath.ts";
import { byText } from "./files.ts";

const MAX_GITIGNORE_BYTES = 256 * 1024;

/** The rules of one `.gitignore`, and those of the directories above it. */
interface Rules {
  /** The directory it lies in, relative to the working directory, `""` or with a final slash. */
  base: string;
  matcher: Ignore;
  above: Rules | undefined;
}

/** What {@linkcode walk} comes by. */
export interface Found {
  /** Relative to the working directory. */
  path: string;
  kind: "file" | "symlink" | "directory";
}

/**
 * Everything below a directory, without `.git`, hidden paths and what a `.gitignore` on the way from
 * the working directory names. Files come ordered by path; symlinks are not followed.
 *
 * A directory that is ignored itself and asked for by name is searched all the same.
 *
 * @param start relative to the working directory, `""` for itself
 * @throws {BeneathError} when `start` cannot be listed; below it such directories are left out
 */
export function walk(fs: BeneathFs, start: string): Generator<Found> {
  return walkEntries(fs, start, fs.list(start || "."), rulesAbove(fs, start));
}

function* walkEntries(
  fs: BeneathFs,
  directory: string,
  entries: FileEntry[],
  above: Rules | undefined,
): Generator<Found> {
  const prefix = directory === "" ? "" : `${directory}/`;
  const rules = readRules(fs, prefix, entries, above);
  // With the slash a directory sorts where the paths below it belong.
  const ordered = entries
    .map((entry) => ({ ...entry, key: entry.kind === "directory" ? `${entry.name}/` : entry.name }))
    .sort((a, b) => byText(a.key, b.key));
  for (const { name, kind, key } of ordered) {
    if (name === ".git" || kind === "other" || isIgnored(rules, prefix + key)) continue;
    const path = prefix + name;
    yield { path, kind };
    if (kind === "directory") yield* walkEntries(fs, path, tryList(fs, path), rules);
  }
}

function tryList(fs: BeneathFs, path: string): FileEntry[] {
  try {
    return fs.list(path);
  } catch (error) {
    if (error instanceof BeneathError) return [];
    throw error;
  }
}

/** The rules that the directories above `start` set for it. */
function rulesAbove(fs: BeneathFs, start: string): Rules | undefined {
  let rules: Rules | undefined;
  let prefix = "";
  for (const part of start === "" ? [] : start.split("/")) {
    rules = readRules(fs, prefix, tryList(fs, prefix || "."), rules);
    prefix += `${part}/`;
    if (isIgnored(rules, prefix)) return undefined;
  }
  return rules;
}

function readRules(
  fs: BeneathFs,
  base: string,
  entries: FileEntry[],
  above: Rules | undefined,
): Rules | undefined {
  if (!entries.some(({ name, kind }) => name === ".gitignore" && kind === "file")) return above;
  try {
    const buffer = new Uint8Array(MAX_GITIGNORE_BYTES);
    const { bytes } = fs.read(`${base}.gitignore`, 0, buffer);
    const text = new TextDecoder().decode(buffer.subarray(0, bytes));
    return { base, matcher: ignore().add(text), above };
  } catch (error) {
    if (error instanceof BeneathError) return above;
    throw error;
  }
}

/** The nearest `.gitignore` with a word on a path decides, as in git. */
function isIgnored(rules: Rules | undefined, path: string): boolean {
  for (let level = rules; level !== undefined; level = level.above) {
    const { ignored, unignored } = level.matcher.test(path.slice(level.base.length));
    if (ignored || unignored) return ignored;
  }
  return false;
}
