/**
 * The sockets behind a listener of this process. Deno shows no descriptor of them, so they are found
 * among all that the process has, by the port they are bound to.
 */
import { lazy } from "../base/lazy.ts";
import { openLibc } from "../os/libc.ts";

/** A connection that a listener has accepted. */
export interface AcceptedSocket {
  fd: number;
  /** Port of the client's end. */
  peer_port: number;
  /** Milliseconds since anything was sent on it, or since it was opened. */
  quiet_ms: number;
  /** Whether bytes wait for the client to read. */
  blocked: boolean;
}

export interface TcpSockets {
  /**
   * Has every answer leave at once, on the connections that the process's listeners are yet to accept:
   * they inherit it. Without it a second small write waits for the client's delayed acknowledgement,
   * 40 ms.
   */
  sendAtOnce(): void;
  /** The connections accepted on a port; undefined where the system does not tell enough of them. */
  accepted?(port: number): AcceptedSocket[];
  /** Ends a connection; its owner reads the end of the stream. */
  shutdown(fd: number): void;
}

const linux = Deno.build.os === "linux";
const DESCRIPTORS = linux ? "/proc/self/fd" : "/dev/fd";
const AF_INET = 2;
const AF_INET6 = linux ? 10 : 30;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const SHUT_RDWR = 2;
/** sizeof(struct sockaddr_in6) */
const SOCKADDR_BYTES = 28;
const PORT_OFFSET = 2;
/** Linux: struct tcp_info. */
const TCP_INFO = 11;
const TCP_INFO_BYTES = 256;
const LAST_DATA_SENT = 44;
const NOTSENT_BYTES = 144;

/** Functions are opened when they are needed: each takes half a millisecond of the start. */
const AT_START = {
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
} as const;
const SYMBOLS = {
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
} as const;

/** @returns undefined where there is no C library to ask. */
export function tcpSockets(): TcpSockets | undefined {
  const at_start = openLibc(AT_START)?.symbols;
  if (at_start === undefined) return undefined;
  const later = lazy(() => openLibc(SYMBOLS)!.symbols);
  const address = new Uint8Array(SOCKADDR_BYTES);
  const view = new DataView(address.buffer);
  const length = new Uint32Array(1);
  const length_bytes = new Uint8Array(length.buffer);

  /** The port of one end of a TCP socket; undefined for another kind of descriptor. */
  const portOf = (name: "getsockname" | "getpeername", fd: number): number | undefined => {
    length[0] = SOCKADDR_BYTES;
    if (later()[name](fd, address, length_bytes) !== 0) return undefined;
    const family = linux ? address[0] : address[1];
    return family === AF_INET || family === AF_INET6 ? view.getUint16(PORT_OFFSET) : undefined;
  };
  const option = (fd: number, level: number, name: number, size: number): DataView => {
    const value = new Uint8Array(size);
    length[0] = size;
    later().getsockopt(fd, level, name, value, length_bytes);
    return new DataView(value.buffer);
  };
  const descriptors = () => [...Deno.readDirSync(DESCRIPTORS)].map(({ name }) => Number(name));
  const boundTo = (port: number): number[] =>
    descriptors().filter((fd) => portOf("getsockname", fd) === port);

  return {
    sendAtOnce() {
      const on = new Uint8Array(new Int32Array([1]).buffer);
      // What is no TCP socket refuses, and the others may send at once as well.
      for (const fd of descriptors()) {
        at_start.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, on, on.length);
      }
    },
    accepted: linux
      ? (port) =>
        boundTo(port).flatMap((fd) => {
          const peer_port = portOf("getpeername", fd);
          if (peer_port === undefined) return [];
          const info = option(fd, IPPROTO_TCP, TCP_INFO, TCP_INFO_BYTES);
          const quiet_ms = info.getUint32(LAST_DATA_SENT, true);
          return [{ fd, peer_port, quiet_ms, blocked: info.getUint32(NOTSENT_BYTES, true) > 0 }];
        })
      : undefined,
    shutdown: (fd) => void later().shutdown(fd, SHUT_RDWR),
  };
}
