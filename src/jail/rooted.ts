/**
 * Access to the files below one directory. No path leads out of it: not with `..`, not through a
 * symlink, and on Linux not through a symlink that another process swaps in at the wrong moment.
 */
import type { FileKind, FileStat } from "../os/openat2.ts";
import { kernelOpener, openLinux } from "./rooted_linux.ts";
import { openPortable } from "./rooted_portable.ts";

export { RootedError, type RootedReason } from "./rooted_path.ts";

/** One name in a directory. */
export interface FileEntry {
  name: string;
  kind: FileKind;
  /** Bytes; only with `details`. */
  size?: number;
  /** The target of a symlink; only with `details`. */
  target?: string;
}

/**
 * Operations on the files below a working directory.
 *
 * Paths are relative to it, or absolute and inside it. Symlinks are followed as long as they stay
 * below it. Every method is synchronous and holds no descriptor when it returns, because a
 * terminated worker does not close what was opened through the C library.
 *
 * All methods throw {@linkcode RootedError} for expected failures.
 */
export interface RootedFs {
  /** The mechanism that keeps paths below the directory. */
  readonly mechanism: "openat2" | "realpath";
  /**
   * Converts a path to one relative to the working directory (`""` is the directory itself), as
   * text, without file access.
   */
  relative(path: string): string;
  /** Returns the state of a file or directory; symlinks are followed. */
  stat(path: string): FileStat;
  /**
   * Reads a part of a regular file.
   *
   * @param position the offset of the first byte
   * @param into is filled up to the end of the file
   */
  read(path: string, position: number, into: Uint8Array<ArrayBuffer>): {
    bytes: number;
    stat: FileStat;
  };
  /** Returns the names in a directory, unordered, without hidden ones. */
  list(path: string, options?: { details?: boolean }): FileEntry[];
  /**
   * Writes a whole file or nothing. Missing directories are created, a replaced file keeps its
   * permission bits, its owner and its hard links, and a symlink's target is written, not the
   * symlink. Refuses to write into `.git`.
   */
  write(
    path: string,
    data: Uint8Array<ArrayBuffer>,
    options?: WriteOptions,
  ): "created" | "replaced";
  /**
   * Refuses what {@linkcode RootedFs.write} would refuse, or with `link` what
   * {@linkcode RootedFs.remove} would, and changes nothing.
   */
  mayChange(path: string, options?: { check?(place: string): void; link?: boolean }): void;
  /**
   * Removes all of these files, or none; for a symlink, the link and not its target. Refuses to
   * remove anything from `.git`.
   */
  remove(paths: readonly string[], check?: (path: string, place: string) => void): void;
  /** Removes a directory if it is there and empty. */
  removeEmpty(path: string): void;
}

/** How a file is written. */
export interface WriteOptions {
  /** Receives the file's real path, relative to the working directory; it may throw. */
  check?(place: string): void;
  /** Permission bits of a new file, if not the usual ones. */
  mode?: number;
}

/**
 * A working directory and the mechanism that keeps paths below it; disposing of it closes the C
 * library.
 */
export interface Rooted extends Disposable {
  /** Returns its files without the hidden paths, which are absolute and real. */
  view(hidden: readonly string[]): RootedFs;
}

/**
 * Chooses the mechanism for a directory. Call it while the `ffi` permission is granted; it is not
 * needed afterwards.
 *
 * @param workdir an absolute real path
 */
export function chooseRooted(workdir: string): Rooted {
  return (Deno.build.os === "linux" ? openLinux(workdir) : undefined) ?? openPortable(workdir);
}

/**
 * Opens the C library once for any number of directories, for a process without permission for
 * their files. Call it while the `ffi` permission is granted.
 *
 * @returns `undefined` when the kernel cannot keep paths below a directory
 */
export function kernelRooted(): ((workdir: string) => Rooted) | undefined {
  return Deno.build.os === "linux" ? kernelOpener() : undefined;
}
