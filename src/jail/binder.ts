/**
 * Binds directories and files into a sandbox by the descriptor of what was checked. Between a check
 * and its use, a running command could replace the path by a link.
 */
import { dirname, join } from "@std/path";
import { type Descriptor, type Kernel, O, openKernel, SystemError } from "../os/openat2.ts";
import { lacksForNow } from "../os/lacks.ts";
import { recent } from "../base/recent.ts";
import type { Argument } from "../os/passing.ts";
import { parent } from "./covers.ts";
import { readUntrusted } from "./untrusted_files.ts";

export interface Binder extends Disposable {
  /** Returns the kind of an absolute path; undefined if it is missing or contains a symlink. */
  kind(path: string): "file" | "directory" | undefined;
  /** Like {@linkcode Binder.kind} for many paths. Paths in one directory share a lookup. */
  kinds(paths: readonly string[]): ("file" | "directory" | undefined)[];
  /** Returns the start of a regular file; undefined if there is none. */
  text(path: string, max_bytes: number): string | undefined;
  owner(path: string): number | null | undefined;
  /**
   * Reports whether a path exists. Checks a missing path at most once a second, because a machine
   * lacks most known toolchains.
   */
  isThere(path: string): boolean;
  /** Returns bwrap arguments that bind a path, to `at` if given; writable unless `mode` is "ro". */
  bind(path: string, mode?: "ro", at?: string): Argument[];
  /**
   * Makes a mount point below a directory that commands can write, with its parents. Follows no
   * symlink: it renames what is in the way.
   *
   * @param root absolute real path
   * @param path relative to `root`, normalized
   * @throws {Error} if it cannot be made
   */
  makePlace(root: string, path: string, kind: "file" | "directory"): void;
  /** Returns device and inode, for a check inside; undefined if no check is needed. */
  identity(path: string): string | undefined;
  /** Returns the paths of programs' sockets. */
  sockets(): string[];
}

/**
 * @returns undefined when the C library cannot be opened or the kernel is too old
 * @throws {Error} when the system lacks resources for now
 */
export function bindByDescriptor(): Binder | undefined {
  const kernel = openKernel();
  if (kernel === undefined) return undefined;
  try {
    kernel.openReal("/")[Symbol.dispose]();
    return new DescriptorBinder(kernel);
  } catch (error) {
    kernel[Symbol.dispose]();
    if (lacksForNow(error)) throw error;
    return undefined;
  }
}

/** The owner may list, enter and change it. */
const OWNER_MAY_ALL = 0o700;

const MISSING_MS = 1_000;

class DescriptorBinder implements Binder {
  readonly #kernel: Kernel;
  readonly #missing = recent(MISSING_MS, () => new Set<string>());

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  [Symbol.dispose](): void {
    this.#kernel[Symbol.dispose]();
  }

  kind(path: string): "file" | "directory" | undefined {
    using opened = this.#kernel.tryReal(path);
    if (opened === undefined) return undefined;
    return this.#kernel.stat(opened).kind === "directory" ? "directory" : "file";
  }

  kinds(paths: readonly string[]): ("file" | "directory" | undefined)[] {
    const kernel = this.#kernel;
    const found = new Map<string, "file" | "directory">();
    for (const [directory, beside] of Map.groupBy(paths, parent)) {
      using opened = kernel.tryReal(directory, O.DIRECTORY);
      if (opened === undefined) continue;
      for (const path of beside) {
        const kind = kernel.kindIn(opened, path.slice(path.lastIndexOf("/") + 1) || ".");
        if (kind === undefined || kind === "symlink") continue;
        found.set(path, kind === "directory" ? "directory" : "file");
      }
    }
    return paths.map((path) => found.get(path));
  }

  text(path: string, max_bytes: number): string | undefined {
    const kernel = this.#kernel;
    using opened = kernel.tryReal(path);
    if (opened === undefined || kernel.stat(opened).kind !== "file") return undefined;
    try {
      using file = kernel.reopen(opened, O.RDONLY | O.NONBLOCK);
      const bytes = new Uint8Array(max_bytes);
      return new TextDecoder().decode(bytes.subarray(0, kernel.read(file, 0, bytes)));
    } catch (error) {
      if (error instanceof SystemError) return undefined;
      throw error;
    }
  }

  owner(path: string): number | undefined {
    using opened = this.#kernel.tryReal(path);
    return opened && this.#kernel.stat(opened).owner?.uid;
  }

  isThere(path: string): boolean {
    const missing = this.#missing();
    if (missing.has(path)) return false;
    const there = this.kind(path) !== undefined;
    if (!there) missing.add(path);
    return there;
  }

