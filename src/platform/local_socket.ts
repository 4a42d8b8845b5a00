/** The local socket, whatever the system has for it: a Unix socket or a named pipe. */

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

/**
 * Connects to a local socket.
 *
 * @param path of the socket, or the name of the pipe.
 * @returns undefined when nobody listens there.
 * @throws {SvcError} permission_denied when another user does.
 */
export async function connectLocal(path: string): Promise<LocalConn | undefined> {
  if (Deno.build.os === "windows") {
    const { connectPipe } = await import("./windows/pipe.ts");
    return await connectPipe(path);
  }
  try {
    return await Deno.connect({ transport: "unix", path });
  } catch (error) {
    const absent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.ConnectionRefused;
    if (absent) return undefined;
    throw error;
  }
}
