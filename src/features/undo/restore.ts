/**
 * Restores a directory's files to a stored state: all or none. A note on disk lets the next daemon
 * undo a restoration that a crash cut off.
 */
import { existsSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { join } from "@std/path";
import { atomicWrite, readTextIfAny } from "../../os/files.ts";
import { type ExactFile, type ExactFiles, exactFiles } from "../../jail/rooted_exact.ts";
import { RootedError } from "../../jail/rooted_path.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { type FileDifference, isDirectory, type KeptFile } from "./file_state.ts";
import type { FileStore } from "./store.ts";

interface FilesPlace {
  store: FileStore;
  workdir: string;
  /** Absolute real paths that are not touched. */
  hidden: readonly string[];
}

interface RestorePlace extends FilesPlace {
  /** The store's directory, which also gets the note. */
  dir: string;
}

/** The content of the note. */
interface Restoration {
  rewind_id: string;
  /** The current state. */
  from: string;
  /** The target state. */
  to: string;
}

/** Files removed in one turn of the event loop. */
const AT_ONCE = 100;

/** The name of a file while it is written. */
function temporaryOf(n: number): string {
  return `.svc-rewind-${n}.tmp`;
}

/**
 * Changes files from one state to another.
 * @param commit records the restoration; if it throws, the files are changed back
 * @throws {SvcError} conflict when a file cannot be written or removed; all files are then
 * unchanged
 */
export async function restoreFiles(
  place: RestorePlace,
  restoration: Restoration,
  differences: readonly FileDifference[],
  commit: () => Promise<void>,
): Promise<void> {
  // Not aborted with its client: a half restoration helps nobody.
  const signal = new AbortController().signal;
  await atomicWrite(join(place.dir, NOTE), JSON.stringify(restoration), 0o600);
  try {
    await changeFiles(place, differences, signal);
    await commit();
  } catch (error) {
    await takeBack(place, restoration, signal);
    if (error instanceof SvcError) throw error;
    throw new SvcError("conflict", `cannot restore the files: ${messageOf(error)}`, {
      hint: "every file is as it was before",
      cause: error,
    });
  }
  Deno.removeSync(join(place.dir, NOTE));
}

/** Undoes a restoration that an earlier daemon left incomplete. @returns whether files changed */
export async function recoverFiles(
  place: RestorePlace,
  isDone: (rewind_id: string) => boolean,
): Promise<boolean> {
  const text = await readTextIfAny(join(place.dir, NOTE));
  if (text === undefined) return false;
  const restoration = JSON.parse(text) as Restoration;
  if (!isDone(restoration.rewind_id)) {
    await takeBack(place, restoration, new AbortController().signal);
    return true;
  }
  Deno.removeSync(join(place.dir, NOTE));
  return false;
}

/** Reports whether a restoration was cut off. */
export function isHalfDone(dir: string): boolean {
  // Called at each change: reading a missing file takes ten times as long.
  return existsSync(join(dir, NOTE));
}

const NOTE = "svc-rewind.json";

/** Undoes a restoration, except for files that somebody changed meanwhile. */
async function takeBack(
  place: RestorePlace,
  { from, to }: Restoration,
  signal: AbortSignal,
): Promise<void> {
  const { store, dir } = place;
  const intended = await store.differences(from, to, signal);
  const files = filesIn(place);
  intended.forEach(({ path }, n) => {
    files.remove(path.slice(0, path.lastIndexOf("/") + 1) + temporaryOf(n));
  });
  const { state } = await store.take(signal);
  const ours = new Map(intended.map((it) => [it.path, it.to]));
  const back = (await store.differences(state, from, signal)).filter(({ path, from: now }) =>
    ours.has(path) && (now === undefined || isSame(now, ours.get(path)))
  );
  await changeFiles(place, back, signal);
  Deno.removeSync(join(dir, NOTE));
}

function isSame(one: KeptFile, other: KeptFile | undefined): boolean {
  if (other === undefined || one.link !== other.link || one.mode !== other.mode) return false;
  // An empty name means that only the permission bits differ.
  return one.object === "" || other.object === "" || one.object === other.object;
}

/** Removes files, deepest first, then writes the rest, and makes directories that are empty. */
export async function changeFiles(
  place: FilesPlace,
  differences: readonly FileDifference[],
  signal: AbortSignal,
): Promise<void> {
  const numbered = differences.map((difference, n) => ({ ...difference, n }));
  const empty = differences.filter((it) => isDirectory(it) && it.to !== undefined);
  const gone = numbered.filter(({ to }) => to === undefined).map(({ path }) => path)
    .sort((one, other) => one < other ? 1 : -1);
  for (let at = 0; at < gone.length; at += AT_ONCE) {
    const some = gone.slice(at, at + AT_ONCE);
    const files = filesIn(place);
    for (const path of some) if (!isDirectory({ path })) files.remove(path);
    removeEmpty(files, some);
    await setImmediate();
  }
  const kept = numbered.filter((it) => it.to !== undefined && !isDirectory(it));
  const content = kept.filter((it) => !hasSameContent(it));
  const files = filesIn(place);
  const added = kept.filter(({ from }) => from === undefined).map(({ path }) => path);
  const looked = files.look(added);
  added.forEach((path, n) => {
    if (looked[n]?.kind === "directory") removeDirectories(files, place.workdir, path);
  });
  for (const it of kept) if (hasSameContent(it)) files.changeMode(it.path, it.to!.mode);
  await place.store.read(content.map(({ to }) => to!.object), (bytes, at) => {
    const { path, to, n } = content[at];
    const { link, mode } = to!;
    if (link) files.link(path, new TextDecoder().decode(bytes), temporaryOf(n));
    else files.put(path, bytes, mode, temporaryOf(n));
  }, signal);
  for (const { path } of empty) {
    try {
      files.makeDirectory(path.slice(0, -1));
    } catch (error) {
      // A file that is kept may be where it was.
      if (!(error instanceof RootedError) || error.reason === "denied") throw error;
    }
  }
}

function hasSameContent({ from, to }: FileDifference): boolean {
  return from !== undefined && to !== undefined && from.object === to.object && !from.link &&
    !to.link;
}

/** Removes a directory with directories below it, as long as there is nothing else. */
function removeDirectories(files: ExactFiles, workdir: string, path: string): void {
  for (const { name, isDirectory } of Deno.readDirSync(join(workdir, path))) {
    if (isDirectory) removeDirectories(files, workdir, `${path}/${name}`);
  }
  files.removeDirectory(path);
}

/** Reports whether nothing is lost with a directory; false if that cannot be seen. */
function hasOnlyDirectories(path: string): boolean {
  try {
    for (const { name, isDirectory } of Deno.readDirSync(path)) {
      if (!isDirectory || !hasOnlyDirectories(join(path, name))) return false;
    }
    return true;
  } catch {
    return false;
  }
}

/** Removes directories that became empty. */
function removeEmpty(files: ExactFiles, paths: readonly string[]): void {
  const directories = new Set<string>();
  for (const path of paths) {
    for (let cut = path.lastIndexOf("/"); cut > 0; cut = path.lastIndexOf("/", cut - 1)) {
      directories.add(path.slice(0, cut));
    }
  }
  const deepest = [...directories].sort((one, other) => other.length - one.length);
  for (const directory of deepest) files.removeDirectory(directory);
}

function filesIn({ workdir, hidden }: FilesPlace): ExactFiles {
  return exactFiles(workdir, hidden);
}

/**
 * Returns the paths that block a restoration and are in no state, so they could not be restored.
 */
export function inTheWay(
  place: FilesPlace,
  differences: readonly FileDifference[],
): string[] {
  const added = differences.filter((it) => it.from === undefined && !isDirectory(it))
    .map(({ path }) => path);
  const known = new Map(differences.map(({ path, from }) => [path, from]));
  const files = filesIn(place);
  const looked = files.look(added);
  return added.filter((path, n) =>
    isForeign(looked[n], path, known, files) &&
    !(looked[n]?.kind === "directory" && hasOnlyDirectories(join(place.workdir, path)))
  );
}

/** A directory blocks only if something in it stays. */
function isForeign(
  found: ExactFile | undefined,
  path: string,
  known: ReadonlyMap<string, KeptFile | undefined>,
  files: ExactFiles,
): boolean {
  if (found !== undefined) {
    if (found.kind !== "directory") return true;
    return ![...known].some(([each, from]) => from !== undefined && each.startsWith(`${path}/`));
  }
  // A file or a link, in no state, where a directory must be.
  for (let cut = path.indexOf("/"); cut > 0; cut = path.indexOf("/", cut + 1)) {
    const above = path.slice(0, cut);
    const [there] = files.look([above]);
    if (there === undefined) return false;
    if (there.kind !== "directory") return known.get(above) === undefined;
  }
  return false;
}
