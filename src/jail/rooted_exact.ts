/**
 * Access to files below a directory by exact paths, for undo. Follows no symlink: a link is read,
 * made and removed as a link.
 */
import { dirname } from "@std/path";
import { lazy } from "../base/lazy.ts";
import {
  type Descriptor,
  type FileKind,
  type Kernel,
  openKernel,
  SystemError,
} from "../os/openat2.ts";
import { lacksForNow } from "../os/lacks.ts";
import { replaceFile } from "./replace_file.ts";
import { replacePath } from "./replace_path.ts";
import {
  type HiddenRule,
  hiddenRule,
  kindOfInfo,
  requireNoGit,
  RootedError,
  splitLast,
} from "./rooted_path.ts";

export interface ExactFile {
  kind: FileKind;
  size: number;
  /** Permission bits, without setuid, setgid and sticky. */
  mode: number;
  /** When content, mode or owner last changed, in ms since 1970. */
  changed_ms: number;
  /** Differs for another file, and after any change. */
  version: string;
  /** Number of hard links. Linux only. */
  names?: number;
}

/** Files below a directory. Paths are relative, without `.` and `..`. Methods are synchronous. */
export interface ExactFiles {
  /**
   * Returns the files at these paths; undefined for one that is missing or behind something other
   * than a directory, such as a symlink.
   */
  look(paths: readonly string[]): (ExactFile | undefined)[];
  /** Returns the target of a symlink. @throws {RootedError} */
  target(path: string): string;
  /**
   * Writes a file or nothing, in place of a file or a link. Creates missing directories.
   *
   * @param temporary a name beside it until it is complete
   * @throws {RootedError}
   */
  put(path: string, data: Uint8Array<ArrayBuffer>, mode: number, temporary: string): void;
  /** Makes a link in place of a file or a link, like {@linkcode ExactFiles.put}. */
  link(path: string, target: string, temporary: string): void;
  /** Changes the permission bits of a file, but not through a link. @throws {RootedError} */
  changeMode(path: string, mode: number): void;
  /** Removes a file or a link; ignores a missing one. @throws {RootedError} */
  remove(path: string): void;
  /** Makes a directory and those above it, unless they exist. @throws {RootedError} */
  makeDirectory(path: string): void;
  /** Removes a directory if it is empty. @returns whether it is gone. */
  removeDirectory(path: string): boolean;
}

const PERMISSIONS = 0o777;

/** Stays open: opening the C library takes longer than looking at a hundred files. */
const library = lazy(openKernel);

/**
 * Opens the files of a directory.
 *
 * @param hidden absolute real paths in it that are neither written nor removed
 */
export function exactFiles(workdir: string, hidden: readonly string[]): ExactFiles {
  const isHidden = hiddenRule(hidden, workdir);
  const kernel = Deno.build.os === "linux" ? library() : undefined;
  if (kernel !== undefined) {
    const files = new LinuxExact(kernel, workdir, isHidden);
    if (files.works()) return files;
  }
  return new PortableExact(workdir, isHidden);
}

/** @throws {RootedError} for a path that undo never writes */
function requirePath(path: string, workdir: string, isHidden: HiddenRule): void {
  const parts = path.split("/");
  if (path.includes("\0") || parts.some((part) => part === "" || part === "." || part === "..")) {
    throw new RootedError("invalid", `${path}: is not an exact path`);
  }
  const whole = `${workdir === "/" ? "" : workdir}/${path}`;
  requireNoGit(path, whole, workdir);
  if (isHidden(whole) || parts.some((part) => part.toLowerCase() === ".svc")) {
    throw new RootedError("hidden", `${path}: belongs to svc or to another session`);
  }
}

class LinuxExact implements ExactFiles {
  readonly #kernel: Kernel;
  readonly #workdir: string;
  readonly #isHidden: HiddenRule;

  constructor(kernel: Kernel, workdir: string, isHidden: HiddenRule) {
    this.#kernel = kernel;
    this.#workdir = workdir;
    this.#isHidden = isHidden;
  }

  works(): boolean {
    try {
      this.#in("", () => undefined);
      return true;
    } catch (error) {
      if (lacksForNow(error)) throw error;
      return error instanceof RootedError && error.reason === "not_found";
    }
  }

  look(paths: readonly string[]): (ExactFile | undefined)[] {
    const found: (ExactFile | undefined)[] = [];
    // Neighbours share their directory.
    for (let at = 0; at < paths.length;) {
      const { directory } = splitLast(paths[at]);
      let end = at;
      while (end < paths.length && splitLast(paths[end]).directory === directory) end++;
      const names = paths.slice(at, end).map((path) => splitLast(path).name);
      const looked = this.#lookIn(directory, names);
      for (let n = 0; n < names.length; n++) found.push(looked?.[n]);
      at = end;
    }
    return found;
  }

