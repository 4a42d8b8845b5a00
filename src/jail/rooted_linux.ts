import type { FileKind, FileStat } from "../os/openat2.ts";
import type { FileEntry, ListOptions, Rooted, RootedFs, WriteOptions } from "./rooted.ts";
import { type Descriptor, Kernel, O, openKernel, SystemError } from "../os/openat2.ts";
import { lacksForNow } from "../os/lacks.ts";
import {
  hiddenError,
  type HiddenRule,
  hiddenRule,
  joinRooted,
  linkLoop,
  outside,
  relativePath,
  requireNoGit,
  RootedError,
  splitFile,
  splitLast,
  stripWorkdir,
  unsteady,
} from "./rooted_path.ts";
import { replaceFile } from "./replace_file.ts";

/** The kernel's limit. */
const MAX_LINKS = 40;
/** The kernel returns EAGAIN when something was renamed while it resolved `..`. */
const MAX_RACES = 16;

/**
 * Opens the C library and checks that the kernel, its `/proc` and any system call filter allow all
 * that {@linkcode LinuxRooted} needs.
 *
 * @returns `undefined` if not, so that the caller uses another implementation
 */
export function openLinux(workdir: string): Rooted | undefined {
  const kernel = workingKernel(workdir);
  return kernel && rooted(kernel, workdir);
}

/** Like {@linkcode openLinux}, for any number of directories that share the C library. */
export function kernelOpener(): ((workdir: string) => Rooted) | undefined {
  const kernel = workingKernel("/");
  return kernel && ((workdir) => rooted(kernel, workdir));
}

function workingKernel(workdir: string): Kernel | undefined {
  const kernel = openKernel();
  if (kernel === undefined || works(kernel, workdir)) return kernel;
  kernel[Symbol.dispose]();
  return undefined;
}

function rooted(kernel: Kernel, workdir: string): Rooted {
  return {
    view: (hidden) => new LinuxRooted(kernel, workdir, hiddenRule(hidden, workdir)),
    [Symbol.dispose]: () => kernel[Symbol.dispose](),
  };
}

function works(kernel: Kernel, workdir: string): boolean {
  try {
    new LinuxRooted(kernel, workdir, () => false).stat(".");
    return true;
  } catch (error) {
    if (lacksForNow(error)) throw error;
    // ENOSYS before Linux 5.6, EPERM under an old container runtime's filter. Operations report a
    // missing directory themselves.
    return error instanceof RootedError && error.reason === "not_found";
  }
}

interface Opened extends Disposable {
  fd: Descriptor;
  real: string;
}

/**
 * {@linkcode RootedFs} with `openat2`: the kernel refuses to resolve a path out of the directory.
 * All checks use the descriptor that is then read or written, so nothing that another process
 * renames or links meanwhile leads outside or to a hidden path.
 *
 * Uses the C library, because Deno refuses paths under `/proc` without all permissions and has no
 * file descriptors.
 */
class LinuxRooted implements RootedFs {
  readonly mechanism = "openat2";
  readonly #kernel: Kernel;
  readonly #workdir: string;
  readonly #isHidden: HiddenRule;

  constructor(kernel: Kernel, workdir: string, isHidden: HiddenRule) {
    this.#kernel = kernel;
    this.#workdir = workdir;
    this.#isHidden = isHidden;
  }

