/**
 * Finds who is at the other end of a Unix socket. Deno does not show a connection's descriptor, so
 * it is found among all of the process, by the path of one end.
 */
import { openLibc } from "./libc.ts";

/** The process at the other end when it connected or began to listen. */
export interface Peer {
  uid: number;
  /** As this process sees it; 0 if it does not. Linux only. */
  pid?: number;
}

export interface UnixSocket {
  fd: number;
  /** Unique among open sockets. Linux only. */
  inode?: string;
  /** Undefined if not connected. */
  peer(): Peer | undefined;
}

export interface UnixSockets {
  /** Returns the sockets with one end bound to `path`. `own`: accepted there, and the listener. */
  at(path: string, end: "own" | "other"): UnixSocket[];
  /** Ends a connection, and drops what its peer had sent. */
  cutOff(fd: number): void;
}

const linux = Deno.build.os === "linux";
const DESCRIPTORS = linux ? "/proc/self/fd" : "/dev/fd";
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SHUT_RDWR = 2;
const MSG_DONTWAIT = linux ? 0x40 : 0x80;
const AF_UNIX = 1;
/** sizeof(struct sockaddr_un) is 110 on Linux, 106 on macOS. */
const SOCKADDR_BYTES = 128;

const SYMBOLS = {
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
} as const;

/** Returns the sockets of this process; undefined if the system does not tell. */
export function unixSockets(): UnixSockets | undefined {
  const libc = openLibc(SYMBOLS);
  const peerOf = peerReader();
  if (libc === undefined || peerOf === undefined) return undefined;
  const { getsockname, getpeername, shutdown, recv } = libc.symbols;
  const discarded = new Uint8Array(64 * 1024);
  return {
    at(path, end) {
      const expected = new TextEncoder().encode(path);
      const nameOf = end === "own" ? getsockname : getpeername;
      return [...Deno.readDirSync(DESCRIPTORS)].flatMap(({ name }) => {
        const fd = Number(name);
        const address = new Uint8Array(SOCKADDR_BYTES);
        const length = new Uint32Array([SOCKADDR_BYTES]);
        if (nameOf(fd, address, length) !== 0) return [];
        if (!isAt(address, expected)) return [];
        const inode = linux ? Deno.readLinkSync(`${DESCRIPTORS}/${fd}`) : undefined;
        return [{ fd, inode, peer: () => peerOf(fd) }];
      });
    },
    cutOff(fd) {
      shutdown(fd, SHUT_RDWR);
      // Otherwise earlier data would still be read and executed.
      while (recv(fd, discarded, BigInt(discarded.length), MSG_DONTWAIT) > 0);
    },
  };
}

function isAt(address: Uint8Array, path: Uint8Array): boolean {
  const family = linux ? address[0] : address[1];
  if (family !== AF_UNIX) return false;
  const name = address.subarray(2, 2 + path.length);
  return name.every((byte, n) => byte === path[n]) && address[2 + path.length] === 0;
}

function peerReader(): ((fd: number) => Peer | undefined) | undefined {
  if (linux) {
    const libc = openLibc({
      getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
    });
    return libc && ((fd) => {
      // struct ucred { pid_t pid; uid_t uid; gid_t gid; }
      const credentials = new Uint32Array(3);
      const length = new Uint32Array([12]);
      const failed = libc.symbols.getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, length);
      // For the listener: its maker's pid and our own uid.
      return failed !== 0 ? undefined : { pid: credentials[0], uid: credentials[1] };
    });
  }
  const libc = openLibc({
    getpeereid: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  });
  return libc && ((fd) => {
    const uid = new Uint32Array(1);
    const gid = new Uint32Array(1);
    const failed = libc.symbols.getpeereid(fd, uid, gid);
    return failed !== 0 ? undefined : { uid: uid[0] };
  });
}
