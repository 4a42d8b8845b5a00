/** svc's own files in a store, and the start of a new store from an older one. */
import { dirname, join } from "@std/path";
import { exists, readDirIfAny } from "../../os/files.ts";

export const FILES = {
  /** The last state, if it matches the index. */
  last: "svc-last",
  modes: "svc-modes",
  added: "svc-added",
  removed: "svc-removed",
  changed: "svc-changed",
  wanted: "svc-wanted",
  ignored: "svc-ignored",
  combined_modes: "svc-combined-modes",
};

/**
 * Hard links to the repository's objects. Git cannot write there: it would set the time of an object
 * that it needs again, and so the repository's.
 */
export const BORROWED = "borrowed";

/**
 * Starts a new store with the packs and the index of another session in the same directory. Packs
 * never change, so they are hard links.
 */
export function borrow(dir: string): void {
  const sessions = dirname(dirname(dir));
  let newest: { path: string; at: number } | undefined;
  for (const { name } of readDirIfAny(sessions)) {
    const path = join(sessions, name, "files.git");
    if (path === dir || !isPlain(path)) continue;
    const at = Deno.lstatSync(join(path, FILES.last)).mtime?.getTime() ?? 0;
    if (newest === undefined || at > newest.at) newest = { path, at };
  }
  if (newest === undefined) return;
  const last = () => Deno.readTextFileSync(join(newest.path, FILES.last));
  try {
    const before = last();
    copyWithTime(join(newest.path, "index"), join(dir, "index"));
    Deno.copyFileSync(join(newest.path, FILES.modes), join(dir, FILES.modes));
    linkObjects(newest.path, dir);
    if (last() !== before) throw new Error("the other session has gone on");
    Deno.writeTextFileSync(join(dir, FILES.last), before, { mode: 0o600 });
  } catch {
    // The other session is writing or was deleted: start without it.
    for (const name of ["index", FILES.last, FILES.modes]) removeIfAny(join(dir, name));
  }
}

/** Reports whether a store is complete and has no links, which commands without bubblewrap may make. */
function isPlain(path: string): boolean {
  const kind = (name: string) => {
    try {
      return Deno.lstatSync(join(path, name));
    } catch {
      return undefined;
    }
  };
  return [FILES.last, FILES.modes, "index"].every((name) => kind(name)?.isFile) &&
    ["", "objects"].every((name) => kind(name)?.isDirectory) &&
    kind(BORROWED)?.isSymlink !== true;
}

/** Gives a store all that another one has. */
export function linkObjects(from: string, to: string): void {
  for (const name of ["objects", BORROWED]) {
    if (exists(join(from, name))) linkTree(join(from, name), join(to, name));
  }
}

function linkTree(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const { name, isDirectory, isFile } of Deno.readDirSync(from)) {
    if (name.includes("tmp")) continue;
    if (isDirectory) linkTree(join(from, name), join(to, name));
    else if (isFile) linkIfNew(join(from, name), join(to, name));
  }
}

/** Makes a hard link, unless the name exists. */
export function linkIfNew(from: string, to: string): void {
  try {
    Deno.linkSync(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

/** Copies an index. Keeps the time: a newer index would hide changes of the same moment. */
export function copyWithTime(from: string, to: string): void {
  const { mtime } = Deno.statSync(from);
  Deno.copyFileSync(from, to);
  if (mtime !== null) Deno.utimeSync(to, mtime, mtime);
}

export function removeIfAny(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
