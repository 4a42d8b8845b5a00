/** Wakes turns that wait for the end of a provider's limit. */
import { type Clock, SYSTEM_CLOCK } from "../base/clock.ts";
import type { Log } from "../os/log.ts";
import { messageOf } from "../protocol/errors.ts";
import { isWorkTitle } from "./ids.ts";
import { isOver } from "./parked.ts";
import type { Session } from "./session.ts";
import type { Published } from "./subscription.ts";

/** Timers stand still while the machine sleeps, so the time of day is looked at this often. */
const LOOK_MS = 15_000;
const WAKE_AGAIN_MS = 60_000;
/** Turns that end their wait together are spread over a part of it, up to this. */
const SPREAD_MAX_MS = 30_000;
const SPREAD = 0.02;

interface WakerParts {
  /** @returns why the session cannot work */
  findDirectory(session: Session): Promise<string | undefined>;
  goOn(session: Session): void;
  log: Log;
}

/** Returns what continues a parked turn; without its directory it stays parked, and is woken again. */
export function waker(
  { findDirectory, goOn, log }: WakerParts,
): (session: Session) => Promise<void> {
  const lost = new WeakSet<Session>();
  return async (session) => {
    const problem = await findDirectory(session).catch(messageOf);
    // Work for a task or mission would hang: its place does not come back.
    if (problem === undefined || isWorkTitle(session.state.title)) {
      lost.delete(session);
      return goOn(session);
    }
    if (lost.has(session)) return;
    lost.add(session);
    log.warn(`a parked turn cannot go on: ${problem}`, { session_id: session.id });
  };
}

/** Wakes the parked turns of all sessions. */
export class Parking {
  readonly #wake: (session: Session) => unknown;
  /** When each wait ends, in milliseconds since 1970. */
  readonly #ends = new Map<Session, number>();
  readonly #clock: Clock;
  #cancel = () => {};

  /** @param wake called at the end of a wait, from a timer */
  constructor(wake: (session: Session) => unknown, clock = SYSTEM_CLOCK) {
    this.#wake = wake;
    this.#clock = clock;
  }

  /** Call after each commit: a turn may have been parked, or its model changed. */
  committed(session: Session, events: readonly Published[]): void {
    for (const { type, data } of events) {
      if (type === "turn.parked") this.add(session);
      else if (type === "turn.continued" || type === "turn.completed") this.#drop(session);
      else if (type === "session.configured" && data.model !== undefined) this.#changed(session);
    }
  }

  /** Adds a session whose turn is parked. */
  add(session: Session): void {
    const { parked } = session.state.turn ?? {};
    if (parked === undefined) return;
    const until = Date.parse(parked.until);
    const left_ms = Math.max(0, until - this.#clock.now());
    const spread_ms = Math.min(SPREAD_MAX_MS, left_ms * SPREAD) * Math.random();
    this.#ends.set(session, until + spread_ms);
    this.#schedule();
  }

  stop(): void {
    this.#ends.clear();
    this.#cancel();
  }

  #drop(session: Session): void {
    if (this.#ends.delete(session) && this.#ends.size === 0) this.#cancel();
  }

  /** Another model may not be limited. */
  #changed(session: Session): void {
    if (this.#ends.has(session)) queueMicrotask(() => session.goOn({ early: true }));
  }

  #schedule(): void {
    this.#cancel();
    if (this.#ends.size === 0) return;
    const next_ms = Math.min(...this.#ends.values()) - this.#clock.now();
    this.#cancel = this.#clock.after(
      Math.min(LOOK_MS, Math.max(0, next_ms)),
      () => this.#look(),
    );
  }

  #look(): void {
    const now = this.#clock.now();
    for (const [session, at] of [...this.#ends]) {
      if (!isOver(at, now)) continue;
      // It is dropped once the turn goes on. The clock may have been set back.
      this.#ends.set(session, now + WAKE_AGAIN_MS);
      this.#wake(session);
    }
    this.#schedule();
  }
}
