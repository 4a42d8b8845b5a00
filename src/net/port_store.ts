/** A service manager that keeps a daemon's port over restarts: it holds sockets that are bound to it. */
export interface PortStore {
  /** Descriptors of the sockets that it has given back to this process. */
  kept: readonly number[];
  /** Gives it copies of such sockets, in the place of all others. @returns whether they were sent */
  store(descriptors: readonly number[]): boolean;
}
