/**
 * How directories and files are bound into a sandbox: by the descriptor of what was checked. A path
 * may stand for something else by the time bwrap follows it: a command that still runs puts a link in
 * the place of a directory, and the next command would have the link's target.
 */
import { type Kernel, openKernel, SystemError } from "../os/beneath_kernel.ts";
import type { Argument } from "../os/passing.ts";

/** Binds paths to themselves. */
export interface Binder extends Disposable {
  /** What is at an absolute path; undefined when nothing is, or a part of it is a symlink. */
  kind(path: string): "file" | "directory" | undefined;
  /**
   * Whether something is at a path that is bound where it is. Of what was missing that is asked once a
   * second: most of the toolchains that there are, a machine lacks.
   */
  isThere(path: string): boolean;
  /** Arguments of bwrap that bind a path, writable unless it is to be read only. */
  bind(path: string, mode?: "ro"): Argument[];
  /** Device and inode of a directory, for a check inside; undefined where none is needed. */
  identity(path: string): string | undefined;
  /** Paths that programs gave to their sockets, as far as they can be known. */
  sockets(): string[];
}

/** @returns undefined where the C library cannot be opened or the kernel is too old. */
export function bindByDescriptor(): Binder | undefined {
  const kernel = openKernel();
  if (kernel === undefined) return undefined;
  try {
    kernel.openReal("/")[Symbol.dispose]();
    return new DescriptorBinder(kernel);
  } catch {
    kernel[Symbol.dispose]();
    return undefined;
  }
}

/** How long a path that was not there is taken to be missing. */
const MISSING_MS = 1_000;

class DescriptorBinder implements Binder {
  readonly #kernel: Kernel;
  readonly #missing = new Set<string>();
  #missing_since = 0;

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

  isThere(path: string): boolean {
    const now = performance.now();
    if (now - this.#missing_since > MISSING_MS) {
      this.#missing.clear();
      this.#missing_since = now;
    }
    if (this.#missing.has(path)) return false;
    const there = this.kind(path) !== undefined;
    if (!there) this.#missing.add(path);
    return there;
  }

  bind(path: string, mode?: "ro"): Argument[] {
    const open = () => {
      try {
        return this.#kernel.openReal(path, { inherited: true });
      } catch (error) {
        throw error instanceof SystemError ? movedError(path, error) : error;
      }
    };
    return [mode === "ro" ? "--ro-bind-fd" : "--bind-fd", { open }, path];
  }

  identity(): undefined {
    return undefined;
  }

  sockets(): string[] {
    return socketsOf(this.#kernel.readAll("/proc/net/unix"));
  }
}

/** For a bwrap that knows no descriptors: the paths are checked, and the workdir again inside. */
export const bindByPath: Binder = {
  kind(path) {
    try {
      if (Deno.realPathSync(path) !== path) return undefined;
      return Deno.statSync(path).isDirectory ? "directory" : "file";
    } catch {
      return undefined;
    }
  },
  isThere: (path) => bindByPath.kind(path) !== undefined,
  bind: (path, mode) => [mode === "ro" ? "--ro-bind" : "--bind", path, path],
  identity(path) {
    const { dev, ino } = Deno.lstatSync(path);
    return `${dev}:${ino}`;
  },
  // Deno reads nothing below /proc without all permissions.
  sockets: () => [],
  [Symbol.dispose]() {},
};

function movedError(path: string, cause: SystemError): Error {
  switch (cause.code) {
    case "ELOOP":
      return new Error(`${path} is reached through a symlink now; put the directory back`, {
        cause,
      });
    case "ENOENT":
    case "ENOTDIR":
      return new Error(`${path} is gone; put it back`, { cause });
    default:
      return new Error(`${path} cannot be opened (${cause.code})`, { cause });
  }
}

/** The paths in `/proc/net/unix`; names that begin with `@` are in no directory. */
export function socketsOf(table: string): string[] {
  const found = new Set<string>();
  for (const line of table.split("\n")) {
    const at = line.indexOf(" /");
    if (at >= 0) found.add(line.slice(at + 1));
  }
  return [...found];
}
