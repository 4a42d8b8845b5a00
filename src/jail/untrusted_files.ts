/**
 * Reads files that others can write: a session's command, a repository, a hirer, a tool server. A
 * name may be a pipe that blocks its reader, an endless device, or a link to the person's files, or
 * become one between check and use. All code outside the jails uses this for such directories.
 */
import { chooseRooted, kernelRooted, type Rooted, RootedError, type RootedFs } from "./rooted.ts";

/**
 * Reads files in a directory.
 *
 * @param root absolute real path; nothing outside is read
 * @param read its files cannot be used after it has returned
 * @param hidden absolute real paths inside that are not read either
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
 * Reads in many directories, each like {@linkcode readUntrusted}. Opens the C library at first use
 * and keeps it, because opening it takes most of the time for a few small files.
 */
export class UntrustedReader implements Disposable {
  #open: ((root: string) => Rooted) | undefined;
  /** Any one; they share the library. */
  #opened: Rooted | undefined;

  /**
   * Returns the files of a directory, for immediate use.
   * The parameters are those of {@linkcode readUntrusted}.
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
   * Reads a whole file; `undefined` if it does not exist. Never waits for another process.
   *
   * @param path relative to the directory, or absolute and inside it
   * @throws {RootedError} for anything but a regular file inside of at most `max_bytes`
   */
  read(path: string, max_bytes: number): Uint8Array<ArrayBuffer> | undefined {
    return ifAny(() => {
      const { kind, size } = this.#fs.stat(path);
      // The read refuses other kinds with its own message.
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

  /** Reports whether a regular file with that name is below the directory. */
  hasFile(path: string): boolean {
    try {
      return this.#fs.stat(path).kind === "file";
    } catch (error) {
      if (error instanceof RootedError) return false;
      throw error;
    }
  }

  /**
   * Returns the names in a directory; none if it does not exist. @throws {RootedError} when it is
   * not a directory, or not inside
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
