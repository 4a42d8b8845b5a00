/**
 * Who is at the other end of a loopback TCP connection (Linux). The kernel lists each socket with
 * the user who opened it; Deno reads nothing under /proc, so the C library does.
 */
import { openLibc } from "./libc.ts";

/** The user and the inode of the socket that a client opened. */
export interface TcpPeer {
  uid: number;
  inode: string;
}

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
const LOOPBACK = ["0100007F", "0000000000000000FFFF00000100007F"];
const CHUNK = 64 * 1024;
const O_RDONLY_CLOEXEC = 0o2000000;

/**
 * Makes the look-up.
 *
 * @returns undefined where the system cannot tell.
 */
export function tcpPeerFinder():
  | ((port: number, own_port: number) => TcpPeer | undefined)
  | undefined {
  if (Deno.build.os !== "linux") return undefined;
  const libc = openLibc({
    open: { parameters: ["buffer", "i32"], result: "i32" },
    read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
    close: { parameters: ["i32"], result: "i32" },
  });
  if (libc === undefined) return undefined;
  const { open, read, close } = libc.symbols;
  const readText = (path: string): string => {
    const fd = open(new TextEncoder().encode(`${path}\0`), O_RDONLY_CLOEXEC);
    if (fd < 0) return "";
    const decoder = new TextDecoder();
    const chunk = new Uint8Array(CHUNK);
    let text = "";
    for (let size; (size = Number(read(fd, chunk, BigInt(CHUNK)))) > 0;) {
      text += decoder.decode(chunk.subarray(0, size), { stream: true });
    }
    close(fd);
    return text;
  };
  return (port, own_port) => {
    for (const table of TABLES) {
      const found = findPeer(readText(table), port, own_port);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** Finds, in the text of /proc/net/tcp or tcp6, the socket at `port` that is connected to `own_port`. */
export function findPeer(table: string, port: number, own_port: number): TcpPeer | undefined {
  const local = hexPort(port);
  const remote = hexPort(own_port);
  for (const line of table.split("\n").slice(1)) {
    const [, from, to, , , , , uid, , inode] = line.trim().split(/\s+/);
    if (to === undefined) continue;
    if (isLoopback(from, local) && isLoopback(to, remote)) return { uid: Number(uid), inode };
  }
  return undefined;
}

function isLoopback(address: string, port: string): boolean {
  const [host, found] = address.split(":");
  return found === port && LOOPBACK.includes(host);
}

function hexPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/**
 * Says whether a socket belongs to a process in another process namespace than ours: a command in
 * the sandbox, which has our uid but is not our user.
 *
 * @returns undefined when its process is not found.
 */
export function isInOtherNamespace(inode: string): boolean | undefined {
  const own = Deno.readLinkSync("/proc/self/ns/pid");
  for (const { name: pid } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(pid) || !holdsSocket(pid, inode)) continue;
    const namespace = readLinkIfAny(`/proc/${pid}/ns/pid`);
    if (namespace !== undefined) return namespace !== own;
  }
  return undefined;
}

function holdsSocket(pid: string, inode: string): boolean {
  try {
    return Deno.readDirSync(`/proc/${pid}/fd`)
      .some(({ name: fd }) => readLinkIfAny(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`);
  } catch {
    // Another user's process, or one that has just ended.
    return false;
  }
}

/** A descriptor may be closed at any moment. */
function readLinkIfAny(path: string): string | undefined {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return undefined;
  }
}