  bind(path: string, mode?: "ro", at = path): Argument[] {
    const open = () => {
      try {
        return this.#kernel.openReal(path, { inherited: true });
      } catch (error) {
        throw error instanceof SystemError ? movedError(path, error) : error;
      }
    };
    return [mode === "ro" ? "--ro-bind-fd" : "--bind-fd", { open }, at];
  }

  makePlace(root: string, path: string, kind: "file" | "directory"): void {
    const kernel = this.#kernel;
    const parts = path.split("/");
    using walked = new DisposableStack();
    let at: Descriptor = walked.use(kernel.openReal(root));
    for (const [place, name] of parts.entries()) {
      const mode = kernel.stat(at).mode ?? OWNER_MAY_ALL;
      if ((mode & OWNER_MAY_ALL) !== OWNER_MAY_ALL) kernel.changeModeOf(at, mode | OWNER_MAY_ALL);
      const wanted = place === parts.length - 1 ? kind : "directory";
      const found = kernel.statIn(at, name)?.kind;
      if (found !== undefined && found !== wanted) kernel.renameIn(at, name, movedName(name));
      if (found !== wanted && wanted === "directory") {
        kernel.makeDirectoryIn(at, name, OWNER_MAY_ALL);
      }
      if (found !== wanted && wanted === "file") kernel.createIn(at, name, 0o600)[Symbol.dispose]();
      const next = kernel.openIn(at, name);
      if (next === undefined) throw new SystemError("openat2", "ENOENT");
      at = walked.use(next);
    }
  }

  identity(): undefined {
    return undefined;
  }

  sockets(): string[] {
    return socketsOf(this.#kernel.readAll("/proc/net/unix"));
  }
}

/** For a bwrap without descriptor support: checks the paths, and the workdir again inside. */
export const bindByPath: Binder = {
  kind(path) {
    try {
      if (Deno.realPathSync(path) !== path) return undefined;
      return Deno.statSync(path).isDirectory ? "directory" : "file";
    } catch {
      return undefined;
    }
  },
  kinds: (paths) => paths.map((path) => bindByPath.kind(path)),
  text(path, max_bytes) {
    if (bindByPath.kind(path) !== "file") return undefined;
    try {
      return readUntrusted(dirname(path), (files) => files.text(path, max_bytes));
    } catch {
      return undefined;
    }
  },
  owner: (path) => bindByPath.kind(path) && Deno.lstatSync(path).uid,
  isThere: (path) => bindByPath.kind(path) !== undefined,
  bind: (path, mode, at = path) => [mode === "ro" ? "--ro-bind" : "--bind", path, at],
  makePlace(root, path, kind) {
    const parts = path.split("/");
    for (const place of parts.keys()) {
      const at = join(root, ...parts.slice(0, place + 1));
      const wanted = place === parts.length - 1 ? kind : "directory";
      const found = kindAt(at);
      if (found !== undefined && found !== wanted) Deno.renameSync(at, movedName(at));
      if (found === wanted) continue;
      if (wanted === "directory") Deno.mkdirSync(at, { mode: OWNER_MAY_ALL });
      else Deno.openSync(at, { createNew: true, write: true, mode: 0o600 }).close();
    }
  },
  identity(path) {
    const { dev, ino } = Deno.lstatSync(path);
    return `${dev}:${ino}`;
  },
  // Without all permissions, Deno cannot read below /proc.
  sockets: () => [],
  [Symbol.dispose]() {},
};

function movedName(name: string): string {
  return `${name}.moved-${crypto.randomUUID().slice(0, 8)}`;
}

/** Does not follow symlinks: those are `other`. */
function kindAt(path: string): "file" | "directory" | "other" | undefined {
  try {
    const { isDirectory, isFile } = Deno.lstatSync(path);
    return isDirectory ? "directory" : isFile ? "file" : "other";
  } catch {
    return undefined;
  }
}

function movedError(path: string, cause: SystemError): Error {
  switch (cause.code) {
    case "ELOOP":
      return new Error(`${path} now leads through a symlink; restore the directory`, {
        cause,
      });
    case "ENOENT":
    case "ENOTDIR":
      return new Error(`${path} no longer exists; restore it`, { cause });
    default:
      return new Error(`${path} cannot be opened (${cause.code})`, { cause });
  }
}

/** Returns the paths in `/proc/net/unix`. Names that begin with `@` are in no directory. */
export function socketsOf(table: string): string[] {
  const found = new Set<string>();
  for (const line of table.split("\n")) {
    const at = line.indexOf(" /");
    if (at >= 0) found.add(line.slice(at + 1));
  }
  return [...found];
}
