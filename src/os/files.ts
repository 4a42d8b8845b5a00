import { existsSync } from "node:fs";
import { dirname, join } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { writeAll, writeAllSync } from "../base/write_all.ts";

const POSIX = Deno.build.os !== "windows";

/** Makes what was done to the entries of a directory durable; a no-op where there is no such call. */
export function syncDir(path: string): void {
  if (!POSIX) return;
  // Not `using`: the minifier of `deno bundle` puts a variable's only use in its place, and what was
  // to be closed at the end of the block never is.
  const dir = Deno.openSync(path);
  try {
    dir.syncSync();
  } finally {
    dir.close();
  }
}

/** As {@linkcode syncDir}, holding nobody else up. */
export async function flushDir(path: string): Promise<void> {
  if (!POSIX) return;
  const dir = Deno.openSync(path);
  try {
    await dir.sync();
  } finally {
    dir.close();
  }
}

/** So many bytes are copied into the system's cache in less time than a thread takes to begin. */
const WRITTEN_AT_ONCE = 64 * 1024;

/**
 * Replaces a file so that a reader or a crash sees the old or the new content, never a mixture:
 * temporary file, fsync, rename, fsync of the directory (product.md, daemon-level files).
 *
 * @param options.durable false leaves out the flushes, for a file that means nothing after the
 * machine has stopped.
 * @throws what the system says, with the temporary file removed.
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
      // Each step that another thread takes costs more time than the step. Only what waits for the
      // disk goes there.
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
 * Removes the temporary files that {@linkcode atomicWrite} left in a directory when its process was
 * killed. For a directory that no other process writes to, and before the first write of this one.
 */
export function removeTemporaries(dir: string): void {
  for (const { name, isFile } of Deno.readDirSync(dir)) {
    if (isFile && TEMPORARY.test(name)) Deno.removeSync(join(dir, name));
  }
}

/**
 * Checks that a path of ours is no wider than `mode`, of the expected kind, ours, and not a symlink
 * (fail-closed start-up, product.md Authentication rule 5). Nothing is changed.
 *
 * @returns false when there is nothing at `path`.
 * @throws {SvcError} permission_denied, naming the path, what was found and the command that mends it.
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
  if (kind === "dir" && !info.isDirectory) {
    refuse("is not a directory", `move it away: mv ${path} ${path}.old`);
  }
  if (kind === "file" && !info.isFile) {
    refuse("is not a regular file", `move it away: mv ${path} ${path}.old`);
  }
  if (kind === "socket" && info.isSocket === false) {
    refuse("is not a socket", `move it away: mv ${path} ${path}.old`);
  }
  if (!POSIX || info.mode === null) return true;
  if (info.uid !== Deno.uid()) refuse(`belongs to uid ${info.uid}`, `chown ${Deno.uid()} ${path}`);
  const found = info.mode & 0o777;
  if ((found & ~mode) !== 0) {
    refuse(`has mode ${octal(found)}, wider than ${octal(mode)}`, `chmod ${octal(mode)} ${path}`);
  }
  return true;
}

/**
 * Makes a symbolic link that something is found by more easily, and not by it alone: Windows lets
 * only administrators and developers make one, and there it is done without.
 */
export function linkIfAllowed(target: string, path: string): void {
  try {
    Deno.symlinkSync(target, path);
  } catch (error) {
    if (POSIX) throw error;
  }
}

/** Whether there is anything at a path, also a link that leads nowhere. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Returns when a file, or the list of names in a directory, last changed; undefined if it is missing. */
export function changedAt(path: string): number | undefined {
  // An error takes ten times as long as this.
  if (!existsSync(path)) return undefined;
  try {
    return Deno.statSync(path).mtime?.getTime();
  } catch {
    return undefined;
  }
}

/** What is in a directory; nothing where there is none. */
export function readDirIfAny(path: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(path)];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** The real path of something; undefined where there is nothing. */
export function realPathIfAny(path: string): string | undefined {
  // An error takes ten times as long as this, and often there is nothing.
  if (!existsSync(path)) return undefined;
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}

/** The real path of the person's home directory, if there is one. */
export function realHome(env: (name: string) => string | undefined): string | undefined {
  const home = env("HOME") ?? env("USERPROFILE");
  return home === undefined || home === "" ? undefined : realPathIfAny(home);
}

/** The text of a file; undefined where there is none. */
export async function readTextIfAny(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Opens a file of ours that lies where others can write, to read and append. An open for reading
 * alone would wait for the writer of a pipe that took the file's place, and would follow a link.
 *
 * @param options.writable false opens it to read alone where its disk is read-only.
 * @throws {Deno.errors.NotFound} when there is none; {SvcError} permission_denied when it is no
 * regular file; what else the system says.
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
    // A pipe that is opened for both does not wait for another process.
    return Deno.openSync(path, { read: true, write: true });
  } catch (error) {
    // Nobody exchanges anything on a disk that is read-only.
    if ((error as NodeJS.ErrnoException).code !== "EROFS" || writable) throw error;
    return Deno.openSync(path);
  }
}

/** Makes a directory of ours with mode 0700, or checks the one that is there. */
export function ensurePrivateDir(path: string): void {
  if (checkPrivate(path, 0o700, "dir")) return;
  Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
  checkPrivate(path, 0o700, "dir");
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
