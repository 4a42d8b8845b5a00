/**
 * Landlock: the kernel lets a program limit what it and its children reach of the file system
 * (Linux 5.13 and later). Here is what the kernel calls its rights and versions; see
 * landlock(7) and `linux/landlock.h`.
 */
import { openLibc } from "../os/libc.ts";

/** Rights to files and directories, as bits. */
const RIGHT = {
  execute: 1 << 0,
  write_file: 1 << 1,
  read_file: 1 << 2,
  read_dir: 1 << 3,
  remove_dir: 1 << 4,
  remove_file: 1 << 5,
  make_char: 1 << 6,
  make_dir: 1 << 7,
  make_reg: 1 << 8,
  make_sock: 1 << 9,
  make_fifo: 1 << 10,
  make_block: 1 << 11,
  make_sym: 1 << 12,
  refer: 1 << 13,
  truncate: 1 << 14,
  ioctl_dev: 1 << 15,
} as const;

/** The version of the kernel's interface that brought something. */
export const SINCE = {
  /** Moving and linking between directories. */
  refer: 2,
  /** Holding truncate(2). */
  truncate: 3,
  /** Holding TCP. */
  tcp: 4,
  /** Holding requests to devices. */
  ioctl: 5,
  /** Holding abstract sockets and signals. */
  scopes: 6,
} as const;

/** What a rule allows below a path. */
export type Allowed = "look" | "read" | "run" | "write" | "device";

/** What programs that only look at a system need; for /proc. */
const LOOK = RIGHT.read_file | RIGHT.read_dir;
const RUN = LOOK | RIGHT.execute;
const WRITE = RUN | RIGHT.write_file | RIGHT.remove_dir | RIGHT.remove_file | RIGHT.make_dir |
  RIGHT.make_reg | RIGHT.make_sock | RIGHT.make_fifo | RIGHT.make_sym | RIGHT.refer |
  RIGHT.truncate;
const DEVICE = LOOK | RIGHT.write_file | RIGHT.truncate | RIGHT.ioctl_dev;
/** A rule about a file may name no others. */
const OF_FILES = RIGHT.execute | RIGHT.write_file | RIGHT.read_file | RIGHT.truncate |
  RIGHT.ioctl_dev;

const BITS: Readonly<Record<Allowed, number>> = {
  look: RIGHT.read_dir,
  read: LOOK,
  run: RUN,
  write: WRITE,
  device: DEVICE,
};

/** Returns the bits of all rights that a kernel knows. */
export function handledRights(abi: number): number {
  const bits = abi >= SINCE.ioctl ? 16 : abi >= SINCE.truncate ? 15 : abi >= SINCE.refer ? 14 : 13;
  return 2 ** bits - 1;
}

/** Returns the bits of a rule about a path of this kind. */
export function rightsOf(allowed: Allowed, kind: "file" | "directory", abi: number): number {
  const all = BITS[allowed] & handledRights(abi);
  return kind === "file" ? all & OF_FILES : all;
}

const SYMBOLS = {
  landlock_create_ruleset: {
    name: "syscall",
    parameters: ["i64", "usize", "usize", "u32"],
    result: "i64",
  },
} as const satisfies Deno.ForeignLibraryInterface;

/** The same on all machines. */
const CREATE_RULESET = 444n;
const ASKS_VERSION = 1;

/**
 * Returns the version of the kernel's interface; 0 where there is no Landlock or it is switched
 * off; undefined without a C library.
 *
 * @throws {Error} when the system lacks resources for now
 */
export function landlockAbi(): number | undefined {
  const libc = Deno.build.os === "linux" ? openLibc(SYMBOLS) : undefined;
  if (libc === undefined) return undefined;
  try {
    const abi = libc.symbols.landlock_create_ruleset(CREATE_RULESET, 0n, 0n, ASKS_VERSION);
    return Math.max(Number(abi), 0);
  } finally {
    libc.close();
  }
}
