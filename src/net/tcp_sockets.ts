/** Sockets of this process's listeners. Deno hides their descriptors, so they are found by port. */
import { lazy } from "../base/lazy.ts";
import { openLibc } from "../os/libc.ts";

interface AcceptedSocket {
  fd: number;
  /** The client's port. */
  peer_port: number;
  /** Milliseconds since the last data was sent, or since it was opened. */
  quiet_ms: number;
  /** Whether bytes wait for the client. */
  blocked: boolean;
}

export interface TcpSockets {
  /**
   * Sets TCP_NODELAY, which future connections inherit. Otherwise a second small write
   * waits 40 ms for the client's delayed acknowledgement.
   */
  sendAtOnce(): void;
  /** Connections accepted on a port; undefined where the system cannot tell. */
  accepted?(port: number): AcceptedSocket[];
  /** Descriptors whose local port this is. */
  boundTo(port: number): number[];
  /** Ends a connection; its owner reads the end. */
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

/** Functions are opened lazily: each takes half a millisecond of the start. */
const AT_START = {
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
} as const;
const SYMBOLS = {
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
} as const;

/** @returns undefined without a C library */
export function tcpSockets(): TcpSockets | undefined {
  const at_start = openLibc(AT_START)?.symbols;
  if (at_start === undefined) return undefined;
  const later = lazy(() => openLibc(SYMBOLS)!.symbols);
  const address = new Uint8Array(SOCKADDR_BYTES);
  const view = new DataView(address.buffer);
  const length = new Uint32Array(1);
  const length_bytes = new Uint8Array(length.buffer);

  /** The port of one end of a TCP socket; undefined for other descriptors. */
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
      // Other descriptors refuse it, and other sockets may send at once too.
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
    boundTo,
    shutdown: (fd) => void later().shutdown(fd, SHUT_RDWR),
  };
}
