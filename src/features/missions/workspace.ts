/** Where the work of a mission is done, and how it is combined. */

export type Integration =
  /** `commit` is absent if nothing was changed. */
  | { merged: true; commit?: string }
  /** The other side is merged as far as possible; these files have conflicts. */
  | { merged: false; conflicts: string[] };

/** A directory for one job. */
export interface Place {
  /** Absolute real path. */
  readonly path: string;
  /**
   * Makes the work part of the mission's result. Call it again after resolving conflicts.
   *
   * @param options.ready called with the commit before it becomes part of the result.
   * @throws {SvcError} if git refuses; the signal's reason when aborted.
   */
  integrate(
    options: { message: string; ready?(commit: string): void; signal: AbortSignal },
  ): Promise<Integration>;
  /** Removes it, with what was not integrated. Never rejects. */
  close(): Promise<void>;
}

export type Delivery =
  | { delivered: true; commit?: string }
  /** The workdir has newer commits, which must first be merged into the result. */
  | { delivered: false; behind: true }
  /** Uncommitted files in the workdir are in the way. */
  | { delivered: false; behind: false; reason: string };

export interface Workspace {
  /** Whether jobs have separate places and can run at once. */
  readonly parallel: boolean;
  /** Removes the leftovers of an earlier daemon except `keep`, and creates what is needed to start. */
  prepare(signal: AbortSignal, keep: readonly string[]): Promise<void>;
  /** Creates a place with the result so far. */
  open(name: string, signal: AbortSignal): Promise<Place>;
  /** Returns a place that was kept, if it is there. */
  reopen(name: string): Place | undefined;
  /** Whether a commit is part of the result. */
  contains(commit: string, signal: AbortSignal): Promise<boolean>;
  /** Brings the result to the workdir. */
  deliver(signal: AbortSignal): Promise<Delivery>;
  /** Merges the workdir's commits into a place. @returns the files with conflicts */
  update(place: Place, signal: AbortSignal): Promise<string[]>;
  /** Ends it. @returns the branch with undelivered work, if there is any. */
  close(): Promise<string | undefined>;
}

/** The workdir itself: one job after the other, without merging. */
export function plainWorkspace(workdir: string): Workspace {
  const done = () => Promise.resolve();
  const place: Place = {
    path: workdir,
    integrate: () => Promise.resolve({ merged: true as const }),
    close: done,
  };
  return {
    parallel: false,
    prepare: done,
    open: () => Promise.resolve(place),
    reopen: () => place,
    contains: () => Promise.resolve(false),
    deliver: () => Promise.resolve({ delivered: true as const }),
    update: () => Promise.resolve([]),
    close: () => Promise.resolve(undefined),
  };
}
