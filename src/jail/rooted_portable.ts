import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { FileStat } from "../os/openat2.ts";
import type { FileEntry, ListOptions, Rooted, RootedFs, WriteOptions } from "./rooted.ts";
import {
  hiddenError,
  type HiddenRule,
  hiddenRule,
  joinRooted,
  kindOfInfo,
  linkLoop,
  outside,
  relativePath,
  requireNoGit,
  RootedError,
  splitFile,
  stripWorkdir,
} from "./rooted_path.ts";
import { replacePath, temporaryPath } from "./replace_path.ts";

const MAX_LINKS = 40;

/** Needs only permission to read and write the directory. */
export function openPortable(workdir: string): Rooted {
  return {
    view: (hidden) => new PortableRooted(workdir, hiddenRule(hidden, workdir)),
    [Symbol.dispose]() {},
  };
}

/**
 * {@linkcode RootedFs} through Deno's own API: resolves and checks the real path, then uses it.
 *
 * A race remains: meanwhile another process can replace a parent directory by a symlink. Deno's
 * permissions compare paths as text, so only `openat2` prevents that.
 */
class PortableRooted implements RootedFs {
  readonly mechanism = "realpath";
  readonly #workdir: string;
  readonly #isHidden: HiddenRule;

  constructor(workdir: string, isHidden: HiddenRule) {
    this.#workdir = workdir;
    this.#isHidden = isHidden;
  }

