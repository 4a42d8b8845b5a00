import { checkPrivate, ensurePrivateDir } from "../platform/files.ts";

/**
 * Binds the local socket: 0600 from the moment it exists, in a 0700 directory. The daemon's lock is
 * held by then, so a socket file that is there was left by a daemon that is gone.
 *
 * @throws {SvcError} permission_denied when something else than our own socket is in its place.
 */
export function listenSocket(dir: string, path: string): Deno.UnixListener {
  ensurePrivateDir(dir);
  if (checkPrivate(path, 0o600, "socket")) Deno.removeSync(path);
  const before = Deno.umask(0o177);
  try {
    return Deno.listen({ transport: "unix", path });
  } finally {
    Deno.umask(before);
    checkPrivate(path, 0o600, "socket");
  }
}
