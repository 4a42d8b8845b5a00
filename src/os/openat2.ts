/** The Linux system calls behind {@linkcode LinuxRooted}, through the C library. */
import { CALL, ERRNO, kindOfMode, parseNames, SYMBOLS } from "./kernel_abi.ts";
import { openLibc } from "./libc.ts";

/** Devices, pipes and sockets are `other`. */
export type FileKind = "file" | "directory" | "symlink" | "other";

export interface FileStat {
  kind: FileKind;
  size: number;
  /** Permission bits; `undefined` on systems without them. */
  mode: number | undefined;
  /** Last change of content, mode or owner, in ms since 1970. Linux only. */
  changed_ms?: number;
  /** Owner and number of hard links. Linux only. */
  owner?: Owner;
  names?: number;
  /** Differs for another file, and after a change of the content. */
  version: string;
}

export interface Owner {
  uid: number;
  gid: number;
}

/** Flags of `open` with the same value on x86-64 and aarch64. */
export const O = {
  RDONLY: 0,
  WRONLY: 1,
  CREAT: 0o100,
  EXCL: 0o200,
  NOCTTY: 0o400,
  NONBLOCK: 0o4000,
  CLOEXEC: 0o2000000,
  PATH: 0o10000000,
  // aarch64 swaps these two.
  DIRECTORY: Deno.build.arch === "aarch64" ? 0o40000 : 0o200000,
  NOFOLLOW: Deno.build.arch === "aarch64" ? 0o100000 : 0o400000,
} as const;

const O_TMPFILE = 0o20000000 | O.DIRECTORY;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_BENEATH = 0x08;
const AT_FDCWD = -100;
const AT_SYMLINK_NOFOLLOW = 0x100;
const AT_REMOVEDIR = 0x200;
const AT_SYMLINK_FOLLOW = 0x400;
const AT_EMPTY_PATH = 0x1000;
const STATX_BASIC_STATS = 0x7ff;
/** Of the mode in `struct statx`. */
const MODE_OFFSET = 28;
const PATH_MAX = 4096;
const NAMES_BUFFER = 64 * 1024;

/** Errors that do not tell whether a path exists. */
const UNKNOWING = new Set(["EAGAIN", "ENOMEM", "ENFILE", "EMFILE", "EIO"]);

/** A system call that failed. `code` is the name of its errno. */
export class SystemError extends Error {
  constructor(readonly call: string, readonly code: string) {
    super(`${call} failed (${code})`);
    this.name = "SystemError";
  }
}

/** Closes when disposed of. */
export interface Descriptor extends Disposable {
  readonly number: number;
}

type Buffer = Uint8Array<ArrayBuffer>;

/** Opens the C library; `undefined` if it cannot be opened or lacks a symbol. */
export function openKernel(): Kernel | undefined {
  const library = openLibc(SYMBOLS);
  return library && new Kernel(library);
}

/**
 * System calls as methods. They throw {@linkcode SystemError} and return disposable descriptors.
 */
export class Kernel implements Disposable {
  readonly #library: Deno.DynamicLibrary<typeof SYMBOLS>;
  readonly #c: Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];
  readonly #errnoAddress: bigint;
  readonly #errno = new Int32Array(1);
  readonly #link = new Uint8Array(PATH_MAX);
  #part: Buffer | undefined;
  readonly #statx = new DataView(new ArrayBuffer(256));

  constructor(library: Deno.DynamicLibrary<typeof SYMBOLS>) {
    this.#library = library;
    this.#c = library.symbols;
    this.#errnoAddress = this.#c.__errno_location();
  }

  [Symbol.dispose](): void {
    this.#library.close();
  }

  /** Opens a directory by its absolute path; the last part must not be a symlink. */
  openDirectory(path: string): Descriptor {
    const flags = O.PATH | O.DIRECTORY | O.NOFOLLOW | O.CLOEXEC;
    return this.#own("openat", this.#c.openat(AT_FDCWD, text(path), flags, 0));
  }

  /**
   * Opens an absolute path without symlinks, for its location, not its content.
   *
   * @param options.inherited whether programs that start while it is open inherit it
   * @throws {SystemError} ELOOP when a part of it is a symlink
   */
  openReal(path: string, { inherited = false } = {}): Descriptor {
    const how = { resolve: RESOLVE_NO_SYMLINKS, inherited };
    return this.#own("openat2", this.#openat2(AT_FDCWD, path, O.PATH, how));
  }

