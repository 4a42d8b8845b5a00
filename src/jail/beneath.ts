/**
 * Files beneath one directory, opened so that no path leads out of it: not by `..`, not by a
 * symlink, and on Linux not by a symlink that another process swaps in at the wrong moment.
 */
import type { FileKind, FileStat } from "../os/beneath_kernel.ts";
import { kernelOpener, openLinux } from "./beneath_linux.ts";
import { openPortable } from "./beneath_portable.ts";

export { BeneathError, type BeneathReason } from "./beneath_path.ts";

/** One name in a directory. */
export interface FileEntry {
  name: string;
  kind: FileKind;
  /** Bytes; only with `details`. */
  size?: number;
  /** What a symlink says; only with `details`. */
  target?: string;
}

/**
 * Operations on the files beneath a working directory.
 *
 * Paths are relative to it, or absolute and inside it. Symlinks are followed as long as they stay
 * beneath it. Every method is synchronous and holds no descriptor when it returns: a worker that is
 * terminated closes nothing that was opened through the C library.
 *
 * All methods throw {@linkcode BeneathError} for what can be expected to fail.
 */
export interface BeneathFs {
  /** How paths are kept beneath the directory. */
  readonly mechanism: "openat2" | "realpath";
  /** The path relative to the working directory (`""` is itself), as text, without touching it. */
  relative(path: string): string;
  /** Follows symlinks. */
  stat(path: string): FileStat;
  /**
   * Reads a part of a regular file.
   *
   * @param position the byte to begin at
   * @param into is filled as far as the file goes
   */
  read(path: string, position: number, into: Uint8Array<ArrayBuffer>): {
    bytes: number;
    stat: FileStat;
  };
  /** The names in a directory, in no order, without hidden ones. */
  list(path: string, options?: { details?: boolean }): FileEntry[];
  /**
   * Writes a file whole or not at all: a temporary file beside it is renamed over it. Missing
   * directories are made, a replaced file's permission bits are kept, and a symlink's target is
   * written, not the symlink. Nothing is written into `.git`.
   *
   * @param check is given where the file really is, relative to the working directory; it may throw.
   */
  write(
    path: string,
    data: Uint8Array<ArrayBuffer>,
    check?: (place: string) => void,
  ): "created" | "replaced";
  /**
   * Removes a file; of a symlink the link, not its target. Nothing is removed from `.git`.
   *
   * @param check is given where the file really is, relative to the working directory; it may throw.
   */
  remove(path: string, check?: (place: string) => void): void;
}

/** A working directory, and how paths are kept beneath it; disposing of it closes the C library. */
export interface Beneath extends Disposable {
  /** Its files, seen without the hidden paths (absolute real ones). */
  view(hidden: readonly string[]): BeneathFs;
}

/**
 * Chooses how to keep paths beneath a directory. To be called while the `ffi` permission is there;
 * it is not needed afterwards.
 *
 * @param workdir an absolute real path
 */
export function chooseBeneath(workdir: string): Beneath {
  return (Deno.build.os === "linux" ? openLinux(workdir) : undefined) ?? openPortable(workdir);
}

/**
 * Opens the C library once for any number of directories, in a place that has no permission for
 * their files. To be called while the `ffi` permission is there.
 *
 * @returns `undefined` where the kernel cannot keep paths beneath a directory
 */
export function kernelBeneath(): ((workdir: string) => Beneath) | undefined {
  return Deno.build.os === "linux" ? kernelOpener() : undefined;
}
