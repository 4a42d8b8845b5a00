/** Paths of sessions, and which of them to hide from tools. */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import type { HubParts } from "./hub_parts.ts";
import type { IndexEntry } from "./index_file.ts";
import type { Session } from "./session.ts";

/** Paths of a session. An ended one has no directory, one in the making no journal. */
export interface Place {
  /** The `.svc` with its journal. */
  own: string;
  own_shown: boolean;
  /** Its workdir. */
  theirs: string;
  shown: boolean;
}

type PlacesParts = Pick<HubParts, "home" | "isShown">;

export class Places {
  readonly #parts: PlacesParts;
  /** Cached: each command asks for all sessions. */
  readonly #known = new WeakMap<Session | IndexEntry, Place>();

  constructor(parts: PlacesParts) {
    this.#parts = parts;
  }

  of(
    session: Session | IndexEntry,
    journal_path: string,
    theirs: string,
    ended: boolean,
  ): Partial<Place> {
    let place = this.#known.get(session);
    if (place === undefined) {
      const own = ownDir(journal_path);
      place = { own, theirs, own_shown: this.#isShown(own), shown: this.#isShown(theirs) };
      if (this.#parts.isShown?.(own) !== undefined) this.#known.set(session, place);
    }
    // An ended session's directory is free again, its journal is not.
    return ended ? { ...place, theirs: undefined } : place;
  }

  making(theirs: string): Partial<Place> {
    return { theirs, shown: this.#isShown(theirs) };
  }

  unreadable(journal_path: string): Partial<Place> {
    const own = ownDir(journal_path);
    return { own, own_shown: this.#isShown(own) };
  }

  /** Forgets a session that moved. */
  forget(session: Session): void {
    this.#known.delete(session);
  }

  /** Paths to hide from tools that work in a directory. */
  hiddenFrom(workdir: string, places: Iterable<Partial<Place>>): string[] {
    const hidden = new Set([this.#parts.home, join(workdir, ".svc")]);
    const below = workdir.endsWith("/") ? workdir : `${workdir}/`;
    const isNear = (path: string, shown = false) => shown || path.startsWith(below);
    for (const { own, own_shown, theirs, shown } of places) {
      if (own !== undefined && isNear(own, own_shown)) hidden.add(own);
      if (theirs !== undefined && isNear(theirs, shown) && theirs !== workdir) hidden.add(theirs);
    }
    return [...hidden];
  }

  /** Workdirs in a directory, and paths to hide from all their tools. */
  within(
    directory: string,
    places: Iterable<Partial<Place>>,
  ): { workdirs: string[]; hidden: string[] } {
    const workdirs = new Set<string>();
    const hidden = new Set([this.#parts.home]);
    for (const { own, theirs } of places) {
      if (own !== undefined && isWithin(own, directory)) hidden.add(own);
      if (theirs !== undefined && isWithin(theirs, directory)) workdirs.add(theirs);
    }
    return { workdirs: [...workdirs], hidden: [...hidden] };
  }

  #isShown(path: string): boolean {
    return this.#parts.isShown?.(path) ?? true;
  }
}

function ownDir(journal_path: string): string {
  return join(journal_path, "..", "..", "..");
}