  /**
   * Like {@linkcode Kernel.openReal}; undefined if it is missing or a symlink, which is faster than
   * an error. @throws {SystemError} when the system cannot tell
   */
  tryReal(path: string, flags = 0): Descriptor | undefined {
    const how = { resolve: RESOLVE_NO_SYMLINKS };
    const result = this.#openat2(AT_FDCWD, path, O.PATH | flags, how);
    if (result >= 0) return this.#descriptor(result);
    const code = this.#code();
    if (UNKNOWING.has(code)) throw new SystemError("openat2", code);
  }

  /**
   * Opens a path for its location, below a directory.
   *
   * @returns `EXDEV` for a path that leads out, `EAGAIN` after a concurrent rename
   */
  openRooted(root: Descriptor, path: string, flags: number): Descriptor | "EXDEV" | "EAGAIN" {
    const result = this.#openat2(root.number, path, O.PATH | flags);
    if (result >= 0) return this.#descriptor(result);
    const code = this.#code();
    if (code === "EXDEV" || code === "EAGAIN") return code;
    throw new SystemError("openat2", code);
  }

  /**
   * Opens a path for its location, without following its last part; `undefined` if it is missing.
   */
  openIn(directory: Descriptor, name: string): Descriptor | undefined {
    const result = this.#openat2(directory.number, name, O.PATH | O.NOFOLLOW);
    return this.#found(result, ["ENOENT"]);
  }

  /**
   * Opens a directory below another, without symlinks; undefined if a part is missing, a symlink or
   * another kind of file.
   */
  openExact(root: Descriptor, path: string): Descriptor | undefined {
    const how = { resolve: RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
    const result = this.#openat2(root.number, path, O.PATH | O.DIRECTORY, how);
    return this.#found(result, ["ENOENT", "ENOTDIR", "ELOOP"]);
  }

  #found(result: number, missing: readonly string[]): Descriptor | undefined {
    if (result >= 0) return this.#descriptor(result);
    const code = this.#code();
    if (!missing.includes(code)) throw new SystemError("openat2", code);
  }

  /** Creates a new file for writing. It must not exist. */
  createIn(directory: Descriptor, name: string, mode: number): Descriptor {
    const flags = O.WRONLY | O.CREAT | O.EXCL | O.NOFOLLOW;
    return this.#own("openat2", this.#openat2(directory.number, name, flags, { mode }));
  }

  /**
   * Creates a file without a name, which is gone when this process dies before
   * {@linkcode Kernel.nameIn}.
   *
   * @returns undefined where the file system cannot do that, or nothing can be created
   */
  createUnnamedIn(directory: Descriptor, mode: number): Descriptor | undefined {
    const number = this.#openat2(directory.number, ".", O.WRONLY | O_TMPFILE, { mode });
    return number < 0 ? undefined : this.#own("openat2", number);
  }

