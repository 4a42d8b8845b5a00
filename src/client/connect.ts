/** Finds or starts the daemon (product.md: the daemon starts on demand). */
import { delay } from "@std/async";
import { dirname } from "@std/path";
import { toText } from "@std/streams";
import { SvcError } from "../protocol/errors.ts";
import { checkPrivate } from "../os/files.ts";
import { connectLocal, type LocalConn } from "../os/local_socket.ts";
import type { HomePaths } from "../os/paths.ts";
import { hasOpen } from "../os/process.ts";
import { unixSockets } from "../os/unix_peer.ts";
import { readDiscovery } from "./discovery.ts";
import { ownProgram } from "./own_program.ts";
import { RpcClient } from "./rpc.ts";
import { startProgram } from "../os/start.ts";

/** Delay between two tries (product.md, Limits). */
const RETRY_BACKOFF_MS = 2_000;
/** Interval of checks for the discovery file meanwhile. */
const NOTICE_MS = 15;
const START_DEADLINE_MS = 30_000;
/** Retries of a client that starts no daemon. */
const RETRIES = 3;
/** Retries before a daemon that crashed is started again. */
export const RETRIES_AFTER_CRASH = 1;

/** Connects to the running daemon, if any. */
export async function connectIfAny(paths: HomePaths): Promise<RpcClient | undefined> {
  const conn = await dial(paths);
  return conn && new RpcClient(conn);
}

/** Connects to the running daemon. @throws {SvcError} not_found when none answers */
export async function connect(paths: HomePaths): Promise<RpcClient> {
  const rpc = await connectIfAny(paths);
  if (rpc !== undefined) return rpc;
  throw new SvcError("not_found", `no daemon is running at ${await socketOf(paths)}`, {
    hint: "`svc serve` and `svc chat` start one",
  });
}

/**
 * Connects to the running daemon, or one that starts soon.
 *
 * @param onWaiting called when none answers at first
 * @throws {SvcError} not_found when none answers
 */
export async function connectPatiently(
  paths: HomePaths,
  onWaiting: () => void,
  retries = RETRIES,
): Promise<RpcClient> {
  for (let retry = 0; retry < retries; retry++) {
    const seen = await discoveryTime(paths);
    const conn = await dial(paths);
    if (conn !== undefined) return new RpcClient(conn);
    if (retry === 0) onWaiting();
    await discoveryChange(paths, seen, () => false);
  }
  return await connect(paths);
}

/**
 * Connects to the running daemon, or starts one.
 *
 * @param onStarting called before a start
 * @throws {SvcError} internal when it does not start, with its output
 */
export async function connectOrStart(
  paths: HomePaths,
  onStarting: () => void,
): Promise<RpcClient> {
  return new RpcClient(await dialOrStart(paths, onStarting));
}

/** Connects to the daemon that follows one that has crashed; starts it if nobody else does. */
export async function connectAfterCrash(paths: HomePaths): Promise<RpcClient> {
  try {
    return await connectPatiently(paths, () => {}, RETRIES_AFTER_CRASH);
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== "not_found") throw error;
    return await connectOrStart(paths, () => {});
  }
}

/** As {@linkcode connectOrStart}, but returns the bare connection. */
export async function dialOrStart(
  paths: HomePaths,
  onStarting: () => void,
): Promise<LocalConn> {
  const conn = await dial(paths);
  if (conn !== undefined) return conn;
  onStarting();
  const child = startDetached();
  // Only a failed start writes here; a running daemon logs to its file.
  const said = toText(child.stderr);
  let ended: Deno.CommandStatus | undefined;
  child.status.then((status) => ended = status);
  const until = Date.now() + START_DEADLINE_MS;
  for (let last_try = false; Date.now() < until;) {
    const seen = await discoveryTime(paths);
    const conn = await dial(paths);
    if (conn !== undefined) {
      child.unref();
      return conn;
    }
    if (last_try) break;
    // It also ends if another client's daemon was faster: then one more try.
    last_try = ended !== undefined;
    await discoveryChange(paths, seen, () => !last_try && ended !== undefined);
  }
  const reason = ended === undefined
    ? `it was not ready after ${START_DEADLINE_MS / 1000} s`
    : (await said).trim();
  throw new SvcError("internal", `the daemon did not start: ${reason}`, {
    hint: `see the log: ${paths.log}`,
  });
}

/**
 * Connects to the running daemon, if any: at the socket in its discovery file, then at the computed
 * one, which may differ between processes.
 *
 * @throws {SvcError} permission_denied when a file, a directory or the daemon is not this user's
 */
export async function dial(paths: HomePaths): Promise<LocalConn | undefined> {
  const record = await readDiscovery(paths.discovery);
  for (const socket of new Set([record?.sock ?? paths.socket, paths.socket])) {
    const conn = await dialSocket(socket, paths);
    if (conn !== undefined) return conn;
  }
}

/** The first socket to try. */
async function socketOf(paths: HomePaths): Promise<string> {
  return (await readDiscovery(paths.discovery))?.sock ?? paths.socket;
}

async function dialSocket(socket: string, paths: HomePaths): Promise<LocalConn | undefined> {
  if (Deno.build.os === "windows") return await connectLocal(socket);
  if (!checkPrivate(dirname(socket), 0o700, "dir")) return undefined;
  if (!checkPrivate(socket, 0o600, "socket")) return undefined;
  const conn = await connectLocal(socket);
  if (conn === undefined) return undefined;
  try {
    if (isOwnDaemon(socket, paths)) return conn;
  } catch (error) {
    conn.close();
    throw error;
  }
  conn.close();
}

/**
 * Whether a connection's daemon is this home's: it has the home's lock open. Another home's may
 * have the same socket.
 *
 * @throws {SvcError} permission_denied when it is another user's
 */
function isOwnDaemon(socket: string, { lock }: HomePaths): boolean {
  const uid = Deno.uid();
  return unixSockets()?.at(socket, "other").every(({ peer: peerOf }) => {
    const peer = peerOf();
    if (peer === undefined) return true;
    if (peer.uid !== uid) {
      throw new SvcError(
        "permission_denied",
        `a program of uid ${peer.uid} is listening at ${socket}`,
        {
          hint: "it is not your daemon; remove the socket, or set SVC_RUNTIME_DIR",
        },
      );
    }
    return peer.pid === undefined || hasOpen(peer.pid, lock) !== false;
  }) ?? true;
}

/** Starts `svc serve` in its own session, so that it outlives this process and its terminal. */
function startDetached(): Deno.ChildProcess {
  const { command, first_args } = ownProgram();
  return startProgram("svc serve", command, {
    args: [...first_args, "serve", "--detached"],
    cwd: "/",
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  });
}

async function discoveryTime({ discovery }: HomePaths): Promise<number> {
  try {
    return (await Deno.stat(discovery)).mtime?.getTime() ?? 0;
  } catch {
    return 0;
  }
}

/** Waits for the backoff, a new discovery file, or the daemon's end. */
async function discoveryChange(
  paths: HomePaths,
  seen: number,
  ended: () => boolean,
): Promise<void> {
  const until = Date.now() + RETRY_BACKOFF_MS;
  while (Date.now() < until && !ended() && (await discoveryTime(paths)) === seen) {
    await delay(NOTICE_MS);
  }
}
