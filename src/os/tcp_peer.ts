/**
 * Finds who is at the other end of a local TCP connection (Linux). The kernel knows the user of
 * each socket. Asks for the whole tuple, both addresses and ports, because any user may use the
 * same port at another address.
 */
import { KernelFiles } from "./kernel_files.ts";
import { openLibc } from "./libc.ts";
import { isInOwnNamespace } from "./process.ts";

export interface Endpoint {
  /** An IP address. */
  hostname: string;
  port: number;
}

/** The user and the inode of an established socket. */
export interface TcpPeer {
  uid: number;
  inode: string;
}

const SYMBOLS = {
  close: { parameters: ["i32"], result: "i32" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
} as const;
type Libc = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

const ESTABLISHED = 1;

/**
 * Returns a function that looks up the client's end of a connection, if both ends are established
 * in our network namespace; undefined if the system cannot tell.
 */
export function tcpPeerFinder():
  | ((peer: Endpoint, own: Endpoint) => TcpPeer | undefined)
  | undefined {
  const files = KernelFiles.open();
  const symbols = files && openLibc(SYMBOLS)?.symbols;
  if (files === undefined || symbols === undefined) return undefined;
  // Kernels without sock_diag, and containers that refuse it, still have the tables.
  const find = (local: Endpoint, remote: Endpoint) =>
    diagnose(symbols, local, remote) ?? lookUp(files, local, remote);
  return (peer, own) => find(own, peer) && find(peer, own);
}

// ── sock_diag(7) ───────────────────────────────────────────────────────────────────────────────

const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_RAW_CLOEXEC = 0o2000003;
const NETLINK_SOCK_DIAG = 4;
const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST = 1;
const IPPROTO_TCP = 6;
const MSG_DONTWAIT = 0x40;
const HEADER = 16;
/** sizeof(struct inet_diag_req_v2) */
const REQUEST = 56;
/** Offsets in struct inet_diag_msg. */
const STATE = 1;
const UID = 64;
const INODE = 68;

/** Asks for one socket. The kernel's answer is ready once the question is sent. */
function diagnose(libc: Libc, local: Endpoint, remote: Endpoint): TcpPeer | undefined {
  const question = diagRequest(local, remote);
  const fd = question && libc.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_SOCK_DIAG);
  if (question === undefined || fd === undefined || fd < 0) return undefined;
  try {
    const answer = new Uint8Array(1024);
    if (libc.send(fd, question, BigInt(question.length), 0) < 0) return undefined;
    const size = Number(libc.recv(fd, answer, BigInt(answer.length), MSG_DONTWAIT));
    return diagAnswer(new DataView(answer.buffer, 0, Math.max(size, 0)));
  } finally {
    libc.close(fd);
  }
}

function diagRequest(local: Endpoint, remote: Endpoint): Uint8Array<ArrayBuffer> | undefined {
  const from = addressBytes(local.hostname);
  const to = addressBytes(remote.hostname);
  if (from === undefined || from.length !== to?.length) return undefined;
  const bytes = new Uint8Array(HEADER + REQUEST);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, LITTLE);
  view.setUint16(4, SOCK_DIAG_BY_FAMILY, LITTLE);
  view.setUint16(6, NLM_F_REQUEST, LITTLE);
  bytes.set([from.length === 4 ? AF_INET : AF_INET6, IPPROTO_TCP], HEADER);
  view.setUint32(HEADER + 4, 1 << ESTABLISHED, LITTLE);
  const id = HEADER + 8;
  view.setUint16(id, local.port);
  view.setUint16(id + 2, remote.port);
  bytes.set(from, id + 4);
  bytes.set(to, id + 20);
  // INET_DIAG_NOCOOKIE: any socket with the tuple.
  bytes.fill(0xff, id + 40);
  return bytes;
}

/** Checks the state: a listener answers for unused tuples, and TIME_WAIT counts as root's. */
function diagAnswer(view: DataView): TcpPeer | undefined {
  if (view.byteLength < HEADER + INODE + 4) return undefined;
  if (view.getUint16(4, LITTLE) !== SOCK_DIAG_BY_FAMILY) return undefined;
  if (view.getUint8(HEADER + STATE) !== ESTABLISHED) return undefined;
  return {
    uid: view.getUint32(HEADER + UID, LITTLE),
    inode: String(view.getUint32(HEADER + INODE, LITTLE)),
  };
}

