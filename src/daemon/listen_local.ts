/** Listens on the local socket, for this user only. */
import { delay } from "@std/async";
import { lazy } from "../base/lazy.ts";
import { foreignPeerCheck } from "../doors/peer.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { checkPrivate, ensurePrivateDir } from "../os/files.ts";
import { type LocalConn, type LocalListener, requireSocketPath } from "../os/local_socket.ts";
import type { Log } from "../os/log.ts";
import type { HomePaths } from "../os/paths.ts";

const ACCEPT_AGAIN_MS = 500;

interface LocalSocketOptions {
  paths: Pick<HomePaths, "runtime_dir" | "socket">;
  uid: number;
  log: Log;
}

/**
 * Listens on the local socket. Connections of other users are shut down before anything is read.
 *
 * @throws {SvcError} permission_denied when something else is in the socket's place; conflict when
 * another home's daemon has it; validation when its path is too long
 */
export async function listenLocal(options: LocalSocketOptions): Promise<LocalListener> {
  const { paths, log } = options;
  if (Deno.build.os !== "windows") return await listenUnix(options);
  const { listenPipe } = await import("../os/windows/pipe.ts");
  return listenPipe(paths.socket, (peer_sid) => {
    log.warn("closed a connection from another user", { peer_sid });
  });
}

async function listenUnix({ paths, uid, log }: LocalSocketOptions): Promise<LocalListener> {
  const expelForeign = lazy(() => {
    const check = foreignPeerCheck(paths.socket, uid, (peer) => {
      const whose = peer.uid === uid ? "a sandbox or container" : "another user";
      log.warn(`closed a connection from ${whose}`, { peer_uid: peer.uid, peer_pid: peer.pid });
    });
    if (check === undefined) {
      log.warn("cannot read peer credentials; only the socket's mode protects it");
    }
    return check;
  });
  const listener = await bindUnix(paths);
  return {
    [Symbol.asyncIterator]: () => accepted(listener, log, () => expelForeign()?.()),
    close: () => listener.close(),
  };
}

/** Yields connections that pass `check`; waits while descriptors are lacking. */
async function* accepted(
  listener: Deno.UnixListener,
  log: Log,
  check: () => void,
): AsyncGenerator<LocalConn> {
  let failing = false;
  for (;;) {
    let conn: Deno.UnixConn | undefined;
    try {
      conn = await listener.accept();
      check();
      failing = false;
    } catch (error) {
      conn?.close();
      if (error instanceof Deno.errors.BadResource) return;
      if (!failing) {
        log.error("the local socket does not accept connections", { error: messageOf(error) });
      }
      failing = true;
      await delay(ACCEPT_AGAIN_MS);
      continue;
    }
    yield conn;
  }
}

/** Binds the socket, 0600 in a 0700 directory. Replaces one that a dead daemon left. */
async function bindUnix(
  { runtime_dir, socket: path }: LocalSocketOptions["paths"],
): Promise<Deno.UnixListener> {
  requireSocketPath(path);
  ensurePrivateDir(runtime_dir);
  if (checkPrivate(path, 0o600, "socket")) {
    if (await isAnswered(path)) {
      throw new SvcError("conflict", `a daemon with another home is listening at ${path}`, {
        hint: "stop it, or set SVC_RUNTIME_DIR to a separate directory",
      });
    }
    Deno.removeSync(path);
  }
  const before = Deno.umask(0o177);
  try {
    return Deno.listen({ transport: "unix", path });
  } finally {
    Deno.umask(before);
    checkPrivate(path, 0o600, "socket");
  }
}

/** Whether a socket accepts connections. */
async function isAnswered(path: string): Promise<boolean> {
  try {
    const conn = await Deno.connect({ transport: "unix", path });
    conn.close();
    return true;
  } catch {
    return false;
  }
}
