/** The turns that a daemon before has left open: they go on, a few at a time. */
import type { Session } from "./session.ts";

/** How many are begun before one of them comes to rest. */
const AT_ONCE = 8;
/** How long one that works on and on keeps the next from going on. */
const PLACE_MS = 60_000;

export class Continuations {
  /** In the order in which they were found. */
  readonly #waiting = new Set<Session>();
  /** Those that were begun and work, with the timer that ends their place. */
  readonly #working = new Map<Session, number>();
  #started = false;

  /** Takes a session whose turn waits to go on. */
  add(session: Session): void {
    this.#waiting.add(session);
    this.#next();
  }

  /** Begins: nothing goes on before. */
  start(): void {
    this.#started = true;
    this.#next();
  }

  /** Has nothing more go on. */
  stop(): void {
    this.#started = false;
    this.#waiting.clear();
    for (const timer of this.#working.values()) clearTimeout(timer);
    this.#working.clear();
  }

  /** Notes that something happened in a session: one that rests or asks a person gives up its place. */
  committed(session: Session): void {
    if (this.#working.has(session) && session.activity !== "working") this.#release(session);
  }

  #release(session: Session): void {
    clearTimeout(this.#working.get(session));
    if (this.#working.delete(session)) this.#next();
  }

  #next(): void {
    for (const session of this.#waiting) {
      if (!this.#started || this.#working.size >= AT_ONCE) return;
      this.#waiting.delete(session);
      // A person may have had it go on already, or ended it.
      if (!session.goOn() || session.activity !== "working") continue;
      const timer = setTimeout(() => this.#release(session), PLACE_MS);
      Deno.unrefTimer(timer);
      this.#working.set(session, timer);
    }
  }
}
