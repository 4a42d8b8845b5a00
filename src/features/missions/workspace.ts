/** Where the work of a mission is done, and how what was done comes together. */

/** Whether what was done in a place has become part of the result. */
export type Integration =
  /** `commit` is absent where nothing was changed. */
  | { merged: true; commit?: string }
  /** The other side has been merged in as far as it went; these files have conflicts. */
  | { merged: false; conflicts: string[] };

/** A directory for one unit of work. */
export interface Place {
  /** Absolute real path. */
  readonly path: string;
  /**
   * Makes what was done part of the mission's result. After conflicts it is called again, when they
   * have been resolved in the place.
   *
   * @param options.message of the commit.
   * @param options.ready told the commit before it becomes part of the result.
   * @throws {SvcError} when git refuses; the signal's reason when it was aborted.
   */
  integrate(
    options: { message: string; ready?(commit: string): void; signal: AbortSignal },
  ): Promise<Integration>;
  /** Removes it, with what was not integrated. Never rejects. */
  close(): Promise<void>;
}

/** What became of the result. */
export type Delivery =
  | { delivered: true; commit?: string }
  /** The workdir has commits that the result lacks; they are to be merged into it first. */
  | { delivered: false; behind: true }
  /** Files in the workdir that are not committed are in the way. */
  | { delivered: false; behind: false; reason: string };

export interface Workspace {
  /** Whether units of work have places of their own, and so can run at once. */
  readonly parallel: boolean;
  /** Removes what a daemon that is gone has left over, and makes what is needed to begin. */
  prepare(signal: AbortSignal): Promise<void>;
  /** Makes a place that has the result so far. */
  open(name: string, signal: AbortSignal): Promise<Place>;
  /** Whether a commit is part of the result. */
  contains(commit: string, signal: AbortSignal): Promise<boolean>;
  /** Brings the result to the workdir. */
  deliver(signal: AbortSignal): Promise<Delivery>;
  /** Merges the workdir's commits into a place, as {@linkcode Place.integrate} does the result's. */
  update(place: Place, signal: AbortSignal): Promise<string[]>;
  /** Ends it. @returns the branch that keeps what was done but not delivered, if there is one. */
  close(): Promise<string | undefined>;
}

/** The workdir itself: one unit of work after the other, nothing to bring together. */
export function plainWorkspace(workdir: string): Workspace {
  const done = () => Promise.resolve();
  return {
    parallel: false,
    prepare: done,
    open: () =>
      Promise.resolve({
        path: workdir,
        integrate: () => Promise.resolve({ merged: true as const }),
        close: done,
      }),
    contains: () => Promise.resolve(false),
    deliver: () => Promise.resolve({ delivered: true as const }),
    update: () => Promise.resolve([]),
    close: () => Promise.resolve(undefined),
  };
}
