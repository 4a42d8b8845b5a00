/** The C library's functions for {@linkcode Kernel}, and the kernel's numbers. */
import type { FileKind } from "./openat2.ts";

/** Numbers for `syscall`: older C libraries lack these functions. */
export const CALL = Deno.build.arch === "aarch64"
  ? { openat2: 437, statx: 291, getdents64: 61 }
  : { openat2: 437, statx: 332, getdents64: 217 };

export const ERRNO: Record<number, string> = {
  1: "EPERM",
  2: "ENOENT",
  4: "EINTR",
  5: "EIO",
  6: "ENXIO",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  16: "EBUSY",
  17: "EEXIST",
  18: "EXDEV",
  20: "ENOTDIR",
  21: "EISDIR",
  22: "EINVAL",
  23: "ENFILE",
  24: "EMFILE",
  26: "ETXTBSY",
  27: "EFBIG",
  28: "ENOSPC",
  30: "EROFS",
  36: "ENAMETOOLONG",
  38: "ENOSYS",
  39: "ENOTEMPTY",
  40: "ELOOP",
  122: "EDQUOT",
};

export const SYMBOLS = {
  openat2: {
    name: "syscall",
    parameters: ["i64", "i32", "buffer", "buffer", "usize"],
    result: "i64",
  },
  statx: {
    name: "syscall",
    parameters: ["i64", "i32", "buffer", "i32", "u32", "buffer"],
    result: "i64",
  },
  getdents64: { name: "syscall", parameters: ["i64", "i32", "buffer", "usize"], result: "i64" },
  openat: { parameters: ["i32", "buffer", "i32", "u32"], result: "i32" },
  pread64: { parameters: ["i32", "buffer", "usize", "i64"], result: "isize" },
  pwrite64: { parameters: ["i32", "buffer", "usize", "i64"], result: "isize" },
  ftruncate64: { parameters: ["i32", "i64"], result: "i32" },
  fchown: { parameters: ["i32", "u32", "u32"], result: "i32" },
  readlinkat: { parameters: ["i32", "buffer", "buffer", "usize"], result: "isize" },
  fchmod: { parameters: ["i32", "u32"], result: "i32" },
  fchmodat: { parameters: ["i32", "buffer", "u32", "i32"], result: "i32" },
  linkat: { parameters: ["i32", "buffer", "i32", "buffer", "i32"], result: "i32" },
  renameat: { parameters: ["i32", "buffer", "i32", "buffer"], result: "i32" },
  unlinkat: { parameters: ["i32", "buffer", "i32"], result: "i32" },
  mkdirat: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  symlinkat: { parameters: ["buffer", "i32", "buffer"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  __errno_location: { parameters: [], result: "usize" },
  memcpy: { parameters: ["buffer", "usize", "usize"], result: "void" },
} as const satisfies Deno.ForeignLibraryInterface;

export function kindOfMode(mode: number): FileKind {
  switch (mode & 0o170000) {
    case 0o100000:
      return "file";
    case 0o040000:
      return "directory";
    case 0o120000:
      return "symlink";
    default:
      return "other";
  }
}

/** `d_type` of a directory entry. */
const ENTRY_KINDS: Record<number, FileKind | undefined> = {
  0: undefined,
  4: "directory",
  8: "file",
  10: "symlink",
};

export function* parseNames(
  buffer: Uint8Array<ArrayBuffer>,
): Generator<{ name: string; kind: FileKind | undefined }> {
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  // struct linux_dirent64: ino u64, off i64, reclen u16, type u8, name up to its NUL.
  for (let at = 0; at < buffer.length; at += view.getUint16(at + 16, true)) {
    const type = buffer[at + 18];
    const name = new TextDecoder().decode(buffer.subarray(at + 19, buffer.indexOf(0, at + 19)));
    if (name === "." || name === "..") continue;
    yield { name, kind: type in ENTRY_KINDS ? ENTRY_KINDS[type] : "other" };
  }
}
