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
