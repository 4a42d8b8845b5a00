/** Temporary sessions: each is deleted once nobody follows it. Loaded with the first one. */
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import type { Session } from "./session.ts";

/** How long a client may be away, as one that connects again. */
export const AWAY_MS = 10_000;
/** How long it may be away from a session that an earlier daemon left. */
export const RETURN_MS = 60_000;
const LOOK_MS = 1_000;

interface TemporaryParts {
  log: Pick<Log, "warn">;
  delete(id: string): Promise<void>;
  /** Whether its deletion has begun. */
  deleted(id: string): boolean;
  /** In milliseconds, by a monotonic clock. */
  now?(): number;
}

type Watched = Pick<Session, "id" | "followed" | "was_followed" | "activity" | "parked">;

interface Waiting {
  session: Watched;
  /** Whether an earlier daemon has made it. */
  restored: boolean;
  /** When it is deleted if nothing changes. */
  due: number;
}

export class TemporarySessions {
  readonly #parts: TemporaryParts;
  readonly #waiting = new Map<string, Waiting>();
  readonly #now: () => number;
  #timer: number | undefined;

  constructor(parts: TemporaryParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /** Adds a session. @param restored whether an earlier daemon has made it */
  add(session: Watched, restored: boolean): void {
    const due = this.#now() + (restored ? RETURN_MS : AWAY_MS);
    this.#waiting.set(session.id, { session, restored, due });
    this.#schedule();
  }

  /** Call when the daemon stops: the next one deletes what is left. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.look();
      this.#schedule();
    }, LOOK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /** Begins to delete those that are due. */
  look(): void {
    for (const waiting of this.#waiting.values()) {
      const { session, restored } = waiting;
      // The turn of one that a client has followed does not outlive that.
      const was_followed = restored || session.was_followed;
      if (this.#parts.deleted(session.id)) this.#waiting.delete(session.id);
      else if (session.followed || !was_followed && isAtWork(session)) {
        waiting.due = this.#now() + AWAY_MS;
      } else if (waiting.due <= this.#now()) {
        this.#waiting.delete(session.id);
        void this.#delete(session.id);
      }
    }
  }

  async #delete(id: string): Promise<void> {
    try {
      await this.#parts.delete(id);
    } catch (error) {
      if (error instanceof SvcError && error.code === "not_found") return;
      this.#parts.log.warn("cannot delete a temporary session; the next daemon tries it again", {
        session_id: id,
        error: messageOf(error),
      });
    }
  }
}

/** A parked turn and an open question may wait for days. */
function isAtWork({ activity, parked }: Watched): boolean {
  return activity === "working" && parked === undefined;
}
