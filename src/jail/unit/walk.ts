/** Walks a directory tree without the files that `.gitignore` excludes. */
import ignore, { type Ignore } from "ignore";
import { type FileEntry, RootedError, type RootedFs } from "../rooted.ts";
import { byText, entriesAt } from "./files.ts";

const MAX_GITIGNORE_BYTES = 256 * 1024;

/** The rules of one `.gitignore` and of those above it. */
interface Rules {
  /** Relative to the working directory, `""` or with a final slash. */
  base: string;
  matcher: Ignore;
  above: Rules | undefined;
}

export interface Found {
  /** Relative to the working directory. */
  path: string;
  kind: "file" | "symlink" | "directory";
}

/** What a walk may still read. */
export interface Budget {
  entries: number;
}

/**
 * Yields everything below a directory, sorted by path, except `.git`, hidden paths, and files
 * excluded by a `.gitignore` in the working directory or below. Does not follow symlinks. Searches
 * `start` even if it is excluded itself.
 *
 * @param start relative to the working directory, `""` for itself
 * @param budget is used up; then directories are listed in part or not at all
 * @throws {RootedError} when `start` cannot be listed; such directories below it are skipped
 */
export function walk(fs: RootedFs, start: string, budget?: Budget): Generator<Found> {
  const entries = fs.list(start || ".", { max: budget?.entries });
  return walkEntries(fs, start, entries, rulesAbove(fs, start), budget);
}

function* walkEntries(
  fs: RootedFs,
  directory: string,
  entries: FileEntry[],
  above: Rules | undefined,
  budget?: Budget,
): Generator<Found> {
  if (budget !== undefined) budget.entries -= entries.length;
  const prefix = directory === "" ? "" : `${directory}/`;
  const rules = readRules(fs, prefix, entries, above);
  // With the slash, a directory sorts where the paths below it belong.
  const ordered = entries
    .map((entry) => ({ ...entry, key: entry.kind === "directory" ? `${entry.name}/` : entry.name }))
    .sort((a, b) => byText(a.key, b.key));
  for (const { name, kind, key } of ordered) {
    if (name === ".git" || kind === "other" || isIgnored(rules, prefix + key)) continue;
    const path = prefix + name;
    yield { path, kind };
    if (kind !== "directory" || (budget && budget.entries <= 0)) continue;
    yield* walkEntries(fs, path, entriesAt(fs, path, budget?.entries), rules, budget);
  }
}

function rulesAbove(fs: RootedFs, start: string): Rules | undefined {
  let rules: Rules | undefined;
  let prefix = "";
  for (const part of start === "" ? [] : start.split("/")) {
    rules = readRules(fs, prefix, entriesAt(fs, prefix || "."), rules);
    prefix += `${part}/`;
    if (isIgnored(rules, prefix)) return undefined;
  }
  return rules;
}

function readRules(
  fs: RootedFs,
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
    if (error instanceof RootedError) return above;
    throw error;
  }
}

/** The nearest `.gitignore` with a rule for a path decides, as in git. */
function isIgnored(rules: Rules | undefined, path: string): boolean {
  for (let level = rules; level !== undefined; level = level.above) {
    const { ignored, unignored } = level.matcher.test(path.slice(level.base.length));
    if (ignored || unignored) return ignored;
  }
  return false;
}
