/**
 * The port of a daemon that a new one is to take the place of, after a crash or a restart: a page of
 * the web app that is open finds the new one there. It stands in the lock file, which outlives a
 * daemon and belongs to one at a time.
 */

/** @returns undefined when there is none, or nothing sensible. */
export function lastPort(lock_path: string): number | undefined {
  const port = Number(Deno.readTextFileSync(lock_path));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** Keeps a port for the next daemon; `undefined` forgets it. */
export function keepPort(lock_path: string, port: number | undefined): void {
  try {
    // In place: another file under this name would not be the locked one.
    Deno.writeTextFileSync(lock_path, port === undefined ? "" : `${port}\n`, { create: false });
  } catch {
    // A full disk: then the next daemon takes any port.
  }
}
