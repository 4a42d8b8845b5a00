/** The local socket: a Unix socket or, on Windows, a named pipe. */

import { SvcError } from "../protocol/errors.ts";

export type LocalConn = Pick<
  Deno.Conn,
  "read" | "write" | "closeWrite" | "close" | "readable"
>;

export interface LocalListener extends AsyncIterable<LocalConn> {
  /** Accepts no more connections; existing ones stay open. */
  close(): void;
}

/** Longest path of a Unix socket in bytes, without the final zero. */
const PATH_MAX = Deno.build.os === "linux" ? 107 : 103;

/** Checks the length of a Unix socket's path. @throws {SvcError} validation when it is too long */
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
 * @param path of the socket, or the name of the pipe
 * @returns undefined if nothing listens there
 * @throws {SvcError} permission_denied when another user does; validation when the path is too long
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
