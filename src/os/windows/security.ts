/** The user of a Windows process, and what only that user may open. */
import { openLibrary } from "./libraries.ts";
import { SECURITY_ATTRIBUTES, TOKEN_USER } from "./structures.ts";
import { addressOf, Instance, readWide, wide } from "./structure.ts";

const PROCESS_QUERY_LIMITED_INFORMATION = 0x1000;
const TOKEN_QUERY = 0x0008;
/** Of TOKEN_INFORMATION_CLASS. */
const TOKEN_USER_CLASS = 1;
/** TOKEN_USER and the longest SID, SECURITY_MAX_SID_SIZE. */
const TOKEN_USER_BYTES = TOKEN_USER.size + 68;
const SDDL_REVISION_1 = 1;

const KERNEL = {
  OpenProcess: { parameters: ["u32", "i32", "u32"], result: "isize" },
  CloseHandle: { parameters: ["isize"], result: "i32" },
  LocalFree: { parameters: ["pointer"], result: "pointer" },
} as const;
const ADVAPI = {
  OpenProcessToken: { parameters: ["isize", "u32", "buffer"], result: "i32" },
  GetTokenInformation: {
    parameters: ["isize", "u32", "buffer", "u32", "buffer"],
    result: "i32",
  },
  ConvertSidToStringSidW: { parameters: ["buffer", "buffer"], result: "i32" },
  ConvertStringSecurityDescriptorToSecurityDescriptorW: {
    parameters: ["buffer", "u32", "buffer", "buffer"],
    result: "i32",
  },
} as const;

/**
 * Returns the security identifier of a process's user, such as `S-1-5-21-…`; undefined if it is
 * missing or may not be asked.
 */
export function processSid(pid: number): string | undefined {
  using stack = new DisposableStack();
  const kernel = stack.adopt(openLibrary("kernel32", KERNEL), (it) => it.close()).symbols;
  const advapi = stack.adopt(openLibrary("advapi32", ADVAPI), (it) => it.close()).symbols;
  const process = kernel.OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid);
  if (process === 0n) return undefined;
  stack.defer(() => kernel.CloseHandle(process));
  const token = new BigInt64Array(1);
  if (!advapi.OpenProcessToken(process, TOKEN_QUERY, new Uint8Array(token.buffer))) {
    return undefined;
  }
  stack.defer(() => kernel.CloseHandle(token[0]));
  const bytes = new Uint8Array(new ArrayBuffer(TOKEN_USER_BYTES));
  const used = new Uint8Array(new ArrayBuffer(4));
  if (
    !advapi.GetTokenInformation(token[0], TOKEN_USER_CLASS, bytes, bytes.length, used)
  ) return undefined;
  // The identifier follows the structure that points at it.
  const sid_at = new Instance(TOKEN_USER, bytes).bigint("Sid") - addressOf(bytes);
  const sid = bytes.subarray(Number(sid_at));
  const text = new BigUint64Array(1);
  if (!advapi.ConvertSidToStringSidW(sid, new Uint8Array(text.buffer))) return undefined;
  const pointer = Deno.UnsafePointer.create(text[0])!;
  stack.defer(() => kernel.LocalFree(pointer));
  return readWide(pointer);
}

/** Returns the user of this process. @throws {Error} when Windows does not tell */
export function ownSid(): string {
  const sid = processSid(Deno.pid);
  if (sid === undefined) throw new Error("Windows does not report the user of this process.");
  return sid;
}

/**
 * Returns a descriptor that grants everything to one user, nothing to others, and inherits nothing.
 */
export function onlyFor(sid: string): string {
  return `D:P(A;;GA;;;${sid})`;
}

/** Security attributes in memory, with their descriptor. */
export class SecurityAttributes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly descriptor: Deno.PointerObject;

  /** @throws {Error} when Windows does not understand the descriptor */
  constructor(sddl: string) {
    const advapi = openLibrary("advapi32", ADVAPI);
    try {
      const made = new BigUint64Array(1);
      const convert = advapi.symbols.ConvertStringSecurityDescriptorToSecurityDescriptorW;
      if (!convert(wide(sddl), SDDL_REVISION_1, new Uint8Array(made.buffer), null)) {
        throw new Error(`Windows does not understand the security descriptor ${sddl}.`);
      }
      this.descriptor = Deno.UnsafePointer.create(made[0])!;
    } finally {
      advapi.close();
    }
    this.bytes = new Instance(SECURITY_ATTRIBUTES)
      .set("nLength", SECURITY_ATTRIBUTES.size)
      .set("lpSecurityDescriptor", this.descriptor)
      .bytes;
  }

  free(): void {
    const kernel = openLibrary("kernel32", KERNEL);
    kernel.symbols.LocalFree(this.descriptor);
    kernel.close();
  }
}
