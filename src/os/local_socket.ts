/** The local socket, whatever the system has for it: a Unix socket or a named pipe. */

import { SvcError } from "../protocol/errors.ts";

/** A connection of the local socket. */
export type LocalConn = Pick<
  Deno.Conn,
  "read" | "write" | "closeWrite" | "close" | "readable"
>;

/** Where connections come in. */
export interface LocalListener extends AsyncIterable<LocalConn> {
  /** Takes no more connections; those there are stay open. */
  close(): void;
}

/** Bytes of a Unix socket's path that the system takes, without the zero behind it. */
const PATH_MAX = Deno.build.os === "linux" ? 107 : 103;

/** @throws {SvcError} validation when a path is too long for a Unix socket. */
export function requireSocketPath(path: string): void {
  const { length } = new TextEncoder().encode(path);
  if (length <= PATH_MAX) return;
  throw new SvcError(
    "validation",
    `the path of the local socket is too long: ${path} has ${length} bytes, and this system takes ` +
      `at most ${PATH_MAX}`,
    { hint: "set SVC_RUNTIME_DIR to a directory with a shorter path" },
  );
}

/**
 * Connects to a local socket.
 *
 * @param path of the socket, or the name of the pipe.
 * @returns undefined when nobody listens there.
 * @throws {SvcError} permission_denied when another user does; validation when the path is too long.
 */
export async function connectLocal(path: string): Promise<LocalConn | undefined> {
  if (Deno.build.os === "windows") {
    const { connectPipe } = await import("./windows/pipe.ts");
    return await connectPipe(path);
  }
  requireSocketPath(path);
  try {
    return await Deno.connect({ transport: "unix", path });
  } catch (error) {
    const absent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.ConnectionRefused;
    if (absent) return undefined;
    throw error;
  }
}
