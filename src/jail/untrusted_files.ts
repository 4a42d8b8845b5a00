/**
 * Reads files that somebody else can write: a command of a session, a repository, a hirer, a tool
 * server. Such a name may be a pipe that blocks its reader forever, an endless device, or a link to
 * a file of the person, or become one of these between a check and its use. All code outside of the
 * jails that reads in other people's directories uses this.
 */
import { chooseRooted, kernelRooted, type Rooted, RootedError, type RootedFs } from "./rooted.ts";

/**
 * Reads files in a directory.
 *
 * @param root absolute real path of the directory; nothing outside of it is read
 * @param read reads its files; they cannot be used after it has returned
 * @param hidden absolute real paths below it that are not read either
 * @returns what `read` returns
 */
export function readUntrusted<T>(
  root: string,
  read: (files: UntrustedFiles) => T,
  hidden: readonly string[] = [],
): T {
  // Not `using`: the minifier of `deno bundle` drops declarations that are used once.
  const rooted = chooseRooted(root);
  try {
    return read(new UntrustedFiles(rooted.view(hidden)));
  } finally {
    rooted[Symbol.dispose]();
  }
}

/**
 * Reads in many directories, each like {@linkcode readUntrusted}. It opens the C library at its
 * first use and keeps it, because opening it takes most of the time for a few small files.
 * Disposing of it closes the library.
 */
export class UntrustedReader implements Disposable {
  #open: ((root: string) => Rooted) | undefined;
  /** Any one of those that share the library. */
  #opened: Rooted | undefined;

  /**
   * Returns the files of a directory, for immediate use.
   *
   * @param root absolute real path of the directory; nothing outside of it is read
   * @param hidden absolute real paths below it that are not read either
   */
  files(root: string, hidden: readonly string[] = []): UntrustedFiles {
    this.#open ??= kernelRooted() ?? chooseRooted;
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
  readonly #fs: RootedFs;

  constructor(fs: RootedFs) {
    this.#fs = fs;
  }

  /**
   * Reads a whole file.
   *
   * @param path relative to the directory, or absolute and inside it
   * @param max_bytes the largest size accepted
   * @returns its content; `undefined` when it does not exist
   * @throws {RootedError} for anything but a regular file below the directory of at most that
   * size. Never waits for another process.
   */
  read(path: string, max_bytes: number): Uint8Array<ArrayBuffer> | undefined {
    return ifAny(() => {
      const { kind, size } = this.#fs.stat(path);
      // The read itself refuses anything that is not a file, with its own message.
      if (kind === "file" && size > max_bytes) {
        throw new RootedError("too_large", `${path}: has more than ${max_bytes} bytes`);
      }
      const into = new Uint8Array(kind === "file" ? size : 0);
      return into.subarray(0, this.#fs.read(path, 0, into).bytes);
    });
  }

  /** Like {@linkcode UntrustedFiles.read}, for text. */
  text(path: string, max_bytes: number): string | undefined {
    const bytes = this.read(path, max_bytes);
    return bytes && new TextDecoder().decode(bytes);
  }

  /** Reports whether there is a regular file with that name below the directory. */
  hasFile(path: string): boolean {
    try {
      return this.#fs.stat(path).kind === "file";
    } catch (error) {
      if (error instanceof RootedError) return false;
      throw error;
    }
  }

  /**
   * Returns the names in a directory; none when it does not exist.
   *
   * @throws {RootedError} when it is not a directory, or not below
   */
  names(path: string): string[] {
    return ifAny(() => this.#fs.list(path).map(({ name }) => name)) ?? [];
  }
}

function ifAny<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof RootedError && error.reason === "not_found") return undefined;
    throw error;
  }
}
