/**
 * The named pipe that is the local socket on Windows, for this user on this machine. With the
 * default security descriptor of `node:net`, everyone could read it.
 */
import { delay } from "@std/async";
import { SvcError } from "../../protocol/errors.ts";
import type { LocalConn, LocalListener } from "../local_socket.ts";
import { CompletionPort } from "./completion_port.ts";
import { openLibrary } from "./libraries.ts";
import { Pipe } from "./pipe_io.ts";
import { onlyFor, ownSid, processSid, SecurityAttributes } from "./security.ts";
import { wide } from "./structure.ts";

const INVALID_HANDLE = -1n;
const PIPE_ACCESS_DUPLEX = 0x0000_0003;
const FILE_FLAG_FIRST_PIPE_INSTANCE = 0x0008_0000;
const FILE_FLAG_OVERLAPPED = 0x4000_0000;
const PIPE_REJECT_REMOTE_CLIENTS = 0x0000_0008;
const PIPE_UNLIMITED_INSTANCES = 255;
const BUFFER_BYTES = 64 * 1024;
const GENERIC_READ_WRITE = 0xc000_0000;
const OPEN_EXISTING = 3;
/** The other side may only identify the client: SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION. */
const IDENTIFY_ONLY = 0x0011_0000;
/** A client's wait while all instances are taken. */
const BUSY_MS = 2_000;
/** Wait until the system has room for another instance. */
const NO_ROOM_MS = 100;

const KERNEL = {
  CreateNamedPipeW: {
    parameters: ["buffer", "u32", "u32", "u32", "u32", "u32", "u32", "buffer"],
    result: "isize",
  },
  CreateFileW: {
    parameters: ["buffer", "u32", "u32", "pointer", "u32", "u32", "isize"],
    result: "isize",
  },
  WaitNamedPipeW: { parameters: ["buffer", "u32"], result: "i32", nonblocking: true },
  GetNamedPipeClientProcessId: { parameters: ["isize", "buffer"], result: "i32" },
  GetNamedPipeServerProcessId: { parameters: ["isize", "buffer"], result: "i32" },
  CloseHandle: { parameters: ["isize"], result: "i32" },
} as const;

type Kernel = Deno.DynamicLibrary<typeof KERNEL>["symbols"];

/**
 * Listens on a pipe.
 *
 * @param name such as `\\.
 *
 * ipe\svc-me`
 * @param onForeign receives each client of another user; nothing of it was read
 * @throws {SvcError} conflict when another program has a pipe of that name
 */
export function listenPipe(name: string, onForeign: (sid?: string) => void): LocalListener {
  const sid = ownSid();
  const library = openLibrary("kernel32", KERNEL);
  const security = new SecurityAttributes(onlyFor(sid));
  const port = new CompletionPort();
  port.retain();
  let closed = false;
  const instance = (flags: number) => newInstance(library.symbols, name, flags, security);
  let handle = instance(FILE_FLAG_FIRST_PIPE_INSTANCE);
  if (handle === INVALID_HANDLE) {
    library.close();
    security.free();
    port.release();
    throw new SvcError("conflict", `another program uses the pipe ${name}`, {
      hint: "stop it, or set SVC_HOME to a separate directory",
    });
  }
  let waiting: Pipe | undefined = new Pipe(handle, port);
  /** Returns the instance for the next client, once there is room for one. */
  const nextInstance = async () => {
    while (handle === INVALID_HANDLE && !closed) {
      await delay(NO_ROOM_MS);
      if (!closed) handle = instance(0);
    }
    if (closed) return undefined;
    return waiting ??= new Pipe(handle, port);
  };
  async function* accept(): AsyncGenerator<LocalConn> {
    for (let conn = await nextInstance(); conn !== undefined; conn = await nextInstance()) {
      const came = await conn.accept();
      if (closed) break;
      const conn_handle = handle;
      // First, because between two instances a client would find no pipe.
      handle = instance(0);
      waiting = handle === INVALID_HANDLE ? undefined : new Pipe(handle, port);
      const peer_sid = came
        ? peerSid(library.symbols.GetNamedPipeClientProcessId, conn_handle)
        : undefined;
      if (came && peer_sid === sid) {
        yield conn;
        continue;
      }
      conn.close();
      if (came) onForeign(peer_sid);
    }
  }
  return {
    [Symbol.asyncIterator]: accept,
    close() {
      if (closed) return;
      closed = true;
      waiting?.close();
      port.release();
      security.free();
      library.close();
    },
  };
}

/**
 * Connects to a pipe; undefined if nothing listens there. @throws {SvcError} permission_denied when
 * another user does
 */
export async function connectPipe(name: string): Promise<LocalConn | undefined> {
  const library = openLibrary("kernel32", KERNEL);
  const kernel = library.symbols;
  try {
    let handle = open(kernel, name);
    for (
      const until = Date.now() + BUSY_MS;
      handle === INVALID_HANDLE;
      handle = open(kernel, name)
    ) {
      // There is none, or others took all instances.
      if (Date.now() > until || !await waitForInstance(kernel, name)) return undefined;
    }
    if (peerSid(kernel.GetNamedPipeServerProcessId, handle) !== ownSid()) {
      kernel.CloseHandle(handle);
      throw new SvcError("permission_denied", `another user is listening at ${name}`, {
        hint: "it is not your daemon; find out who created that pipe before you continue",
      });
    }
    return new Pipe(handle, new CompletionPort());
  } finally {
    library.close();
  }
}

function newInstance(
  kernel: Kernel,
  name: string,
  flags: number,
  security: SecurityAttributes,
): bigint {
  return kernel.CreateNamedPipeW(
    wide(name),
    PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | flags,
    PIPE_REJECT_REMOTE_CLIENTS,
    PIPE_UNLIMITED_INSTANCES,
    BUFFER_BYTES,
    BUFFER_BYTES,
    0,
    security.bytes,
  );
}

/** @returns false if there is no such pipe, or none becomes free in time */
async function waitForInstance(kernel: Kernel, name: string): Promise<boolean> {
  const bytes = wide(name);
  const found = await kernel.WaitNamedPipeW(bytes, BUSY_MS);
  // Windows reads the name until here.
  bytes.fill(0);
  return found !== 0;
}

function open(kernel: Kernel, name: string): bigint {
  const flags = FILE_FLAG_OVERLAPPED | IDENTIFY_ONLY;
  return kernel.CreateFileW(wide(name), GENERIC_READ_WRITE, 0, null, OPEN_EXISTING, flags, 0n);
}

/** The user at the other end of a pipe; undefined if unknown. */
function peerSid(
  processId: (handle: bigint, pid: Uint8Array<ArrayBuffer>) => number,
  handle: bigint,
): string | undefined {
  const pid = new Uint32Array(1);
  if (!processId(handle, new Uint8Array(pid.buffer))) return undefined;
  return processSid(pid[0]);
}
