import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { writeAll, writeAllSync } from "../base/write_all.ts";
import { lacksForNow } from "./lacks.ts";

const POSIX = Deno.build.os !== "windows";

/** Makes changes to a directory's entries durable; a no-op on Windows. */
export function syncDir(path: string): void {
  if (!POSIX) return;
  // Not `using`: the minifier of `deno bundle` inlines a variable that is used once, and then
  // nothing closes it.
  const dir = Deno.openSync(path);
  try {
    dir.syncSync();
  } finally {
    dir.close();
  }
}

/** Like {@linkcode syncDir}, without blocking. */
export async function flushDir(path: string): Promise<void> {
  if (!POSIX) return;
  const dir = Deno.openSync(path);
  try {
    await dir.sync();
  } finally {
    dir.close();
  }
}

/** Writing this much to the system's cache is faster than starting a thread. */
const WRITTEN_AT_ONCE = 64 * 1024;

/**
 * Replaces a file so that a reader or a crash sees the old or the new content, never a mixture:
 * temporary file, fsync, rename, fsync of the directory (product.md, daemon-level files).
 *
 * @param options.durable false skips the flushes, for a file that is useless after a restart of the
 * machine
 * @throws the system's error, after removing the temporary file
 */
export async function atomicWrite(
  path: string,
  content: string | Uint8Array,
  mode: number,
  { durable = true } = {},
): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    {
      using file = Deno.openSync(temporary, { write: true, createNew: true, mode });
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      // A step in another thread costs more than the step, so only flushes go there.
      if (bytes.length <= WRITTEN_AT_ONCE) writeAllSync(file, bytes);
      else await writeAll(file, bytes);
      if (durable) await file.sync();
    }
    // After a flush the system may still be writing what came before it.
    if (durable) await Deno.rename(temporary, path);
    else Deno.renameSync(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw error;
  }
  if (durable) await flushDir(dirname(path));
}

const TEMPORARY = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

/**
 * Removes the temporary files that a killed {@linkcode atomicWrite} left. Only for a directory of
 * this process alone, before its first write.
 */
export function removeTemporaries(dir: string): void {
  for (const { name, isFile } of Deno.readDirSync(dir)) {
    if (isFile && TEMPORARY.test(name)) Deno.removeSync(join(dir, name));
  }
}

/**
 * Checks that a path is ours, of the expected kind, no wider than `mode`, and not a symlink
 * (fail-closed start-up, product.md Authentication rule 5).
 *
 * @returns false if nothing is at `path`
 * @throws {SvcError} permission_denied, naming the path, the problem and the command that fixes it
 */
export function checkPrivate(path: string, mode: number, kind: "file" | "dir" | "socket"): boolean {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  const refuse = (found: string, mend: string): never => {
    throw new SvcError("permission_denied", `${path} ${found}`, { hint: mend });
  };
  if (info.isSymlink) refuse("is a symbolic link", `remove it: rm ${path}`);
  const [is_expected, expected] = {
    dir: [info.isDirectory, "directory"],
    file: [info.isFile, "regular file"],
    socket: [info.isSocket !== false, "socket"],
  }[kind];
  if (!is_expected) refuse(`is not a ${expected}`, `move it away: mv ${path} ${path}.old`);
  if (!POSIX || info.mode === null) return true;
  if (info.uid !== Deno.uid()) refuse(`belongs to uid ${info.uid}`, `chown ${Deno.uid()} ${path}`);
  const found = info.mode & 0o777;
  if ((found & ~mode) !== 0) {
    refuse(`has mode ${octal(found)}, wider than ${octal(mode)}`, `chmod ${octal(mode)} ${path}`);
  }
  return true;
}

/** Makes an optional symbolic link: Windows lets only administrators and developers make one. */
export function linkIfAllowed(target: string, path: string): void {
  try {
    Deno.symlinkSync(target, path);
  } catch (error) {
    if (POSIX) throw error;
  }
}

/** Reports whether anything is at a path, even a dead link. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Returns when a file or a directory's list of names last changed; undefined if it is missing. */
export function changedAt(path: string): number | undefined {
  // An error takes ten times as long.
  if (!existsSync(path)) return undefined;
  try {
    return Deno.statSync(path).mtime?.getTime();
  } catch {
    return undefined;
  }
}

/** Returns the entries of a directory; none if it is missing. */
export function readDirIfAny(path: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(path)];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Returns the entries of a directory; none if it cannot be read. @throws for lack of resources */
export function readDirIfAllowed(path: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(path)];
  } catch (error) {
    if (lacksForNow(error)) throw error;
    return [];
  }
}

/** Returns the real path of something; undefined if it is missing. */
export function realPathIfAny(path: string): string | undefined {
  // An error takes ten times as long, and often nothing is there.
  if (!existsSync(path)) return undefined;
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Returns the real path of something; the given one if it is missing or cannot be reached, or if it
 * is relative: the directory of this process is nobody's.
 */
export async function realPathOrSame(path: string): Promise<string> {
  return !isAbsolute(path) ? path : await Deno.realPath(path).catch(() => path);
}

/** Returns a path, which need not exist, with the real path of the directory above it. */
export function inRealDirectory(path: string): string {
  const above = dirname(path);
  if (above === path) return path;
  return join(realPathIfAny(above) ?? inRealDirectory(above), basename(path));
}

/** Returns the real path of the person's home directory, if there is one. */
export function realHome(env: (name: string) => string | undefined): string | undefined {
  const home = env("HOME") ?? env("USERPROFILE");
  return home === undefined || home === "" ? undefined : realPathIfAny(home);
}

/** Returns the text of a file; undefined if it is missing. */
export async function readTextIfAny(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Opens our own file in a directory that others can write, to read and append. Opening it only for
 * reading would wait for the writer of a pipe in its place, and would follow a link.
 *
 * @param options.writable false allows a read-only disk
 * @throws {Deno.errors.NotFound} when it is missing; {SvcError} permission_denied when it is not a
 * regular file; other errors of the system
 */
export function openOwnFile(path: string, { writable = false } = {}): Deno.FsFile {
  const refuse = (found: string) => {
    throw new SvcError("permission_denied", `${path} ${found}`, {
      hint: `move it away: mv ${path} ${path}.old`,
    });
  };
  const named = Deno.lstatSync(path);
  if (!named.isFile) refuse("is not a regular file");
  const file = openReadable(path, writable);
  const opened = file.statSync();
  if (opened.isFile && opened.ino === named.ino && opened.dev === named.dev) return file;
  file.close();
  return refuse("was replaced while it was being opened") as never;
}

function openReadable(path: string, writable: boolean): Deno.FsFile {
  try {
    // Opening a pipe for both does not wait for another process.
    return Deno.openSync(path, { read: true, write: true });
  } catch (error) {
    // Nobody can replace files on a read-only disk.
    if ((error as NodeJS.ErrnoException).code !== "EROFS" || writable) throw error;
    return Deno.openSync(path);
  }
}

/** Makes our own directory with mode 0700, or checks the existing one. */
export function ensurePrivateDir(path: string): void {
  if (checkPrivate(path, 0o700, "dir")) return;
  Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
  checkPrivate(path, 0o700, "dir");
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
