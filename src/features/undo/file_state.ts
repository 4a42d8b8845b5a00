/** The state of a directory's files in a store. */

/** The usual permission bits of files. */
interface UsualModes {
  file: number;
  exec: number;
}

/**
 * What git does not record of a state. Of permission bits it only records whether a file is
 * executable.
 */
export interface Modes {
  usual: UsualModes;
  /** Those that differ, by path. */
  other: Record<string, number>;
  /** Directories with nothing in them, sorted; undefined if they are not known. */
  empty?: string[];
}

export interface KeptFile {
  /** The content's name in the store; a link's content is its target. */
  object: string;
  link: boolean;
  /** Permission bits; meaningless for a link. */
  mode: number;
}

export interface FileDifference {
  /** Ends with a slash for an empty directory. */
  path: string;
  /** Undefined if it did not exist. */
  from?: KeptFile;
  to?: KeptFile;
}

export type ExclusionReason = "size" | "name" | "unreadable" | "repository" | "ignored";

export interface Exclusion {
  path: string;
  reason: ExclusionReason;
}

/** Git's modes. */
const LINK = "120000";
const EXEC = "100755";
const FILE = "100644";

/** Reports whether git considers a file with these permission bits executable. */
export function isExec(mode: number): boolean {
  return (mode & 0o100) !== 0;
}

export function modeOf({ usual, other }: Modes, path: string, exec: boolean): number {
  if (Object.hasOwn(other, path)) return other[path];
  return exec ? usual.exec : usual.file;
}

/** Returns mode and object for `git update-index --index-info`; undefined removes an entry. */
export function indexEntry(file: KeptFile | undefined): string {
  if (file === undefined) return `0 ${"0".repeat(40)}`;
  const mode = file.link ? LINK : isExec(file.mode) ? EXEC : FILE;
  return `${mode} ${file.object}`;
}

/** Parses `git diff-tree -r -z --raw --no-renames`; skips entries that are not files or links. */
export function parseRaw(text: string, from: Modes, to: Modes): FileDifference[] {
  const parts = text.split("\0");
  const found: FileDifference[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [mode_from, mode_to, object_from, object_to] = parts[at].replace(/^:/, "").split(" ");
    const path = parts[at + 1];
    const before = keptFile(mode_from, object_from, path, from);
    const after = keptFile(mode_to, object_to, path, to);
    if (before !== undefined || after !== undefined) found.push({ path, from: before, to: after });
  }
  return found;
}

function keptFile(
  git_mode: string,
  object: string,
  path: string,
  modes: Modes,
): KeptFile | undefined {
  if (git_mode === LINK) return { object, link: true, mode: 0o777 };
  if (git_mode !== FILE && git_mode !== EXEC) return undefined;
  return { object, link: false, mode: modeOf(modes, path, git_mode === EXEC) };
}

/**
 * Returns differences of permission bits that git does not record.
 * @param known paths whose differences are already known
 */
export function modeDifferences(
  from: Modes,
  to: Modes,
  known: ReadonlySet<string>,
): FileDifference[] {
  const paths = new Set([...Object.keys(from.other), ...Object.keys(to.other)]);
  return [...paths].flatMap((path) => {
    if (known.has(path) || from.other[path] === to.other[path]) return [];
    const exec = isExec(from.other[path] ?? to.other[path]);
    const kept = (modes: Modes) => ({ object: "", link: false, mode: modeOf(modes, path, exec) });
    return [{ path, from: kept(from), to: kept(to) }];
  });
}

/** Whether an empty directory differs, not a file. */
export function isDirectory({ path }: Pick<FileDifference, "path">): boolean {
  return path.endsWith("/");
}

const DIRECTORY: KeptFile = { object: "", link: false, mode: 0o777 };

/** Returns the empty directories that only one state has. */
export function directoryDifferences(from: Modes, to: Modes): FileDifference[] {
  if (from.empty === undefined || to.empty === undefined) return [];
  const [before, after] = [new Set(from.empty), new Set(to.empty)];
  return [
    ...from.empty.filter((it) => !after.has(it)).map((it) => ({ path: `${it}/`, from: DIRECTORY })),
    ...to.empty.filter((it) => !before.has(it)).map((it) => ({ path: `${it}/`, to: DIRECTORY })),
  ];
}

/** Returns differences without empty directories in which others are made or removed. */
export function withoutDirectoriesAbove<T extends { path: string }>(all: readonly T[]): T[] {
  const above = new Set<string>();
  for (const { path } of all) {
    for (let cut = path.indexOf("/"); cut >= 0; cut = path.indexOf("/", cut + 1)) {
      if (cut < path.length - 1) above.add(path.slice(0, cut + 1));
    }
  }
  return all.filter(({ path }) => !above.has(path));
}

export function noteMode({ usual, other }: Modes, path: string, mode: number): void {
  if (mode === (isExec(mode) ? usual.exec : usual.file)) delete other[path];
  else other[path] = mode;
}

export function isReadable(mode: number): boolean {
  return Deno.build.os === "windows" || Deno.uid() === 0 || (mode & 0o444) !== 0;
}

/** Reports whether git can store a name: not svc's directory, and not a name like git's own. */
export function isNameable(path: string, link: boolean): boolean {
  const parts = path.toLowerCase().split("/");
  if (parts.some((part) => part === ".git" || part === ".svc" || part === "" || part === "..")) {
    return false;
  }
  return !(link && parts.at(-1) === ".gitmodules");
}
