/**
 * The credentials of who connects to the local socket. A UnixConn shows no descriptor, so every
 * accepted connection of the process is looked at instead of a given one: those of another user
 * are shut down, whichever they are, and what they sent is discarded. It runs after an accept and
 * before anything is read, so no byte of theirs is ever acted on.
 */
import { openLibc } from "../platform/libc.ts";

const linux = Deno.build.os === "linux";
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SHUT_RDWR = 2;
const MSG_DONTWAIT = linux ? 0x40 : 0x80;
const AF_UNIX = 1;
/** sizeof(struct sockaddr_un) is 110 on Linux, 106 on macOS. */
const SOCKADDR_BYTES = 128;

const SYMBOLS = {
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
} as const;

/**
 * Makes the check for the connections accepted at `path`.
 *
 * @param uid the only user who may connect.
 * @param onForeign told of each connection that was shut down.
 * @returns undefined where the system does not tell; the socket's mode then protects it alone.
 */
export function foreignPeerCheck(
  path: string,
  uid: number,
  onForeign: (peer_uid: number) => void,
): (() => void) | undefined {
  const libc = openLibc(SYMBOLS);
  const peerUid = libc && peerUidReader();
  if (libc === undefined || peerUid === undefined) return undefined;
  const { getsockname, shutdown, recv } = libc.symbols;
  const discarded = new Uint8Array(64 * 1024);
  const descriptors = linux ? "/proc/self/fd" : "/dev/fd";
  const expected = new TextEncoder().encode(path);
  return () => {
    for (const { name } of Deno.readDirSync(descriptors)) {
      const fd = Number(name);
      const address = new Uint8Array(SOCKADDR_BYTES);
      const length = new Uint32Array([SOCKADDR_BYTES]);
      if (getsockname(fd, address, new Uint8Array(length.buffer)) !== 0) continue;
      if (!isOurs(address, expected)) continue;
      const peer_uid = peerUid(fd);
      if (peer_uid === undefined || peer_uid === uid) continue;
      shutdown(fd, SHUT_RDWR);
      // What it sent before that would still be read, and carried out.
      while (recv(fd, discarded, BigInt(discarded.length), MSG_DONTWAIT) > 0);
      onForeign(peer_uid);
    }
  };
}

function isOurs(address: Uint8Array, path: Uint8Array): boolean {
  const family = linux ? address[0] : address[1];
  if (family !== AF_UNIX) return false;
  const name = address.subarray(2, 2 + path.length);
  return name.every((byte, n) => byte === path[n]) && address[2 + path.length] === 0;
}

/** Reads the uid at the other end of a connected socket; undefined for one that is not connected. */
function peerUidReader(): ((fd: number) => number | undefined) | undefined {
  if (linux) {
    const libc = openLibc({
      getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
    });
    return libc && ((fd) => {
      // struct ucred { pid_t pid; uid_t uid; gid_t gid; }
      const credentials = new Uint32Array(3);
      const length = new Uint32Array([12]);
      const failed = libc.symbols.getsockopt(
        fd,
        SOL_SOCKET,
        SO_PEERCRED,
        new Uint8Array(credentials.buffer),
        new Uint8Array(length.buffer),
      );
      // The listener itself answers with pid of who made it and our own uid.
      return failed !== 0 ? undefined : credentials[1];
    });
  }
  const libc = openLibc({
    getpeereid: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  });
  return libc && ((fd) => {
    const uid = new Uint32Array(1);
    const gid = new Uint32Array(1);
    const failed = libc.symbols.getpeereid(
      fd,
      new Uint8Array(uid.buffer),
      new Uint8Array(gid.buffer),
    );
    return failed !== 0 ? undefined : uid[0];
  });
}