  #lookIn(directory: string, names: readonly string[]): (ExactFile | undefined)[] | undefined {
    try {
      return this.#in(directory, (fd) =>
        names.map((name): ExactFile | undefined => {
          const stat = this.#kernel.statIn(fd, name);
          if (stat === undefined) return undefined;
          const { kind, size, mode = 0, changed_ms = Date.now(), names } = stat;
          const version = `${stat.version}:${mode}:${changed_ms}`;
          return { kind, size, mode: mode & PERMISSIONS, changed_ms, version, names };
        }));
    } catch (error) {
      if (error instanceof RootedError && error.reason === "denied") return undefined;
      throw error;
    }
  }

  target(path: string): string {
    const { directory, name } = splitLast(path);
    const target = this.#in(directory, (fd) => this.#kernel.readLinkIn(fd, name));
    if (target === undefined) throw missing(path);
    return target;
  }

  put(path: string, data: Uint8Array<ArrayBuffer>, mode: number, temporary: string): void {
    this.#inMade(path, (directory, name) => {
      using fd = this.#kernel.openIn(directory, name);
      const stat = fd && this.#kernel.stat(fd);
      const existing = fd && stat?.kind === "file" ? { fd, stat } : undefined;
      replaceFile(this.#kernel, { directory, name, data, existing, mode, temporary });
    });
  }

  link(path: string, target: string, temporary: string): void {
    this.#inMade(path, (directory, name) => {
      try {
        this.#kernel.linkIn(directory, temporary, target);
        this.#kernel.renameIn(directory, temporary, name);
      } catch (error) {
        this.#kernel.unlinkIn(directory, temporary);
        throw error;
      }
    });
  }

  changeMode(path: string, mode: number): void {
    requirePath(path, this.#workdir, this.#isHidden);
    const { directory, name } = splitLast(path);
    const done = this.#in(directory, (fd) => {
      using file = this.#kernel.openIn(fd, name);
      if (file === undefined || this.#kernel.stat(file).kind !== "file") return undefined;
      this.#kernel.changeModeOf(file, mode & PERMISSIONS);
      return true;
    });
    if (done === undefined) throw new RootedError("not_regular", `${path}: is not a regular file`);
  }

  remove(path: string): void {
    requirePath(path, this.#workdir, this.#isHidden);
    const { directory, name } = splitLast(path);
    this.#in(directory, (fd) => {
      if (this.#kernel.statIn(fd, name) !== undefined) this.#kernel.removeIn(fd, name);
    });
  }

  makeDirectory(path: string): void {
    requirePath(path, this.#workdir, this.#isHidden);
    this.#makeDirectory(path);
  }

  removeDirectory(path: string): boolean {
    requirePath(path, this.#workdir, this.#isHidden);
    const { directory, name } = splitLast(path);
    try {
      this.#in(directory, (fd) => this.#kernel.removeDirectoryIn(fd, name));
      return true;
    } catch (error) {
      if (error instanceof RootedError) return false;
      throw error;
    }
  }

  /** Works on a name in its directory, which it makes if needed. */
  #inMade(path: string, work: (directory: Descriptor, name: string) => void): void {
    requirePath(path, this.#workdir, this.#isHidden);
    const { directory, name } = splitLast(path);
    this.#makeDirectory(directory);
    const done = this.#in(directory, (fd) => {
      work(fd, name);
      return true;
    });
    if (done === undefined) throw missing(path);
  }

  #makeDirectory(path: string): void {
    if (path === "" || this.#in(path, () => true)) return;
    const { directory, name } = splitLast(path);
    this.#makeDirectory(directory);
    this.#in(directory, (fd) => this.#kernel.makeDirectoryIn(fd, name));
  }

  /** Works in a directory below. @returns undefined if it is not a directory */
  #in<T>(directory: string, work: (fd: Descriptor) => T): T | undefined {
    try {
      using root = this.#kernel.openDirectory(this.#workdir);
      if (this.#kernel.realPath(root) !== this.#workdir) {
        throw new RootedError("not_found", `the working directory ${this.#workdir} was moved`);
      }
      using opened = this.#kernel.openExact(root, directory === "" ? "." : directory);
      return opened && work(opened);
    } catch (error) {
      if (!(error instanceof SystemError)) throw error;
      const reason = error.code === "ENOENT"
        ? "not_found"
        : error.code === "EACCES" || error.code === "EPERM" || error.code === "EROFS"
        ? "denied"
        : "other";
      const said = `${directory || "."}: ${error.call} failed (${error.code})`;
      throw new RootedError(reason, said, error.code);
    }
  }
}

