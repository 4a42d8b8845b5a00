import type { PortStore } from "../../net/port_store.ts";

/** A service manager that wants to know the daemon's state. */
export interface Supervisor {
  /** The daemon listens. */
  ready(): void;
  /** It is stopping, and its turns have this many seconds. */
  stopping(grace_s: number): void;
  /** It has stopped; the process ends next. */
  stopped(): void;
  /** Where it keeps the daemon's port over restarts, if it does. */
  readonly port?: PortStore;
}
