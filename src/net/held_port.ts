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
  close: { parameters: ["i32"], result: "i32" },
} as const;
type Libc = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_STREAM_CLOEXEC = 0o2000001;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SO_REUSEPORT = 15;
/** sizeof(struct sockaddr_in) */
const SOCKADDR_BYTES = 16;
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
  const listening = tcpSockets()?.listening(port) ?? [];
  if (libc === undefined || listening.length === 0) return undefined;
  const { symbols } = libc;
  const descriptors: number[] = [];
  const close = () => descriptors.forEach((fd) => symbols.close(fd));
  try {
    for (const { fd, address } of listening) {
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
  for (const { fd } of tcpSockets()?.listening(port) ?? []) set(symbols, fd, SO_REUSEPORT, false);
  // The kernel remembers per port, for all addresses, whether its last socket was shared, and then
  // checks no other socket. A bound one that is not shared makes it forget.
  for (let tries = 0; tries < SEAL_TRIES; tries++) {
    const fd = symbols.socket(AF_INET, SOCK_STREAM_CLOEXEC, 0);
    const bound = symbols.bind(fd, randomLoopback(port), SOCKADDR_BYTES) === 0;
    symbols.close(fd);
    if (bound) return;
  }
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
