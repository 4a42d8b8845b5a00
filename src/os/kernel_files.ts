/**
 * Files below /proc and /sys (Linux), through the C library: Deno opens them only with all
 * permissions.
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
/** sizeof(struct statfs) on x86-64 and ARM64; indices of its 64-bit words. */
const STATFS_BYTES = 120;
const [TYPE, BLOCK_SIZE, BLOCKS, BLOCKS_FREE] = [0, 1, 2, 3];
const TMPFS = 0x01021994n;

/** Reads and writes small files of the kernel. After disposal they count as missing. */
export class KernelFiles implements Disposable {
  readonly #libc: Libc;
  readonly #chunk = new Uint8Array(CHUNK);
  readonly #decoder = new TextDecoder();
  #closed = false;

  private constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** @returns `undefined` without a C library */
  static open(): KernelFiles | undefined {
    const libc = Deno.build.os === "linux" ? openLibc(SYMBOLS) : undefined;
    return libc && new KernelFiles(libc);
  }

  /** Returns the text of a file; `undefined` if it cannot be read or is gone. */
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

  /** Writes a text in one piece, as the kernel requires. @returns whether the kernel took it */
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

  /** Returns the bytes used by a tmpfs; 0 for another file system. */
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
