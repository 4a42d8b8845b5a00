/**
 * Files of the kernel, under /proc and /sys (Linux). Deno opens none of them without all
 * permissions, so the C library does.
 */
import { openLibc } from "./libc.ts";

const SYMBOLS = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
  statfs: { parameters: ["buffer", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

const O_RDONLY_CLOEXEC = 0o2000000;
const O_WRONLY_CLOEXEC = 0o2000001;
const CHUNK = 16 * 1024;
/** sizeof(struct statfs) is 120 on x86-64 and ARM64; its words of 64 bits, by place. */
const STATFS_BYTES = 120;
const [TYPE, BLOCK_SIZE, BLOCKS, BLOCKS_FREE] = [0, 1, 2, 3];
const TMPFS = 0x01021994n;

/**
 * Reads and writes small files of the kernel. Disposing of it closes the C library; from then on
 * there are no such files.
 */
export class KernelFiles implements Disposable {
  readonly #libc: Libc;
  readonly #chunk = new Uint8Array(CHUNK);
  readonly #decoder = new TextDecoder();
  #closed = false;

  private constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** @returns `undefined` where there are none. */
  static open(): KernelFiles | undefined {
    const libc = Deno.build.os === "linux" ? openLibc(SYMBOLS) : undefined;
    return libc && new KernelFiles(libc);
  }

  /** Returns what is in a file; `undefined` when it cannot be read, or is gone meanwhile. */
  read(path: string): string | undefined {
    if (this.#closed) return undefined;
    const { open, read, close } = this.#libc.symbols;
    const fd = open(terminated(path), O_RDONLY_CLOEXEC);
    if (fd < 0) return undefined;
    let text = "";
    let size: number;
    while ((size = Number(read(fd, this.#chunk, BigInt(CHUNK)))) > 0) {
      text += this.#decoder.decode(this.#chunk.subarray(0, size), { stream: true });
    }
    close(fd);
    return size < 0 ? undefined : text + this.#decoder.decode();
  }

  /** Writes a text in one piece, as the kernel wants it. @returns whether the kernel took it. */
  write(path: string, text: string): boolean {
    if (this.#closed) return false;
    const { open, write, close } = this.#libc.symbols;
    const fd = open(terminated(path), O_WRONLY_CLOEXEC);
    if (fd < 0) return false;
    const bytes = new TextEncoder().encode(text);
    const written = write(fd, bytes, BigInt(bytes.length));
    close(fd);
    return Number(written) === bytes.length;
  }

  /** Returns how many bytes the files of a tmpfs at a path take; 0 when there is no tmpfs. */
  usedInMemory(path: string): number {
    if (this.#closed) return 0;
    const words = new BigUint64Array(STATFS_BYTES / 8);
    if (this.#libc.symbols.statfs(terminated(path), words) !== 0 || words[TYPE] !== TMPFS) return 0;
    return Number((words[BLOCKS] - words[BLOCKS_FREE]) * words[BLOCK_SIZE]);
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#libc.close();
  }
}

function terminated(path: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${path}\0`);
}
