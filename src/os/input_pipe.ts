/** Input for programs whose standard input belongs to their guard (Linux). */
import { O } from "./openat2.ts";
import { openLibc } from "./libc.ts";
import type { Passed } from "./passing.ts";

const SYMBOLS = {
  pipe2: { parameters: ["buffer", "i32"], result: "i32" },
  dup: { parameters: ["i32"], result: "i32" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

export class InputPipe implements Disposable {
  /** The end that the program reads. */
  readonly end: Passed;
  readonly #libc: Libc;
  readonly #read: number;
  #write: number | undefined;

  private constructor(libc: Libc, read: number, write: number) {
    this.#libc = libc;
    this.#read = read;
    this.#write = write;
    this.end = { open: () => this.#inherited() };
  }

  /** @returns `undefined` if it cannot be made */
  static open(): InputPipe | undefined {
    const libc = Deno.build.os === "linux" ? openLibc(SYMBOLS) : undefined;
    if (libc === undefined) return undefined;
    const ends = new Int32Array(2);
    // A program that reads nothing must not block this one, and no other program gets its input.
    if (libc.symbols.pipe2(ends, O.NONBLOCK | O.CLOEXEC) === 0) {
      return new InputPipe(libc, ends[0], ends[1]);
    }
    libc.close();
    return undefined;
  }

  get writable(): boolean {
    return this.#write !== undefined;
  }

  /** Writes without waiting. @returns how many bytes there was room for */
  write(bytes: Uint8Array<ArrayBuffer>): number {
    if (this.#write === undefined) return 0;
    let written = 0;
    while (written < bytes.length) {
      const rest = bytes.subarray(written);
      const count = Number(this.#libc.symbols.write(this.#write, rest, BigInt(rest.length)));
      if (count <= 0) break;
      written += count;
    }
    return written;
  }

  /** Ends the input. The program still reads the rest. */
  close(): void {
    if (this.#write !== undefined) this.#libc.symbols.close(this.#write);
    this.#write = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
    this.#libc.symbols.close(this.#read);
    this.#libc.close();
  }

  /** A copy without close-on-exec. The original stays open, so that no write breaks. */
  #inherited() {
    const number = this.#libc.symbols.dup(this.#read);
    if (number < 0) throw new Error("cannot pass the input of a command: too many open files");
    return { number, [Symbol.dispose]: () => void this.#libc.symbols.close(number) };
  }
}
