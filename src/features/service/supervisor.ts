/** A service manager that wants to know the daemon's state. */
export interface Supervisor {
  /** The daemon listens. */
  ready(): void;
  /** It is stopping, and its turns have this many seconds. */
  stopping(grace_s: number): void;
  /** It has stopped; the process ends next. */
  stopped(): void;
}