/** Through Deno's own API: checks each directory above before it uses the path. */
class PortableExact implements ExactFiles {
  readonly #workdir: string;
  readonly #isHidden: HiddenRule;

  constructor(workdir: string, isHidden: HiddenRule) {
    this.#workdir = workdir;
    this.#isHidden = isHidden;
  }

  look(paths: readonly string[]): (ExactFile | undefined)[] {
    let known: string | undefined;
    let there = false;
    return paths.map((path) => {
      const { directory } = splitLast(path);
      if (directory !== known) [known, there] = [directory, this.#isDirectory(directory)];
      const info = there ? lstat(this.#whole(path)) : undefined;
      if (info === undefined) return undefined;
      const changed_ms = (info.ctime ?? info.mtime)?.getTime() ?? Date.now();
      return {
        kind: kindOfInfo(info),
        size: info.size,
        mode: (info.mode ?? 0o644) & PERMISSIONS,
        changed_ms,
        version: `${info.ino}:${info.size}:${info.mode}:${info.mtime?.getTime()}:${changed_ms}`,
      };
    });
  }

  target(path: string): string {
    return this.#guarded(path, () => {
      this.#requireDirectory(path);
      return Deno.readLinkSync(this.#whole(path));
    });
  }

  put(path: string, data: Uint8Array<ArrayBuffer>, mode: number, temporary: string): void {
    this.#inMade(path, temporary, (at, temporary) => {
      replacePath(at, data, { existing: lstat(at), mode, temporary });
    });
  }

  link(path: string, target: string, temporary: string): void {
    this.#inMade(path, temporary, (at, temporary) => {
      try {
        Deno.symlinkSync(target, temporary);
        Deno.renameSync(temporary, at);
      } catch (error) {
        if (lstat(temporary) !== undefined) Deno.removeSync(temporary);
        throw error;
      }
    });
  }

  changeMode(path: string, mode: number): void {
    requirePath(path, this.#workdir, this.#isHidden);
    const [found] = this.look([path]);
    if (found?.kind !== "file") {
      throw new RootedError("not_regular", `${path}: is not a regular file`);
    }
    if (Deno.build.os === "windows") return;
    this.#guarded(path, () => Deno.chmodSync(this.#whole(path), mode & PERMISSIONS));
  }

  remove(path: string): void {
    requirePath(path, this.#workdir, this.#isHidden);
    const [found] = this.look([path]);
    if (found === undefined) return;
    if (found.kind === "directory") {
      throw new RootedError("is_directory", `${path}: is a directory`);
    }
    this.#guarded(path, () => Deno.removeSync(this.#whole(path)));
  }

  makeDirectory(path: string): void {
    requirePath(path, this.#workdir, this.#isHidden);
    this.#guarded(path, () => this.#makeDirectory(path));
  }

  removeDirectory(path: string): boolean {
    requirePath(path, this.#workdir, this.#isHidden);
    const [found] = this.look([path]);
    if (found?.kind !== "directory") return false;
    try {
      Deno.removeSync(this.#whole(path));
      return true;
    } catch {
      return false;
    }
  }

  /** Works on a path and a temporary one beside it. Makes the directory if needed. */
  #inMade(path: string, temporary: string, work: (at: string, temporary: string) => void): void {
    requirePath(path, this.#workdir, this.#isHidden);
    this.#guarded(path, () => {
      const { directory } = splitLast(path);
      this.#makeDirectory(directory);
      this.#requireDirectory(path);
      work(this.#whole(path), `${dirname(this.#whole(path))}/${temporary}`);
    });
  }

  #makeDirectory(path: string): void {
    if (path === "" || this.#isDirectory(path)) return;
    this.#makeDirectory(splitLast(path).directory);
    Deno.mkdirSync(this.#whole(path));
  }

  #requireDirectory(path: string): void {
    if (!this.#isDirectory(splitLast(path).directory)) throw missing(path);
  }

  #isDirectory(path: string): boolean {
    const parts = path === "" ? [] : path.split("/");
    return parts.every((_, n) => {
      const info = lstat(this.#whole(parts.slice(0, n + 1).join("/")));
      return info?.isDirectory === true && !info.isSymlink;
    });
  }

  #guarded<T>(path: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof RootedError) throw error;
      const said = error instanceof Error ? error.message : String(error);
      throw new RootedError("other", `${path}: ${said}`);
    }
  }

  #whole(path: string): string {
    return `${this.#workdir === "/" ? "" : this.#workdir}/${path}`;
  }
}

function lstat(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    throw error;
  }
}

function missing(path: string): RootedError {
  return new RootedError("not_found", `${path}: lies in something that is not a directory`);
}
