/** Data that programs read from a descriptor (Linux). */
import type { Descriptor } from "./openat2.ts";
import { openLibc } from "./libc.ts";
import type { Passed } from "./passing.ts";

const SYMBOLS = {
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  lseek: { parameters: ["i32", "i64", "i32"], result: "i64" },
  close: { parameters: ["i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** Otherwise vm.memfd_noexec may forbid it. */
const MFD_EXEC = 0x10;

/** Makes files in memory. Disposing of it closes the C library. */
export class MemoryFiles implements Disposable {
  readonly #libc: Deno.DynamicLibrary<typeof SYMBOLS>;

  private constructor(libc: Deno.DynamicLibrary<typeof SYMBOLS>) {
    this.#libc = libc;
  }

  /** @returns `undefined` without a C library */
  static open(): MemoryFiles | undefined {
    const libc = Deno.build.os === "linux" ? openLibc(SYMBOLS) : undefined;
    return libc && new MemoryFiles(libc);
  }

  /** Returns data as an argument. Each program gets its own file. */
  passed(data: Uint8Array<ArrayBuffer>): Passed {
    return { open: () => this.#make(data) };
  }

  /** Returns a program as an argument, made when it is opened. */
  program(make: () => Uint8Array<ArrayBuffer>): Passed {
    return { open: () => this.#make(make(), MFD_EXEC) };
  }

  [Symbol.dispose](): void {
    this.#libc.close();
  }

  #make(data: Uint8Array<ArrayBuffer>, flags = 0): Descriptor {
    const { memfd_create, write, lseek, close } = this.#libc.symbols;
    const name = new TextEncoder().encode("svc\0");
    let number = memfd_create(name, flags);
    // Before Linux 6.3 every one may be executed, and the flag is unknown.
    if (number < 0 && flags !== 0) number = memfd_create(name, 0);
    if (number < 0) throw new Error("cannot create a file in memory");
    const size = BigInt(data.length);
    if (write(number, data, size) !== size || lseek(number, 0n, 0) !== 0n) {
      close(number);
      throw new Error("cannot write a file in memory");
    }
    return { number, [Symbol.dispose]: () => void close(number) };
  }
}
