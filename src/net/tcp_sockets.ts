/**
 * The sockets behind a listener of this process. Deno shows no descriptor of them, so they are found
 * among all that the process has, by the port they are bound to.
 */
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
   * Has every answer leave at once, on the connections that a listener is yet to accept: they inherit
   * it. Without it a second small write waits for the client's delayed acknowledgement, 40 ms.
   */
  sendAtOnce(port: number): void;
  /** The connections accepted on a port; undefined where the system does not tell enough of them. */
  accepted?(port: number): AcceptedSocket[];
  /** Ends a connection; its owner reads the end of the stream. */
  shutdown(fd: number): void;
}

const linux = Deno.build.os === "linux";
const DESCRIPTORS = linux ? "/proc/self/fd" : "/dev/fd";
const AF_INET = 2;
const AF_INET6 = linux ? 10 : 30;
const SOL_SOCKET = linux ? 1 : 0xffff;
const SO_ACCEPTCONN = linux ? 30 : 2;
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

const SYMBOLS = {
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
} as const;

/** @returns undefined where there is no C library to ask. */
export function tcpSockets(): TcpSockets | undefined {
  const libc = openLibc(SYMBOLS)?.symbols;
  if (libc === undefined) return undefined;
  const address = new Uint8Array(SOCKADDR_BYTES);
  const view = new DataView(address.buffer);
  const length = new Uint32Array(1);
  const length_bytes = new Uint8Array(length.buffer);

  /** The port of one end of a TCP socket; undefined for another kind of descriptor. */
  const portOf = (name: "getsockname" | "getpeername", fd: number): number | undefined => {
    length[0] = SOCKADDR_BYTES;
    if (libc[name](fd, address, length_bytes) !== 0) return undefined;
    const family = linux ? address[0] : address[1];
    return family === AF_INET || family === AF_INET6 ? view.getUint16(PORT_OFFSET) : undefined;
  };
  const option = (fd: number, level: number, name: number, size: number): DataView => {
    const value = new Uint8Array(size);
    length[0] = size;
    libc.getsockopt(fd, level, name, value, length_bytes);
    return new DataView(value.buffer);
  };
  const isListener = (fd: number) =>
    option(fd, SOL_SOCKET, SO_ACCEPTCONN, 4).getInt32(0, true) !== 0;
  const boundTo = (port: number): number[] =>
    [...Deno.readDirSync(DESCRIPTORS)].map(({ name }) => Number(name))
      .filter((fd) => portOf("getsockname", fd) === port);

  return {
    sendAtOnce(port) {
      const on = new Uint8Array(new Int32Array([1]).buffer);
      for (const fd of boundTo(port).filter(isListener)) {
        libc.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, on, on.length);
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
    shutdown: (fd) => void libc.shutdown(fd, SHUT_RDWR),
  };
}
