/** What started the daemon as a unit, where it wants to hear how the daemon stands. */
export interface Supervisor {
  /** The daemon listens. */
  ready(): void;
  /** It stops, and its turns have so many seconds for it. */
  stopping(grace_s: number): void;
  /** It has stopped; the process ends next. */
  stopped(): void;
}
