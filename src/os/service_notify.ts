/**
 * Reports the daemon's state to the service manager: sd_notify(3), a datagram to the socket in
 * NOTIFY_SOCKET. Uses the C library, because Deno sends no datagrams to a path.
 */
import { openLibc } from "./libc.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;
/** Of struct sockaddr_un on Linux: the path after the family. */
const PATH_OFFSET = 2;
const PATH_MAX = 108;

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  sendto: {
    parameters: ["i32", "buffer", "usize", "i32", "buffer", "u32"],
    result: "isize",
  },
  close: { parameters: ["i32"], result: "i32" },
} as const;

/** Reports whether {@linkcode notifyServiceManager} works here. */
export function canNotify(): boolean {
  const libc = openLibc(SYMBOLS);
  libc?.close();
  return libc !== undefined;
}

/**
 * Sends a state, such as `READY=1`, to the service manager.
 *
 * @param socket from NOTIFY_SOCKET: a path, or `@` and an abstract name
 * @returns false if it could not be sent
 */
export function notifyServiceManager(socket: string, state: string): boolean {
  const address = unixAddress(socket);
  const libc = openLibc(SYMBOLS);
  if (address === undefined || libc === undefined) return false;
  try {
    const fd = libc.symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const bytes = new TextEncoder().encode(state);
    const sent = libc.symbols.sendto(
      fd,
      bytes,
      BigInt(bytes.length),
      MSG_NOSIGNAL,
      address,
      address.length,
    );
    libc.symbols.close(fd);
    return Number(sent) === bytes.length;
  } finally {
    libc.close();
  }
}

const WITH_DESCRIPTORS = {
  malloc: { parameters: ["usize"], result: "usize" },
  memcpy: { parameters: ["usize", "buffer", "usize"], result: "usize" },
  free: { parameters: ["usize"], result: "void" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  sendmsg: { parameters: ["i32", "usize", "i32"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
/** Sizes of struct msghdr, iovec and cmsghdr, of 64 bits. */
const [MESSAGE, VECTOR, CONTROL] = [56, 16, 16];

/**
 * Sends a state with copies of descriptors, for the service manager's store.
 *
 * @returns false if it could not be sent
 */
export function sendDescriptors(
  socket: string,
  state: string,
  descriptors: readonly number[],
): boolean {
  const address = unixAddress(socket);
  const libc = openLibc(WITH_DESCRIPTORS);
  if (address === undefined || libc === undefined) return false;
  const { malloc, memcpy, free, socket: open, sendmsg, close } = libc.symbols;
  const text = new TextEncoder().encode(state);
  const control = CONTROL + 4 * descriptors.length;
  // In the order in which the parts are in memory; the kernel gets their addresses.
  const vector_at = MESSAGE;
  const control_at = vector_at + VECTOR;
  const text_at = control_at + Math.ceil(control / 8) * 8;
  const address_at = text_at + text.length;
  const bytes = new Uint8Array(address_at + address.length);
  const view = new DataView(bytes.buffer);
  const block = malloc(BigInt(bytes.length));
  const pointer = (at: number, to: number) => view.setBigUint64(at, block + BigInt(to), true);
  const length = (at: number, of: number) => view.setBigUint64(at, BigInt(of), true);
  pointer(0, address_at);
  length(8, address.length);
  pointer(16, vector_at);
  length(24, 1);
  pointer(32, control_at);
  length(40, control);
  pointer(vector_at, text_at);
  length(vector_at + 8, text.length);
  length(control_at, control);
  view.setInt32(control_at + 8, SOL_SOCKET, true);
  view.setInt32(control_at + 12, SCM_RIGHTS, true);
  descriptors.forEach((fd, n) => view.setInt32(control_at + CONTROL + 4 * n, fd, true));
  bytes.set(text, text_at);
  bytes.set(address, address_at);
  memcpy(block, bytes, BigInt(bytes.length));
  const fd = open(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const sent = fd >= 0 && Number(sendmsg(fd, block, MSG_NOSIGNAL)) === text.length;
  if (fd >= 0) close(fd);
  free(block);
  libc.close();
  return sent;
}

/** A struct sockaddr_un, as long as its path; undefined for a path that is too long. */
function unixAddress(socket: string): Uint8Array<ArrayBuffer> | undefined {
  const path = new TextEncoder().encode(socket);
  if (path.length === 0 || path.length >= PATH_MAX) return undefined;
  // An abstract name begins with a zero byte.
  if (socket.startsWith("@")) path[0] = 0;
  const address = new Uint8Array(PATH_OFFSET + path.length);
  new DataView(address.buffer).setUint16(0, AF_UNIX, true);
  address.set(path, PATH_OFFSET);
  return address;
}
