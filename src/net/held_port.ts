/**
 * Holds a port for the next daemon of this user (Linux): a socket is bound to it that does not
 * listen, so it gets no connection, and outlives the listener.
 *
 * SO_REUSEPORT lets sockets of one user share a port. The holding socket keeps the option: when the
 * listener is gone, only this user can bind the port. The listener has it only while the holding
 * socket is being bound, so that nobody at all can listen beside it, not even a sandbox that shares
 * our user and network.
 */
import { openLibc } from "../os/libc.ts";
import { tcpSockets } from "./tcp_sockets.ts";

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
} as const;
type Libc = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_STREAM_CLOEXEC = 0o2000001;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SO_REUSEPORT = 15;
const SO_ACCEPTCONN = 30;
const AF_INET6 = 10;
/** sizeof(struct sockaddr_in), and of sockaddr_in6 */
const SOCKADDR_BYTES = 16;
const SOCKADDR6_BYTES = 28;
const SEAL_TRIES = 8;

/** Sockets that hold a port. Programs that are started before they are closed inherit them. */
export interface HeldPort extends Disposable {
  descriptors: number[];
}

/**
 * Holds a port of ours, on the addresses that we listen on.
 *
 * @returns undefined where that is impossible
 */
export function holdPort(port: number): HeldPort | undefined {
  const libc = openLibc(SYMBOLS);
  if (libc === undefined) return undefined;
  const { symbols } = libc;
  const listening = listeners(symbols, port);
  if (listening.length === 0) return undefined;
  const descriptors: number[] = [];
  const close = () => descriptors.forEach((fd) => symbols.close(fd));
  try {
    for (const fd of listening) {
      const address = addressOf(symbols, fd)!;
      set(symbols, fd, SO_REUSEPORT, true);
      const held = symbols.socket(address[0], SOCK_STREAM, 0);
      if (held >= 0) descriptors.push(held);
      set(symbols, held, SO_REUSEPORT, true);
      // Past connections of the port may not have timed out yet.
      set(symbols, held, SO_REUSEADDR, true);
      if (symbols.bind(held, address, address.length) !== 0) return close(), undefined;
      // Otherwise another user could bind the port with the same option.
      set(symbols, held, SO_REUSEADDR, false);
    }
  } finally {
    sealPort(port);
  }
  return { descriptors, [Symbol.dispose]: close };
}

/** Makes our listeners on a port its only ones. */
export function sealPort(port: number): void {
  const symbols = openLibc(SYMBOLS)?.symbols;
  if (symbols === undefined) return;
  for (const fd of listeners(symbols, port)) set(symbols, fd, SO_REUSEPORT, false);
  // The kernel remembers per port, for all addresses, whether its last socket was shared, and then
  // checks no other socket. A bound one that is not shared makes it forget.
  for (let tries = 0; tries < SEAL_TRIES; tries++) {
    const fd = symbols.socket(AF_INET, SOCK_STREAM_CLOEXEC, 0);
    const bound = symbols.bind(fd, randomLoopback(port), SOCKADDR_BYTES) === 0;
    symbols.close(fd);
    if (bound) return;
  }
}

/** Returns the local port of a TCP socket; undefined for other descriptors. */
export function portOf(fd: number): number | undefined {
  const symbols = openLibc(SYMBOLS)?.symbols;
  const address = symbols && addressOf(symbols, fd);
  return address && new DataView(address.buffer).getUint16(2);
}

function listeners(symbols: Libc, port: number): number[] {
  const size = new Uint8Array(new Uint32Array([4]).buffer);
  return (tcpSockets()?.boundTo(port) ?? []).filter((fd) => {
    const value = new Int32Array(1);
    symbols.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, new Uint8Array(value.buffer), size);
    return value[0] !== 0;
  });
}

/** The struct sockaddr_in or sockaddr_in6 of a socket's own end. */
function addressOf({ getsockname }: Libc, fd: number): Uint8Array<ArrayBuffer> | undefined {
  const address = new Uint8Array(SOCKADDR6_BYTES);
  const size = new Uint32Array([address.length]);
  if (getsockname(fd, address, new Uint8Array(size.buffer)) !== 0) return undefined;
  const known = address[0] === AF_INET || address[0] === AF_INET6;
  return known ? address.slice(0, size[0]) : undefined;
}

/** A struct sockaddr_in that is hardly ever in use. */
function randomLoopback(port: number): Uint8Array<ArrayBuffer> {
  const address = new Uint8Array(SOCKADDR_BYTES);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_INET, true);
  view.setUint16(2, port);
  crypto.getRandomValues(address.subarray(4, 8));
  address[4] = 127;
  return address;
}

function set({ setsockopt }: Libc, fd: number, option: number, on: boolean): void {
  const value = new Uint8Array(new Int32Array([on ? 1 : 0]).buffer);
  setsockopt(fd, SOL_SOCKET, option, value, value.length);
}