  relative(path: string): string {
    return relativePath(path, this.#workdir);
  }

  stat(path: string): FileStat {
    return guard(path, () => toStat(Deno.statSync(this.#real(path, this.relative(path)))));
  }

  read(path: string, position: number, into: Uint8Array<ArrayBuffer>) {
    return guard(path, () => {
      const real = this.#real(path, this.relative(path));
      const stat = regular(path, toStat(Deno.statSync(real)));
      return { bytes: readRegular(path, real, position, into), stat };
    });
  }

  list(path: string, options: ListOptions = {}): FileEntry[] {
    return guard(path, () => {
      const real = this.#real(path, this.relative(path));
      if (!Deno.statSync(real).isDirectory) {
        throw new RootedError("not_directory", `${path}: is not a directory`);
      }
      const entries: FileEntry[] = [];
      for (const entry of Deno.readDirSync(real)) {
        const full = `${real}/${entry.name}`;
        if (this.#isHidden(full)) continue;
        const shown: FileEntry = { name: entry.name, kind: kindOfInfo(entry) };
        if (options.details) describe(shown, full);
        entries.push(shown);
        if (entries.length === options.max) break;
      }
      return entries;
    });
  }

  write(
    path: string,
    data: Uint8Array<ArrayBuffer>,
    { check, mode }: WriteOptions = {},
  ): "created" | "replaced" {
    return guard(path, () => {
      const { target, existing } = this.#writeTarget(path);
      check?.(stripWorkdir(target, this.#workdir) ?? "");
      replacePath(target, data, { existing, mode: existing?.mode ?? mode });
      return existing === undefined ? "created" : "replaced";
    });
  }

  mayChange(
    path: string,
    { check, link = false }: { check?(place: string): void; link?: boolean } = {},
  ): void {
    guard(path, () => {
      const relative = this.relative(path);
      const full = `${this.#workdir}/${relative}`;
      const existing = lstat(full);
      if (existing === undefined) {
        requireNoGit(path, full, this.#workdir);
        return check?.(relative);
      }
      if (link) return check?.(stripWorkdir(this.#inParent(path), this.#workdir) ?? "");
      const real = this.#real(path, relative);
      requireNoGit(path, real, this.#workdir);
      check?.(stripWorkdir(real, this.#workdir) ?? "");
      regular(path, toStat(Deno.statSync(real)));
      Deno.openSync(real, { write: true }).close();
    });
  }

  remove(paths: readonly string[], check: (path: string, place: string) => void = () => {}): void {
    const renamed: { from: string; to: string }[] = [];
    try {
      for (const path of paths) {
        guard(path, () => {
          const from = this.#inParent(path);
          check(path, stripWorkdir(from, this.#workdir) ?? "");
          const info = lstat(from);
          if (info === undefined) throw new Deno.errors.NotFound();
          if (info.isDirectory) throw new RootedError("is_directory", `${path}: is a directory`);
          const to = temporaryPath(from);
          Deno.renameSync(from, to);
          renamed.push({ from, to });
        });
      }
    } catch (error) {
      for (const { from, to } of renamed.reverse()) Deno.renameSync(to, from);
      throw error;
    }
    for (const { to } of renamed) Deno.removeSync(to);
  }

  removeEmpty(path: string): void {
    try {
      guard(path, () => {
        const directory = this.#inParent(path);
        if (lstat(directory)?.isDirectory) Deno.removeSync(directory);
      });
    } catch (error) {
      if (!(error instanceof RootedError)) throw error;
    }
  }

  /** Returns the real path of a name that may be a link. */
  #inParent(path: string): string {
    const { directory, name } = splitFile(path, this.relative(path));
    const target = `${this.#real(path, directory)}/${name}`;
    this.#requireOpen(path, target);
    return target;
  }

  /** Resolves the file to write: creates its directories and follows symlinks. */
  #writeTarget(path: string): { target: string; existing?: Deno.FileInfo } {
    let relative = this.relative(path);
    for (let links = 0; links < MAX_LINKS; links++) {
      const { directory, name } = splitFile(path, relative);
      const parent = this.#directory(path, directory);
      const target = `${parent}/${name}`;
      this.#requireOpen(path, target);
      const existing = lstat(target);
      if (existing === undefined) return { target };
      if (!existing.isSymlink) {
        regular(path, toStat(existing));
        // A rename would also replace a read-only file, so check for write permission first.
        Deno.openSync(target, { write: true }).close();
        return { target, existing };
      }
      relative = this.#linkTarget(path, parent, Deno.readLinkSync(target));
    }
    throw linkLoop(path);
  }

  /** @throws {RootedError} for a hidden path, or one in `.git` */
  #requireOpen(path: string, real: string): void {
    if (this.#isHidden(real)) throw hiddenError(path);
    requireNoGit(path, real, this.#workdir);
  }

  #linkTarget(path: string, parent: string, link: string): string {
    const how = `it is a symlink to ${link}`;
    const base = stripWorkdir(parent, this.#workdir);
    const slashed = Deno.build.os === "windows" ? link.replaceAll("\\", "/") : link;
    const absolute = slashed.startsWith("/") || /^[A-Za-z]:/.test(slashed);
    const target = absolute
      ? stripWorkdir(slashed, this.#workdir)
      : joinRooted(base ?? "", slashed);
    if (target === undefined) throw outside(path, how);
    return target;
  }

  /** Returns the real path of a directory. Creates it and its parents if needed. */
  #directory(path: string, relative: string): string {
    let real = this.#workdir;
    let walked = "";
    for (const part of relative === "" ? [] : relative.split("/")) {
      walked = walked === "" ? part : `${walked}/${part}`;
      const next = `${real}/${part}`;
      if (this.#isHidden(next)) throw hiddenError(path);
      if (lstat(next) === undefined) {
        requireNoGit(path, next, this.#workdir);
        Deno.mkdirSync(next);
      }
      real = this.#real(path, walked);
    }
    return real;
  }

  #real(path: string, relative: string): string {
    const full = relative === "" ? this.#workdir : `${this.#workdir}/${relative}`;
    const real = Deno.realPathSync(full);
    if (stripWorkdir(real, this.#workdir) === undefined) {
      throw outside(path, `it is really ${real}`);
    }
    if (this.#isHidden(real)) throw hiddenError(path);
    return real;
  }
}

/** Only Node's API has the flags that keep open() from waiting for a pipe's writer. */
const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;

/**
 * Reads a file that was just found to be regular. Neither waits nor follows if a pipe or link has
 * replaced it.
 */
function readRegular(
  path: string,
  real: string,
  position: number,
  into: Uint8Array<ArrayBuffer>,
): number {
  const file = openSync(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  try {
    if (!fstatSync(file).isFile()) {
      throw new RootedError("not_regular", `${path}: is not a regular file`);
    }
    let bytes = 0;
    while (bytes < into.length) {
      const count = readSync(file, into, bytes, into.length - bytes, position + bytes);
      if (count === 0) break;
      bytes += count;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}

function lstat(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function describe(entry: FileEntry, full: string): void {
  const info = lstat(full);
  if (info?.isFile) entry.size = info.size;
  if (info?.isSymlink) entry.target = Deno.readLinkSync(full);
}

function regular(path: string, stat: FileStat): FileStat {
  if (stat.kind === "directory") throw new RootedError("is_directory", `${path}: is a directory`);
  if (stat.kind !== "file") {
    throw new RootedError("not_regular", `${path}: is not a regular file`);
  }
  return stat;
}

function toStat(info: Deno.FileInfo): FileStat {
  return {
    kind: kindOfInfo(info),
    size: info.size,
    mode: info.mode ?? undefined,
    version: `${info.dev}:${info.ino}:${info.size}:${info.mtime?.getTime()}`,
  };
}

/** Turns expected failures into a {@linkcode RootedError}. */
function guard<T>(path: string, operation: () => T): T {
  try {
    return operation();
  } catch (error) {
    if (error instanceof RootedError || !(error instanceof Error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof Deno.errors.NotFound || code === "ENOENT") {
      throw new RootedError("not_found", `${path}: no such file or directory`);
    }
    if (error instanceof Deno.errors.NotADirectory) {
      throw new RootedError("not_directory", `${path}: a part of the path is not a directory`);
    }
    if (error instanceof Deno.errors.NotCapable) throw outside(path);
    if (error instanceof Deno.errors.PermissionDenied || code === "EACCES") {
      throw new RootedError("denied", `${path}: permission denied`);
    }
    if (error instanceof Deno.errors.FilesystemLoop || code === "ELOOP") throw linkLoop(path);
    throw new RootedError("other", `${path}: ${error.message}`, code);
  }
}
