/** Separate, because the daemon checks these files before it loads SQLite. */

/** The database, its write-ahead log and its shared memory. */
const FILES = ["", "-wal", "-shm"];

/** Returns the files that a database may consist of; only the owner may access them. */
export function stateDbFiles(path: string): string[] {
  return FILES.map((suffix) => path + suffix);
}
