/** The state of a directory's files, as a store keeps it. */

/** The permission bits of files that have no others. */
export interface UsualModes {
  file: number;
  exec: number;
}

/** Permission bits of the files of a state: git itself keeps only whether a file can be executed. */
export interface Modes {
  usual: UsualModes;
  /** By path, those that differ. */
  other: Record<string, number>;
}

/** A file or a link in a state. */
export interface KeptFile {
  /** Name of its content in the store; a link's content is its target. */
  object: string;
  link: boolean;
  /** Permission bits; of no meaning for a link. */
  mode: number;
}

/** A path that differs between two states. */
export interface FileDifference {
  path: string;
  /** What was there; undefined for nothing. */
  from?: KeptFile;
  to?: KeptFile;
}

/** Why a file is not in a state. */
export type ExclusionReason = "size" | "name" | "unreadable" | "repository" | "ignored";

/** A file that is not in a state. */
export interface Exclusion {
  path: string;
  reason: ExclusionReason;
}

/** What git knows of a file: `100644`, `100755` or `120000`. */
const LINK = "120000";
const EXEC = "100755";
const FILE = "100644";

/** Reports whether permission bits make git call a file executable. */
export function isExec(mode: number): boolean {
  return (mode & 0o100) !== 0;
}

/** Returns the permission bits of a path in a state. */
export function modeOf({ usual, other }: Modes, path: string, exec: boolean): number {
  if (Object.hasOwn(other, path)) return other[path];
  return exec ? usual.exec : usual.file;
}

/** Parses `git diff-tree -r -z --raw --no-renames`; what is neither a file nor a link is left out. */
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
 * Returns the differences of permission bits between two states that git does not know of.
 *
 * @param known the paths whose differences are known
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

export function noteMode({ usual, other }: Modes, path: string, mode: number): void {
  if (mode === (isExec(mode) ? usual.exec : usual.file)) delete other[path];
  else other[path] = mode;
}

export function isReadable(mode: number): boolean {
  return Deno.build.os === "windows" || Deno.uid() === 0 || (mode & 0o444) !== 0;
}

/** Whether git can keep a name: not svc's own directory, nor anything called like git's. */
export function isNameable(path: string, link: boolean): boolean {
  const parts = path.toLowerCase().split("/");
  if (parts.some((part) => part === ".git" || part === ".svc" || part === "" || part === "..")) {
    return false;
  }
  return !(link && parts.at(-1) === ".gitmodules");
}
