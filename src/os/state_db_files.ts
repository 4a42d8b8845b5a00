/** Apart from what opens the database: a daemon checks these files before it loads SQLite. */

/** SQLite keeps its write-ahead log and its shared memory beside the database. */
const FILES = ["", "-wal", "-shm"];

/** The files that the database at `path` may consist of; all are for their owner alone. */
export function stateDbFiles(path: string): string[] {
  return FILES.map((suffix) => path + suffix);
}
