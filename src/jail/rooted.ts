/**
 * Access to the files below one directory. No path leads out of it, by `..` or by a symlink; on
 * Linux not even by a symlink that another process swaps in meanwhile.
 */
import type { FileKind, FileStat } from "../os/openat2.ts";
import { kernelOpener, openLinux } from "./rooted_linux.ts";
import { openPortable } from "./rooted_portable.ts";

export { RootedError, type RootedReason } from "./rooted_path.ts";

export interface FileEntry {
  name: string;
  kind: FileKind;
  /** Bytes; only with `details`. */
  size?: number;
  /** Of a symlink; only with `details`. */
  target?: string;
}

/**
 * Operations on the files below a working directory.
 *
 * Paths are relative to it, or absolute and inside it. Symlinks are followed as long as they stay
 * inside. Methods are synchronous and leave no descriptor open, because a terminated worker would
 * not close it. They throw {@linkcode RootedError} for expected failures.
 */
export interface RootedFs {
  readonly mechanism: "openat2" | "realpath";
  /** Converts a path to one relative to the working directory (`""`), as text alone. */
  relative(path: string): string;
  /** Follows symlinks. */
  stat(path: string): FileStat;
  /** Fills `into` from a regular file, from `position` up to the end of the file. */
  read(path: string, position: number, into: Uint8Array<ArrayBuffer>): {
    bytes: number;
    stat: FileStat;
  };
  /** Returns the names in a directory, unordered, without hidden ones. */
  list(path: string, options?: ListOptions): FileEntry[];
  /**
   * Writes a whole file or nothing. Creates missing directories, and follows a symlink. A replaced
   * file keeps its permission bits, owner and hard links. Refuses to write into `.git`.
   */
  write(
    path: string,
    data: Uint8Array<ArrayBuffer>,
    options?: WriteOptions,
  ): "created" | "replaced";
  /**
   * Refuses what {@linkcode RootedFs.write} would, or with `link` what {@linkcode RootedFs.remove}
   * would. Changes nothing.
   */
  mayChange(path: string, options?: { check?(place: string): void; link?: boolean }): void;
  /** Removes all of these files or none. Removes a symlink, not its target. Refuses in `.git`. */
  remove(paths: readonly string[], check?: (path: string, place: string) => void): void;
  /** Removes a directory if it exists and is empty. */
  removeEmpty(path: string): void;
}

export interface ListOptions {
  details?: boolean;
  /** How many are enough; by default, all. */
  max?: number;
}

export interface WriteOptions {
  /** Receives the file's real path, relative to the working directory. May throw. */
  check?(place: string): void;
  /** Permission bits of a new file, if not the usual ones. */
  mode?: number;
}

/** A working directory and its mechanism. Disposing of it closes the C library. */
export interface Rooted extends Disposable {
  /** Returns its files without the `hidden` paths, which are absolute and real. */
  view(hidden: readonly string[]): RootedFs;
}

/**
 * Chooses the mechanism for a directory, an absolute real path. Needs the `ffi` permission only
 * during the call.
 */
export function chooseRooted(workdir: string): Rooted {
  return (Deno.build.os === "linux" ? openLinux(workdir) : undefined) ?? openPortable(workdir);
}

/**
 * Opens the C library once for any number of directories, for a process that may not read them
 * itself. Needs the `ffi` permission during the call.
 *
 * @returns `undefined` if the kernel cannot keep paths below a directory
 */
export function kernelRooted(): ((workdir: string) => Rooted) | undefined {
  return Deno.build.os === "linux" ? kernelOpener() : undefined;
}