  relative(path: string): string {
    return relativePath(path, this.#workdir);
  }

  stat(path: string): FileStat {
    return guard(path, () => {
      using opened = this.#open(path, this.relative(path));
      return this.#kernel.stat(opened.fd);
    });
  }

  read(path: string, position: number, into: Uint8Array<ArrayBuffer>) {
    return guard(path, () => {
      using opened = this.#open(path, this.relative(path));
      const stat = regular(path, this.#kernel.stat(opened.fd));
      using file = this.#kernel.reopen(opened.fd, O.RDONLY | O.NONBLOCK);
      return { bytes: this.#kernel.read(file, position, into), stat };
    });
  }

  list(path: string, options: ListOptions = {}): FileEntry[] {
    return guard(path, () => {
      using opened = this.#open(path, this.relative(path));
      if (this.#kernel.stat(opened.fd).kind !== "directory") {
        throw new RootedError("not_directory", `${path}: is not a directory`);
      }
      using directory = this.#kernel.reopen(opened.fd, O.RDONLY | O.DIRECTORY);
      const entries: FileEntry[] = [];
      for (const { name, kind } of this.#kernel.names(directory)) {
        if (this.#isHidden(inside(opened.real, name))) continue;
        const entry = this.#entry(directory, name, kind, options.details ?? false);
        if (entry !== undefined) entries.push(entry);
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
      let relative = this.relative(path);
      for (let links = 0; links < MAX_LINKS; links++) {
        const { directory, name } = splitFile(path, relative);
        using parent = this.#openDirectory(path, directory);
        const place = inside(parent.real, name);
        this.#requireOpen(path, place);
        using existing = this.#kernel.openIn(parent.fd, name);
        const stat = existing && this.#kernel.stat(existing);
        if (existing === undefined || stat?.kind !== "symlink") {
          check?.(stripWorkdir(place, this.#workdir) ?? "");
          if (existing && stat) this.#mayReplace(path, existing, stat);
          replaceFile(this.#kernel, {
            directory: parent.fd,
            name,
            data,
            existing: existing && stat && { fd: existing, stat },
            mode: stat?.mode ?? mode,
            temporary: temporaryName(),
          });
          return existing === undefined ? "created" : "replaced";
        }
        relative = this.#linkTarget(path, parent.real, this.#kernel.readLink(existing));
      }
      throw linkLoop(path);
    });
  }

  mayChange(
    path: string,
    { check, link = false }: { check?(place: string): void; link?: boolean } = {},
  ): void {
    guard(path, () => {
      let relative = this.relative(path);
      for (let links = 0; links < MAX_LINKS; links++) {
        const { directory, name } = splitFile(path, relative);
        const [parent, rest] = this.#nearest(path, directory, name);
        using _closed = parent;
        const place = inside(parent.real, rest);
        this.#requireOpen(path, place);
        using existing = rest === name ? this.#kernel.openIn(parent.fd, name) : undefined;
        const stat = existing && this.#kernel.stat(existing);
        if (link || existing === undefined || stat?.kind !== "symlink") {
          check?.(stripWorkdir(place, this.#workdir) ?? "");
          if (!link && existing && stat) this.#mayReplace(path, existing, stat);
          return;
        }
        relative = this.#linkTarget(path, parent.real, this.#kernel.readLink(existing));
      }
      throw linkLoop(path);
    });
  }

  /** Opens the nearest existing directory above a name. @returns it, and the path below it */
  #nearest(path: string, directory: string, rest: string): [Opened, string] {
    try {
      return [this.#open(path, directory, O.DIRECTORY), rest];
    } catch (error) {
      if (!(error instanceof SystemError && error.code === "ENOENT") || directory === "") {
        throw error;
      }
      const up = splitLast(directory);
      return this.#nearest(path, up.directory, `${up.name}/${rest}`);
    }
  }

  remove(paths: readonly string[], check: (path: string, place: string) => void = () => {}): void {
    const renamed: { path: string; from: string; to: string }[] = [];
    try {
      for (const path of paths) {
        const to = temporaryName();
        this.#inParent(path, (parent, name) => {
          check(path, stripWorkdir(inside(parent.real, name), this.#workdir) ?? "");
          const kind = this.#kernel.statIn(parent.fd, name)?.kind;
          if (kind === undefined) throw new SystemError("unlinkat", "ENOENT");
          if (kind === "directory") throw new SystemError("unlinkat", "EISDIR");
          this.#kernel.renameIn(parent.fd, name, to);
          renamed.push({ path, from: name, to });
        });
      }
    } catch (error) {
      for (const { path, from, to } of renamed.reverse()) {
        this.#inParent(path, ({ fd }) => this.#kernel.renameIn(fd, to, from));
      }
      throw error;
    }
    for (const { path, to } of renamed) {
      this.#inParent(path, ({ fd }) => this.#kernel.unlinkIn(fd, to));
    }
  }

  removeEmpty(path: string): void {
    try {
      this.#inParent(path, ({ fd }, name) => this.#kernel.removeDirectoryIn(fd, name));
    } catch (error) {
      if (!(error instanceof RootedError)) throw error;
    }
  }

  #inParent(path: string, work: (parent: Opened, name: string) => void): void {
    guard(path, () => {
      const { directory, name } = splitFile(path, this.relative(path));
      using parent = this.#open(path, directory, O.DIRECTORY);
      const place = inside(parent.real, name);
      this.#requireOpen(path, place);
      work(parent, name);
    });
  }

  /** A rename would also replace a read-only file, so check for write permission first. */
  #mayReplace(path: string, existing: Descriptor, stat: FileStat): void {
    regular(path, stat);
    try {
      this.#kernel.reopen(existing, O.WRONLY | O.NONBLOCK)[Symbol.dispose]();
    } catch (error) {
      // A running program can be replaced, but not opened for writing.
      if (!(error instanceof SystemError && error.code === "ETXTBSY")) throw error;
    }
  }

  /** Opens a directory. Creates it and its parents if needed. */
  #openDirectory(path: string, relative: string): Opened {
    try {
      return this.#open(path, relative, O.DIRECTORY);
    } catch (error) {
      if (!(error instanceof SystemError && error.code === "ENOENT") || relative === "") {
        throw error;
      }
    }
    const { directory, name } = splitLast(relative);
    {
      using parent = this.#openDirectory(path, directory);
      const place = inside(parent.real, name);
      this.#requireOpen(path, place);
      this.#kernel.makeDirectoryIn(parent.fd, name);
    }
    return this.#open(path, relative, O.DIRECTORY);
  }

  /** Opens a path without reading it, and finds its real location. */
  #open(path: string, relative: string, flags = 0): Opened {
    using root = this.#openRoot();
    let current = relative;
    for (let links = 0, races = 0; links < MAX_LINKS && races < MAX_RACES;) {
      const opened = this.#kernel.openRooted(root, current === "" ? "." : current, flags);
      if (typeof opened !== "string") return this.#check(path, opened);
      if (opened === "EAGAIN") {
        races++;
        continue;
      }
      // The path leads out, or through an absolute symlink that may point inside.
      const expanded = this.#expandLink(path, root, current);
      if (expanded === undefined) throw outside(path);
      current = expanded;
      links++;
    }
    throw unsteady(path);
  }

  #check(path: string, fd: Descriptor): Opened {
    try {
      const real = this.#kernel.realPath(fd);
      if (this.#isHidden(real)) throw hiddenError(path);
      return { fd, real, [Symbol.dispose]: () => fd[Symbol.dispose]() };
    } catch (error) {
      fd[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Opens it for each operation, because a terminated worker could not close it. The real path
   * shows whether a symlink replaced a directory above.
   */
  #openRoot(): Descriptor {
    const root = this.#kernel.openDirectory(this.#workdir);
    if (this.#kernel.realPath(root) === this.#workdir) return root;
    root[Symbol.dispose]();
    throw new RootedError("not_found", `the working directory ${this.#workdir} was moved`);
  }

  /**
   * Replaces the first symlink in a path by its target, as text. The kernel checks the result
   * again, so a race here can only make the operation fail. @returns `undefined` without a symlink
   */
  #expandLink(path: string, root: Descriptor, relative: string): string | undefined {
    const parts = relative.split("/");
    for (let index = 0; index < parts.length; index++) {
      const before = parts.slice(0, index).join("/");
      using part = this.#kernel.openIn(root, parts.slice(0, index + 1).join("/"));
      if (part === undefined) return undefined;
      if (this.#kernel.stat(part).kind !== "symlink") continue;
      const parent = inside(this.#workdir, before);
      const target = this.#linkTarget(path, parent, this.#kernel.readLink(part));
      return joinRooted(target, parts.slice(index + 1).join("/"));
    }
    return undefined;
  }

  /** Returns the target of a symlink in the real directory `parent`, as a relative path. */
  #linkTarget(path: string, parent: string, link: string): string {
    const base = stripWorkdir(parent, this.#workdir) ?? "";
    const target = link.startsWith("/")
      ? stripWorkdir(link, this.#workdir)
      : joinRooted(base, link);
    if (target === undefined) throw outside(path, `through a symlink to ${link}`);
    return target;
  }

  /** @throws {RootedError} for a hidden path, or one in `.git` */
  #requireOpen(path: string, place: string): void {
    if (this.#isHidden(place)) throw hiddenError(path);
    requireNoGit(path, place, this.#workdir);
  }

  #entry(
    directory: Descriptor,
    name: string,
    known: FileKind | undefined,
    details: boolean,
  ): FileEntry | undefined {
    if (known !== undefined && !details) return { name, kind: known };
    using fd = this.#kernel.openIn(directory, name);
    // It was removed after the names were read.
    if (fd === undefined) return undefined;
    const { kind, size } = this.#kernel.stat(fd);
    if (!details) return { name, kind };
    const target = kind === "symlink" ? this.#kernel.readLink(fd) : undefined;
    return { name, kind, size: kind === "file" ? size : undefined, target };
  }
}

/** For a file until it is complete, or while it may have to be restored. */
function temporaryName(): string {
  return `.svc-${crypto.randomUUID()}.tmp`;
}

function inside(directory: string, name: string): string {
  if (name === "") return directory;
  return directory.endsWith("/") ? `${directory}${name}` : `${directory}/${name}`;
}

function regular(path: string, stat: FileStat): FileStat {
  if (stat.kind === "directory") throw new RootedError("is_directory", `${path}: is a directory`);
  if (stat.kind !== "file") {
    throw new RootedError(
      "not_regular",
      `${path}: is not a regular file (a pipe, socket or device)`,
    );
  }
  return stat;
}

/** Turns expected failures into a {@linkcode RootedError}. */
function guard<T>(path: string, operation: () => T): T {
  try {
    return operation();
  } catch (error) {
    throw error instanceof SystemError ? toRootedError(path, error) : error;
  }
}

function toRootedError(path: string, error: SystemError): RootedError {
  switch (error.code) {
    case "ENOENT":
      return new RootedError("not_found", `${path}: no such file or directory`);
    case "EACCES":
    case "EPERM":
      return new RootedError("denied", `${path}: permission denied (${error.code})`);
    case "ENOTDIR":
      return new RootedError("not_directory", `${path}: a part of the path is not a directory`);
    case "EISDIR":
      return new RootedError("is_directory", `${path}: is a directory`);
    case "ELOOP":
      return linkLoop(path);
    case "EXDEV":
      return outside(path);
    case "ENAMETOOLONG":
      return new RootedError("invalid", `${path}: the path is too long`);
    case "ENOSPC":
    case "EDQUOT":
      return new RootedError("other", `${path}: no space left (${error.code})`);
    case "EROFS":
      return new RootedError("denied", `${path}: the file system is read-only (EROFS)`);
    case "ENXIO":
      return new RootedError("not_regular", `${path}: is not a regular file`);
    default:
      return new RootedError("other", `${path}: ${error.call} failed (${error.code})`, error.code);
  }
}