/** The machine's byte order; Deno has no big-endian target. */
const LITTLE = true;

/** Four bytes for IPv4, sixteen for IPv6. */
function addressBytes(address: string): Uint8Array | undefined {
  if (!address.includes(":")) {
    const parts = address.split(".").map(Number);
    const valid = parts.length === 4 && parts.every((part) => part >= 0 && part < 256);
    return valid ? Uint8Array.from(parts) : undefined;
  }
  const [head, tail] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array(8 - head.length - (tail?.length ?? 0)).fill("0");
  const groups = [...head, ...zeros, ...tail ?? []].map((group) => parseInt(group, 16));
  if (groups.length !== 8 || groups.some(Number.isNaN)) return undefined;
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

// ── /proc/net/tcp ──────────────────────────────────────────────────────────────────────────────

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
const MAPPED = "0000000000000000FFFF0000";

function lookUp(files: KernelFiles, local: Endpoint, remote: Endpoint): TcpPeer | undefined {
  for (const table of TABLES) {
    const found = findSocket(files.read(table) ?? "", local, remote);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds the established socket of a tuple in the text of /proc/net/tcp or tcp6. */
export function findSocket(
  table: string,
  local: Endpoint,
  remote: Endpoint,
): TcpPeer | undefined {
  const [from, to] = [tableNames(local), tableNames(remote)];
  for (const line of table.split("\n").slice(1)) {
    const [, here, there, state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (!from.includes(here) || !to.includes(there)) continue;
    if (parseInt(state, 16) === ESTABLISHED) return { uid: Number(uid), inode };
  }
  return undefined;
}

/** An address as in the tables: words in the machine's byte order, IPv4 also as IPv6. */
function tableNames({ hostname, port }: Endpoint): string[] {
  const bytes = addressBytes(hostname);
  if (bytes === undefined) return [];
  let host = "";
  for (let n = 0; n < bytes.length; n += 4) host += bytes.slice(n, n + 4).reverse().toHex();
  host = host.toUpperCase();
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return bytes.length === 4 ? [host + end, MAPPED + host + end] : [host + end];
}

// ── /proc/PID ──────────────────────────────────────────────────────────────────────────────────

/**
 * Reports whether only processes of our process namespace hold a socket. A command in the sandbox
 * has our uid, but is not our user. False if no process is found.
 */
export function isOfOwnNamespace(inode: string): boolean {
  let held = false;
  for (const { name: pid } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(pid) || !holdsSocket(pid, inode)) continue;
    if (!isInOwnNamespace(pid)) return false;
    held = true;
  }
  return held;
}

/**
 * Reports whether this process, one of `programs` or a descendant holds a socket. Descendants are
 * found through their parents, so orphans do not count.
 */
export function isHeldBy(inode: string, programs: readonly number[]): boolean {
  if (holdsSocket("self", inode)) return true;
  using files = KernelFiles.open();
  if (files === undefined) return false;
  const left = programs.map(String);
  const seen = new Set(left);
  for (let pid = left.pop(); pid !== undefined; pid = left.pop()) {
    if (holdsSocket(pid, inode)) return true;
    for (const child of childrenOf(pid, files)) {
      if (!seen.has(child)) left.push(child);
      seen.add(child);
    }
  }
  return false;
}

/** The children of all threads of a process; none of an ended one. */
function childrenOf(pid: string, files: KernelFiles): string[] {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/task`)].flatMap(({ name }) =>
      (files.read(`/proc/${pid}/task/${name}/children`) ?? "").split(" ").filter(Boolean)
    );
  } catch {
    return [];
  }
}

function holdsSocket(pid: string, inode: string): boolean {
  try {
    return Deno.readDirSync(`/proc/${pid}/fd`)
      .some(({ name: fd }) => readLinkIfAny(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`);
  } catch {
    // Another user's process, or an ended one.
    return false;
  }
}

function readLinkIfAny(path: string): string | undefined {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return undefined;
  }
}
