/**
 * Reads files that somebody else can write: a command of a session, a repository, a hirer, a tool
 * server. Such a name may stand for a pipe that blocks its reader for good, a device without an end,
 * a link to a file of the person, or become one of these between a check and the use. Everything
 * outside of the jails that reads in a directory of others reads through this.
 */
import {
  type Beneath,
  BeneathError,
  type BeneathFs,
  chooseBeneath,
  kernelBeneath,
} from "./beneath.ts";

/**
 * Reads in a directory.
 *
 * @param root absolute real path of the directory; nothing outside of it is read.
 * @param read looks at its files; they cannot be used after it has returned.
 * @param hidden absolute real paths below it that are not read either.
 * @returns what `read` returns.
 */
export function readUntrusted<T>(
  root: string,
  read: (files: UntrustedFiles) => T,
  hidden: readonly string[] = [],
): T {
  // Not `using`: the minifier of `deno bundle` loses the declaration of what is used once.
  const beneath = chooseBeneath(root);
  try {
    return read(new UntrustedFiles(beneath.view(hidden)));
  } finally {
    beneath[Symbol.dispose]();
  }
}

/**
 * Reads in many directories, as {@linkcode readUntrusted} does in one: it opens the C library at its
 * first use and keeps it, which for a few small files is most of the time. Disposing of it closes that.
 */
export class UntrustedReader implements Disposable {
  #open: ((root: string) => Beneath) | undefined;
  /** Any of those that share the library. */
  #opened: Beneath | undefined;

  /**
   * The files of a directory, to be used at once.
   *
   * @param root absolute real path of the directory; nothing outside of it is read.
   * @param hidden absolute real paths below it that are not read either.
   */
  files(root: string, hidden: readonly string[] = []): UntrustedFiles {
    this.#open ??= kernelBeneath() ?? chooseBeneath;
    this.#opened = this.#open(root);
    return new UntrustedFiles(this.#opened.view(hidden));
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.#open = this.#opened = undefined;
  }
}

/** The files below one directory. */
export class UntrustedFiles {
  readonly #fs: BeneathFs;

  constructor(fs: BeneathFs) {
    this.#fs = fs;
  }

  /**
   * Reads a whole file.
   *
   * @param path relative to the directory, or absolute and inside it.
   * @param max_bytes the most that the file may have.
   * @returns its content; `undefined` when there is nothing of that name.
   * @throws {BeneathError} for anything but a regular file that lies beneath the directory and is no
   * larger than that. It never waits for another process.
   */
  read(path: string, max_bytes: number): Uint8Array<ArrayBuffer> | undefined {
    return ifAny(() => {
      const { kind, size } = this.#fs.stat(path);
      // What is no file is refused by the read itself, in its own words.
      if (kind === "file" && size > max_bytes) {
        throw new BeneathError("too_large", `${path}: has more than ${max_bytes} bytes`);
      }
      const into = new Uint8Array(kind === "file" ? size : 0);
      return into.subarray(0, this.#fs.read(path, 0, into).bytes);
    });
  }

  /** As {@linkcode UntrustedFiles.read}, for text. */
  text(path: string, max_bytes: number): string | undefined {
    const bytes = this.read(path, max_bytes);
    return bytes && new TextDecoder().decode(bytes);
  }

  /** Whether there is a regular file beneath the directory by that name. */
  hasFile(path: string): boolean {
    try {
      return this.#fs.stat(path).kind === "file";
    } catch (error) {
      if (error instanceof BeneathError) return false;
      throw error;
    }
  }

  /**
   * The names in a directory; none when it is not there.
   *
   * @throws {BeneathError} when it is no directory, or not one beneath.
   */
  names(path: string): string[] {
    return ifAny(() => this.#fs.list(path).map(({ name }) => name)) ?? [];
  }
}

function ifAny<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof BeneathError && error.reason === "not_found") return undefined;
    throw error;
  }
}
