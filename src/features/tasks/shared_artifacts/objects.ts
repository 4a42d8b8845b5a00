/** What a shared store is made of: a directory or a bucket that keeps one object per artifact. */

/** An artifact's place: one task's, and within it by content. */
export interface ObjectKey {
  task_id: string;
  sha256: string;
}

/** All methods throw {@linkcode StoreFault} for what the store's operator can do something about. */
export interface Objects {
  /** Names the store in messages; without credentials. */
  readonly url: string;
  /** Writes an object, whole or not at all; resolves once it is durable. Keeps one that exists. */
  write(key: ObjectKey, bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<void>;
  /** Opens an object, as it is; undefined if it is missing. */
  read(key: ObjectKey, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | undefined>;
  /** Lists the tasks that have objects. */
  tasks(signal: AbortSignal): Promise<string[]>;
  /** Removes all objects of a task. */
  remove(task_id: string, signal: AbortSignal): Promise<void>;
  /** Removes what killed writes left in a task's place. */
  tidy?(task_id: string): Promise<void>;
}

/** Why a store failed and what to do about it. */
export class StoreFault extends Error {
  override name = "StoreFault";
  /** Whether the same call may succeed a moment later. */
  readonly passing: boolean;

  constructor(why: string, fix: string, { passing = false, cause }: FaultOptions = {}) {
    super(`${why}; ${fix}`, { cause });
    this.passing = passing;
  }
}

interface FaultOptions {
  passing?: boolean;
  cause?: unknown;
}
