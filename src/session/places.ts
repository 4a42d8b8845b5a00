/** Where sessions lie, and what their tools must not see of each other. */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import type { IndexEntry } from "./index_file.ts";
import type { Session } from "./session.ts";

/** Where a session lies. One that has ended has no directory, one that is being made no journal. */
export interface Place {
  /** The `.svc` that its journal is in. */
  own: string;
  own_shown: boolean;
  /** Its directory. */
  theirs: string;
  shown: boolean;
}

export interface PlacesParts {
  home: string;
  /** Whether tools see a path wherever they work; undefined as long as that is not known. */
  isShown?(path: string): boolean | undefined;
}

export class Places {
  readonly #parts: PlacesParts;
  /** They are asked for all sessions before each command. */
  readonly #known = new WeakMap<Session | IndexEntry, Place>();

  constructor(parts: PlacesParts) {
    this.#parts = parts;
  }

  /** The place of a session. */
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

  /** The place of a session that is being made. */
  making(theirs: string): Partial<Place> {
    return { theirs, shown: this.#isShown(theirs) };
  }

  /** The place of a session that cannot be read. */
  unreadable(journal_path: string): Partial<Place> {
    const own = ownDir(journal_path);
    return { own, own_shown: this.#isShown(own) };
  }

  /** The session works elsewhere now. */
  forget(session: Session): void {
    this.#known.delete(session);
  }

  /** What tools that work in a directory must not see of these places. */
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

  /** Where these sessions work in a directory, and what none of their tools sees there. */
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

/** The `.svc` that a session's journal is in. */
function ownDir(journal_path: string): string {
  return join(journal_path, "..", "..", "..");
}
