/** Turns that the last daemon left open: they continue, a few at a time. */
import type { Session } from "./session.ts";

/** How many run at once. */
const AT_ONCE = 8;
/** How long a working turn keeps the next one waiting. */
const PLACE_MS = 60_000;

export class Continuations {
  /** In the order they were found. */
  readonly #waiting = new Set<Session>();
  /** Running ones, with the timer that frees their place. */
  readonly #working = new Map<Session, number>();
  #started = false;

  /** Adds a session whose turn waits to continue. */
  add(session: Session): void {
    this.#waiting.add(session);
    this.#next();
  }

  /** Starts: nothing continues before. */
  start(): void {
    this.#started = true;
    this.#next();
  }

  stop(): void {
    this.#started = false;
    this.#waiting.clear();
    for (const timer of this.#working.values()) clearTimeout(timer);
    this.#working.clear();
  }

  /** Call after each event of a session: one that rests or asks a person frees its place. */
  committed(session: Session): void {
    if (!this.#working.has(session)) return;
    if (session.activity !== "working" || session.parked !== undefined) this.#release(session);
  }

  #release(session: Session): void {
    clearTimeout(this.#working.get(session));
    if (this.#working.delete(session)) this.#next();
  }

  #next(): void {
    for (const session of this.#waiting) {
      if (!this.#started || this.#working.size >= AT_ONCE) return;
      this.#waiting.delete(session);
      // A person may have continued or ended it.
      if (!session.goOn() || session.activity !== "working") continue;
      const timer = setTimeout(() => this.#release(session), PLACE_MS);
      Deno.unrefTimer(timer);
      this.#working.set(session, timer);
    }
  }
}
