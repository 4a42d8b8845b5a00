import { SvcError } from "../platform/errors.ts";
import { checkPrivate, ensurePrivateDir } from "../platform/files.ts";

/**
 * Binds the local socket: 0600 from the moment it exists, in a 0700 directory. A socket file that
 * nobody answers at was left by a daemon that is gone, and is replaced.
 *
 * @throws {SvcError} permission_denied when something else than our own socket is in its place;
 * conflict when a daemon of another home answers there.
 */
export async function listenSocket(dir: string, path: string): Promise<Deno.UnixListener> {
  ensurePrivateDir(dir);
  if (checkPrivate(path, 0o600, "socket")) {
    if (await isAnswered(path)) {
      throw new SvcError("conflict", `a daemon of another home answers at ${path}`, {
        hint: "stop it, or set SVC_RUNTIME_DIR to a directory of this daemon's own",
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

/** Whether something takes connections at a socket. */
async function isAnswered(path: string): Promise<boolean> {
  try {
    const conn = await Deno.connect({ transport: "unix", path });
    conn.close();
    return true;
  } catch {
    return false;
  }
}

/** Binds the loopback listener. @throws {SvcError} conflict when the port is taken. */
export function listenHttp(
  hostname: string,
  port: number,
  handle: Deno.ServeHandler<Deno.NetAddr>,
) {
  try {
    return Deno.serve({ hostname, port, onListen: () => {} }, handle);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    throw new SvcError("conflict", `port ${port} of ${hostname} is in use by another program`, {
      hint: "choose another with --port, or leave it out to get a free one",
      cause,
    });
  }
}

/** Binds the port of the daemon before, or a free one. */
export function listenAgain(
  hostname: string,
  last_port: number | undefined,
  handle: Deno.ServeHandler<Deno.NetAddr>,
) {
  try {
    return listenHttp(hostname, last_port ?? 0, handle);
  } catch (error) {
    if (last_port === undefined || !(error instanceof SvcError)) throw error;
    return listenHttp(hostname, 0, handle);
  }
}
