/** Directories of which the Linux kernel notes each change in them; see inotify(7). */
import { openLibc } from "./libc.ts";

const SYMBOLS = {
  inotify_init1: { parameters: ["i32"], result: "i32" },
  inotify_add_watch: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

const NONBLOCK_CLOEXEC = 0o2004000;
const FIONREAD = 0x541bn;

const IN = {
  MODIFY: 0x2,
  ATTRIB: 0x4,
  CLOSE_WRITE: 0x8,
  MOVED_FROM: 0x40,
  MOVED_TO: 0x80,
  CREATE: 0x100,
  DELETE: 0x200,
  DELETE_SELF: 0x400,
  MOVE_SELF: 0x800,
  UNMOUNT: 0x2000,
  Q_OVERFLOW: 0x4000,
  ONLYDIR: 0x1000000,
  DONT_FOLLOW: 0x2000000,
  ISDIR: 0x40000000,
} as const;

const CHANGES = IN.MODIFY | IN.ATTRIB | IN.CLOSE_WRITE | IN.MOVED_FROM | IN.MOVED_TO | IN.CREATE |
  IN.DELETE | IN.DELETE_SELF | IN.MOVE_SELF;

/** Size of `struct inotify_event` without its name. */
const HEAD_BYTES = 16;
const BUFFER_BYTES = 64 * 1024;

/** One change. */
export interface NotedChange {
  /** Of the directory, as {@linkcode Inotify.add} returned it; -1 for one that concerns all. */
  watch: number;
  /** In the directory; empty for the directory itself. */
  name: string;
  /** Whether a directory has come into the directory. */
  new_directory: boolean;
  /** Whether further changes, or those in a directory, are not noted. */
  lost: boolean;
}

export class Inotify implements Disposable {
  readonly #library: Deno.DynamicLibrary<typeof SYMBOLS>;
  readonly #fd: number;

  private constructor(library: Deno.DynamicLibrary<typeof SYMBOLS>, fd: number) {
    this.#library = library;
    this.#fd = fd;
  }

  /** @returns undefined on another system, or when the person has too many of them */
  static open(): Inotify | undefined {
    const library = Deno.build.os === "linux" ? openLibc(SYMBOLS) : undefined;
    if (library === undefined) return undefined;
    const fd = library.symbols.inotify_init1(NONBLOCK_CLOEXEC);
    if (fd >= 0) return new Inotify(library, fd);
    library.close();
    return undefined;
  }

  /**
   * Adds a directory, not what is in its directories.
   *
   * @param path absolute; its last part must not be a symlink
   * @returns its number; undefined when it is missing, or when the person has too many of them
   */
  add(path: string): number | undefined {
    const name = new TextEncoder().encode(`${path}\0`);
    const flags = CHANGES | IN.ONLYDIR | IN.DONT_FOLLOW;
    const watch = this.#library.symbols.inotify_add_watch(this.#fd, name, flags);
    return watch < 0 ? undefined : watch;
  }

  /** Reports whether nothing has changed since the last {@linkcode Inotify.take}. */
  isQuiet(): boolean {
    const bytes = new Uint32Array(1);
    return this.#library.symbols.ioctl(this.#fd, FIONREAD, bytes) === 0 && bytes[0] === 0;
  }

  /** Returns the changes since the last call. */
  take(): NotedChange[] {
    const changes: NotedChange[] = [];
    const buffer = new Uint8Array(BUFFER_BYTES);
    for (;;) {
      // No event is left, or none can be read.
      const bytes = Number(this.#library.symbols.read(this.#fd, buffer, BigInt(buffer.length)));
      if (bytes <= 0) return changes;
      for (const change of parse(buffer.subarray(0, bytes))) changes.push(change);
    }
  }

  [Symbol.dispose](): void {
    this.#library.symbols.close(this.#fd);
    this.#library.close();
  }
}

function* parse(bytes: Uint8Array): Generator<NotedChange> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const decoder = new TextDecoder();
  for (let at = 0; at < bytes.length;) {
    const mask = view.getUint32(at + 4, true);
    const name_at = at + HEAD_BYTES;
    const end = name_at + view.getUint32(at + 12, true);
    yield {
      watch: view.getInt32(at, true),
      name: decoder.decode(bytes.subarray(name_at, end)).replace(/\0.*$/s, ""),
      new_directory: (mask & IN.ISDIR) !== 0 && (mask & (IN.CREATE | IN.MOVED_TO)) !== 0,
      lost: (mask & (IN.Q_OVERFLOW | IN.UNMOUNT)) !== 0,
    };
    at = end;
  }
}