  /** Gives a file without a name a new one. */
  nameIn(fd: Descriptor, directory: Descriptor, name: string): void {
    const from = text(`/proc/self/fd/${fd.number}`);
    const result = this.#c.linkat(
      AT_FDCWD,
      from,
      directory.number,
      text(name),
      AT_SYMLINK_FOLLOW,
    );
    this.#check("linkat", result);
  }

  /** Opens the same file again, for its content. */
  reopen(fd: Descriptor, flags: number): Descriptor {
    const path = text(`/proc/self/fd/${fd.number}`);
    return this.#own("open", this.#c.openat(AT_FDCWD, path, flags | O.CLOEXEC | O.NOCTTY, 0));
  }

  /** Returns the current path of an open file. */
  realPath(fd: Descriptor): string {
    return this.#readLinkAt(AT_FDCWD, `/proc/self/fd/${fd.number}`);
  }

  /** Returns the target of a symlink opened by {@linkcode openIn}. */
  readLink(fd: Descriptor): string {
    return this.#readLinkAt(fd.number, "");
  }

  stat(fd: Descriptor): FileStat {
    this.#check("statx", this.#callStatx(fd.number, "", AT_EMPTY_PATH));
    return this.#statOf();
  }

  /**
   * Returns the state of a name in a directory, without following it; undefined if it is missing.
   */
  statIn(directory: Descriptor, name: string): FileStat | undefined {
    const result = this.#callStatx(directory.number, name, AT_SYMLINK_NOFOLLOW);
    if (result >= 0) return this.#statOf();
    const code = this.#code();
    if (code === "ENOENT") return undefined;
    throw new SystemError("statx", code);
  }

  /**
   * Returns the kind of a name in a directory; undefined if it is missing. @throws {SystemError}
   * when the system cannot tell
   */
  kindIn(directory: Descriptor, name: string): FileKind | undefined {
    if (this.#callStatx(directory.number, name, AT_SYMLINK_NOFOLLOW) >= 0) {
      return kindOfMode(this.#statx.getUint16(MODE_OFFSET, true));
    }
    const code = this.#code();
    if (UNKNOWING.has(code)) throw new SystemError("statx", code);
  }

  #callStatx(directory: number, name: string, flags: number): number {
    const buffer = new Uint8Array(this.#statx.buffer);
    const call = BigInt(CALL.statx);
    return Number(
      this.#c.statx(call, directory, text(name), flags, STATX_BASIC_STATS, buffer),
    );
  }

  #statOf(): FileStat {
    const view = this.#statx;
    const number = (offset: number) => Number(view.getBigUint64(offset, true));
    const mode = view.getUint16(MODE_OFFSET, true);
    const device = `${view.getUint32(136, true)}:${view.getUint32(140, true)}`;
    const modified = `${number(112)}.${view.getUint32(120, true)}`;
    return {
      kind: kindOfMode(mode),
      size: number(40),
      mode: mode & 0o7777,
      owner: { uid: view.getUint32(20, true), gid: view.getUint32(24, true) },
      names: view.getUint32(16, true),
      changed_ms: number(96) * 1000 + view.getUint32(104, true) / 1e6,
      version: `${device}:${number(32)}:${number(40)}:${modified}`,
    };
  }

  /** Returns device and inode, as `stat -c %d:%i` prints them. */
  identity(fd: Descriptor): string {
    this.stat(fd);
    const major = BigInt(this.#statx.getUint32(136, true));
    const minor = BigInt(this.#statx.getUint32(140, true));
    // Packed like makedev() of the C library.
    const device = (minor & 0xffn) | (major & 0xfffn) << 8n | (minor & ~0xffn) << 12n |
      (major & ~0xfffn) << 32n;
    return `${device}:${this.#statx.getBigUint64(32, true)}`;
  }

  /** Fills a buffer as far as the file goes. */
  read(fd: Descriptor, position: number, into: Buffer): number {
    let bytes = 0;
    while (bytes < into.length) {
      const rest = into.subarray(bytes);
      const result = Number(
        this.#c.pread64(fd.number, rest, BigInt(rest.length), BigInt(position + bytes)),
      );
      if (result < 0 && this.#interrupted()) continue;
      if (this.#check("read", result) === 0) break;
      bytes += result;
    }
    return bytes;
  }

  /** Reads a text file of the kernel, whose size is not known before. */
  readAll(path: string): string {
    const flags = O.RDONLY | O.CLOEXEC;
    using file = this.#own("openat", this.#c.openat(AT_FDCWD, text(path), flags, 0));
    const decoder = new TextDecoder();
    const part = this.#part ??= new Uint8Array(NAMES_BUFFER);
    let found = "";
    for (let at = 0, bytes = -1; bytes !== 0; at += bytes) {
      bytes = this.#check(
        "read",
        Number(this.#c.pread64(file.number, part, BigInt(part.length), BigInt(at))),
      );
      found += decoder.decode(part.subarray(0, bytes), { stream: true });
    }
    return found;
  }

  write(fd: Descriptor, data: Buffer, position: number): void {
    for (let done = 0; done < data.length;) {
      const rest = data.subarray(done);
      const at = BigInt(position + done);
      const result = Number(this.#c.pwrite64(fd.number, rest, BigInt(rest.length), at));
      if (result < 0 && this.#interrupted()) continue;
      done += this.#check("write", result);
    }
  }

  cut(fd: Descriptor, length: number): void {
    this.#check("ftruncate", this.#c.ftruncate64(fd.number, BigInt(length)));
  }

  /** Gives a file to another owner. @returns whether that was allowed */
  giveTo(fd: Descriptor, { uid, gid }: Owner): boolean {
    return this.#c.fchown(fd.number, uid, gid) >= 0;
  }

  /** Returns the names in a directory; `kind` is `undefined` if the file system does not tell. */
  *names(directory: Descriptor): Generator<{ name: string; kind: FileKind | undefined }> {
    const buffer = new Uint8Array(NAMES_BUFFER);
    for (;;) {
      const result = Number(
        this.#c.getdents64(
          BigInt(CALL.getdents64),
          directory.number,
          buffer,
          BigInt(buffer.length),
        ),
      );
      const filled = this.#check("getdents64", result);
      if (filled === 0) return;
      yield* parseNames(buffer.subarray(0, filled));
    }
  }

  changeMode(fd: Descriptor, mode: number): void {
    this.#check("fchmod", this.#c.fchmod(fd.number, mode));
  }

  /** Changes the mode of a file opened for its location. */
  changeModeOf(fd: Descriptor, mode: number): void {
    const path = text(`/proc/self/fd/${fd.number}`);
    this.#check("fchmodat", this.#c.fchmodat(AT_FDCWD, path, mode, 0));
  }

  renameIn(directory: Descriptor, from: string, to: string): void {
    const { number } = directory;
    this.#check("renameat", this.#c.renameat(number, text(from), number, text(to)));
  }

  /** Removes a name; ignores failures, such as a missing one. */
  unlinkIn(directory: Descriptor, name: string): void {
    this.#c.unlinkat(directory.number, text(name), 0);
  }

  removeIn(directory: Descriptor, name: string): void {
    this.#check("unlinkat", this.#c.unlinkat(directory.number, text(name), 0));
  }

  removeDirectoryIn(directory: Descriptor, name: string): void {
    this.#check("unlinkat", this.#c.unlinkat(directory.number, text(name), AT_REMOVEDIR));
  }

  linkIn(directory: Descriptor, name: string, target: string): void {
    this.#check("symlinkat", this.#c.symlinkat(text(target), directory.number, text(name)));
  }

  readLinkIn(directory: Descriptor, name: string): string {
    return this.#readLinkAt(directory.number, name);
  }

  /** Makes a directory, unless the name exists. */
  makeDirectoryIn(directory: Descriptor, name: string, mode = 0o777): void {
    const result = this.#c.mkdirat(directory.number, text(name), mode);
    if (result >= 0) return;
    const code = this.#code();
    if (code !== "EEXIST") throw new SystemError("mkdirat", code);
  }

  #openat2(
    directory: number,
    path: string,
    flags: number,
    { mode = 0, resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, inherited = false } = {},
  ): number {
    const all = inherited ? flags : flags | O.CLOEXEC;
    const how = new BigUint64Array([BigInt(all), BigInt(mode), BigInt(resolve)]);
    const size = BigInt(how.byteLength);
    for (;;) {
      const result = Number(
        this.#c.openat2(BigInt(CALL.openat2), directory, text(path), how, size),
      );
      if (result >= 0 || !this.#interrupted()) return result;
    }
  }

  #readLinkAt(directory: number, path: string): string {
    const size = BigInt(this.#link.length);
    const length = this.#check(
      "readlinkat",
      Number(this.#c.readlinkat(directory, text(path), this.#link, size)),
    );
    // A full buffer may hold a cut path, which must not pass for a shorter one.
    if (length === this.#link.length) throw new SystemError("readlinkat", "ENAMETOOLONG");
    return new TextDecoder().decode(this.#link.subarray(0, length));
  }

  #own(call: string, result: number): Descriptor {
    return this.#descriptor(this.#check(call, result));
  }

  #descriptor(number: number): Descriptor {
    return { number, [Symbol.dispose]: () => void this.#c.close(number) };
  }

  #check(call: string, result: number): number {
    if (result < 0) throw new SystemError(call, this.#code());
    return result;
  }

  #interrupted(): boolean {
    return this.#code() === "EINTR";
  }

  /**
   * Returns the name of this thread's errno. The C library copies it, because Deno reads memory at
   * an address only with the `ffi` permission, which is revoked by now.
   */
  #code(): string {
    this.#c.memcpy(this.#errno, this.#errnoAddress, 4n);
    return ERRNO[this.#errno[0]] ?? `errno ${this.#errno[0]}`;
  }
}

function text(value: string): Buffer {
  return new TextEncoder().encode(`${value}\0`);
}
