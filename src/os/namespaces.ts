/** Networks of other processes, kept open so that programs can join them (Linux). */
import { KernelFiles } from "./kernel_files.ts";
import { openLibc } from "./libc.ts";
import { O } from "./openat2.ts";

const SYMBOLS = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  readlink: { parameters: ["buffer", "buffer", "usize"], result: "isize" },
  ioctl: { parameters: ["i32", "u64"], result: "i32" },
  getgid: { parameters: [], result: "u32" },
  close: { parameters: ["i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

/** Returns a descriptor of the user namespace that a namespace belongs to. */
const NS_GET_USERNS = 0xb701n;
const LINK_BYTES = 64;

/** A network that stays as long as it is not disposed of. The paths are for programs started now. */
export interface KeptNetwork extends Disposable {
  net: string;
  /** What a program without rights joins first; undefined if it is this process's own. */
  user?: string;
  /** Of this process, for a program that joins `user` and has another there. */
  gid: number;
}

export class Namespaces implements Disposable {
  readonly #libc: Libc;
  readonly #files: KernelFiles;

  private constructor(libc: Libc, files: KernelFiles) {
    this.#libc = libc;
    this.#files = files;
  }

  /** @returns `undefined` without a C library */
  static open(): Namespaces | undefined {
    const libc = Deno.build.os === "linux" ? openLibc(SYMBOLS) : undefined;
    if (libc === undefined) return undefined;
    const files = KernelFiles.open();
    if (files !== undefined) return new Namespaces(libc, files);
    libc.close();
    return undefined;
  }

  /**
   * Keeps the network of the first process below another one that has a network of its own.
   *
   * @returns undefined if there is none, or it may not be opened
   */
  keepBelow(pid: number, levels: number): KeptNetwork | undefined {
    if (levels === 0) return undefined;
    for (const child of this.#children(pid)) {
      const found = this.#keep(pid, child) ?? this.keepBelow(child, levels - 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #children(pid: number): number[] {
    const text = this.#files.read(`/proc/${pid}/task/${pid}/children`) ?? "";
    return text.split(" ").filter((word) => word !== "").map(Number);
  }

  #keep(parent: number, child: number): KeptNetwork | undefined {
    const { open, ioctl, getgid, close } = this.#libc.symbols;
    const net = open(terminated(`/proc/${child}/ns/net`), O.CLOEXEC);
    if (net < 0) return undefined;
    const own = this.#link("/proc/self/ns/net");
    const is_other = own !== undefined && this.#link(`/proc/self/fd/${net}`) !== own;
    // Its number may have become another process's before it was opened.
    const user = is_other && this.#children(parent).includes(child)
      ? ioctl(net, NS_GET_USERNS)
      : -1;
    if (user < 0) {
      close(net);
      return undefined;
    }
    const is_own = this.#link(`/proc/self/fd/${user}`) === this.#link("/proc/self/ns/user");
    const path = (descriptor: number) => `/proc/${Deno.pid}/fd/${descriptor}`;
    return {
      net: path(net),
      user: is_own ? undefined : path(user),
      gid: getgid(),
      [Symbol.dispose]() {
        close(net);
        close(user);
      },
    };
  }

  #link(path: string): string | undefined {
    const target = new Uint8Array(LINK_BYTES);
    const size = Number(this.#libc.symbols.readlink(terminated(path), target, BigInt(LINK_BYTES)));
    return size < 0 ? undefined : new TextDecoder().decode(target.subarray(0, size));
  }

  [Symbol.dispose](): void {
    this.#files[Symbol.dispose]();
    this.#libc.close();
  }
}

function terminated(path: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${path}\0`);
}
