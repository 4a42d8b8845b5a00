/**
 * The port of a daemon that a new one is to take the place of, after a crash or a restart: a page of
 * the web app that is open finds the new one there. It stands in the lock file, which outlives a
 * daemon and belongs to one at a time.
 */
import type { Lock } from "../platform/lock.ts";

/** @returns undefined when there is none, or nothing sensible. */
export function lastPort(lock: Lock): number | undefined {
  const port = Number(lock.read());
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** Keeps a port for the next daemon; `undefined` forgets it. */
export function keepPort(lock: Lock, port: number | undefined): void {
  try {
    lock.write(port === undefined ? "" : `${port}\n`);
  } catch {
    // A full disk: then the next daemon takes any port.
  }
}
