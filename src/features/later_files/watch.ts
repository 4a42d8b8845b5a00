/**
 * Compares files that run later before a turn's first write with those at its end, and after a
 * background command has ended.
 */
import { relative } from "@std/path";
import { delay } from "@std/async";
import type { AddedRoot } from "../../jail/added_directories.ts";
import { Listings } from "../../jail/later_listings.ts";
import { type LaterFile, type LaterFiles, laterFiles } from "../../jail/later_scan.ts";
import { foundLater, madeLater } from "../../jail/later_locks.ts";
import { lacksForNow } from "../../os/lacks.ts";
import { isWithin } from "../../os/paths.ts";
import type { Log } from "../../os/log.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { EventData } from "../../protocol/event_data.ts";
import { LATER_FILES, MAIN_LANE } from "../../protocol/events.ts";
import type { Marks } from "../../session/marks.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";

export interface WatchParts {
  log: Log;
  /** The states before unfinished turns, by session. */
  marks: Marks;
  /** The person's home, a real path. */
  home: string | undefined;
  /** The session may have been loaded again. @throws {SvcError} not_found */
  session(id: string): Promise<Session>;
  /** Paths that the session's tools must not see. */
  hidden(session: Session): readonly string[];
  /** The added directories that its tools may use. */
  added(session: Session): readonly AddedRoot[];
}

/**
 * By path relative to the session's directory, which may be renamed; absolute in added directories.
 */
type Found = ReadonlyMap<string, LaterFile>;
type States = ReadonlyMap<string, string>;

/** Per directory. */
const ENTRIES_MAX = 200_000;
/** Working directories whose listings are remembered. */
const LISTINGS_MAX = 8;
/** How long a search blocks the event loop. */
const SLICE_MS = 4;
/** The repository whose top is the session's directory. */
const OWN_REPOSITORY = ".git";
/** In the text of a note; its event has all files. */
const NAMED = 40;
/** Of one kind, before other kinds follow. */
const NAMED_EACH = 5;

interface Searched {
  found: Found;
  /** The added directories that were searched. */
  roots: readonly string[];
}

export class LaterFilesWatch {
  readonly #parts: WatchParts;
  readonly #before = new Map<string, States>();
  /** Sessions with a writing turn. */
  readonly #turns = new Set<string>();
  /** The number of writers besides the turn's calls, by session. */
  readonly #beside = new Map<string, number>();
  /** Runs the work of each session in sequence. */
  readonly #work = new Map<string, Promise<void>>();
  /** By working directory, the last used last. */
  readonly #listings = new Map<string, Listings>();
  /** Sessions that know that their directory is too large. */
  readonly #told = new Set<string>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /**
   * Stores the state before a turn's first write.
   * @throws {Error} when the turn's writes could not be reported
   */
  async beforeWrite(session: Session, { signal }: Turn): Promise<void> {
    let lack: unknown;
    await this.#alone(session, async () => {
      if (this.#turns.has(session.id) || signal.aborted) return;
      try {
        await this.#begin(session, true);
      } catch (error) {
        if (lacksForNow(error)) lack = error;
        throw error;
      }
      this.#turns.add(session.id);
    });
    if (lack !== undefined) throw lack;
  }

  /** Reports what a turn wrote. Never throws. */
  async afterTurn(session: Session): Promise<void> {
    await this.#alone(session, async () => {
      this.#turns.delete(session.id);
      await this.#compare(session);
    });
  }

  /**
   * Also reports other writes, at each turn's end and when the returned function is called. Never
   * throws.
   */
  async watch(session: Session): Promise<() => Promise<void>> {
    const { id } = session;
    this.#beside.set(id, (this.#beside.get(id) ?? 0) + 1);
    await this.#alone(session, () => this.#begin(session, false));
    return async () => {
      const left = this.#beside.get(id)! - 1;
      if (left > 0) this.#beside.set(id, left);
      else this.#beside.delete(id);
      const now = await this.#parts.session(id).catch(() => undefined);
      if (now !== undefined) await this.look(now);
    };
  }

  /** @param turn whether a turn begins to write */
  async #begin(session: Session, turn: boolean): Promise<void> {
    const states = statesOf(await this.#search(session, turn));
    // Changes since an earlier look are not reported yet.
    if (this.#before.has(session.id)) return;
    this.#before.set(session.id, states);
    await this.#parts.marks.put(session.id, JSON.stringify([...states]), false);
  }

  /** Reports changes since the first write. Never throws. */
  async look(session: Session): Promise<void> {
    if (!this.#before.has(session.id)) return;
    await this.#alone(session, () => this.#compare(session));
  }

  /** Reports a turn that the end of an earlier daemon cut off. Never throws. */
  async resume(session: Session, text: string): Promise<void> {
    await this.#alone(session, async () => {
      const states: [string, string][] = JSON.parse(text);
      this.#before.set(session.id, new Map(states));
      await this.#compare(session);
    });
  }

  forget(session_id: string): void {
    this.#before.delete(session_id);
    this.#turns.delete(session_id);
    this.#told.delete(session_id);
  }

  async #compare(session: Session): Promise<void> {
    const before = this.#before.get(session.id);
    if (before === undefined) return;
    const { found, roots, cut } = await this.#search(session, false);
    const isNewRoot = (place: string) =>
      roots.some((root) => isWithin(place, root) && !before.has(markOf(root)));
    const changed = [...found].filter(([place, { state, only }]) =>
      before.get(place) !== state && !isNewRoot(place) && !(only === "new" && before.has(place)) &&
      // A new repository in the directory itself is obvious.
      !(place === OWN_REPOSITORY && !before.has(place))
    );
    const { workdir, background } = session.state;
    const made = changed.flatMap(([place, { path }]) => before.has(place) ? [] : [path]);
    for (const root of [workdir, ...roots]) {
      madeLater(root, made.filter((path) => isWithin(path, root)));
    }
    // Running work may write more.
    const goes_on = background.length > 0 || this.#turns.has(session.id) ||
      this.#beside.has(session.id);
    if (goes_on) this.#before.set(session.id, statesOf({ found, roots }));
    else this.#before.delete(session.id);
    // The new files may be what hides others.
    const told = cut && (changed.length > 0 || !this.#told.has(session.id));
    if (told) this.#told.add(session.id);
    const files = inOrder(changed, before);
    const text = [
      ...files.length === 0 ? [] : [changedText(files)],
      ...told ? ["The directory is too large to look at all files that run later."] : [],
    ].join(" ");
    // Nobody watches untrusted work.
    if (text !== "" && session.state.trust === "trusted") {
      await session.emit("lane.note", {
        lane_id: MAIN_LANE,
        text,
        reason_code: LATER_FILES,
        ...(files.length === 0 ? {} : { files: byRunner(files) }),
      });
    }
    if (!goes_on) this.#parts.marks.remove(session.id);
  }

  /** Searches the session's directory and the added ones. */
  async #search(session: Session, turn: boolean): Promise<Searched & { cut: boolean }> {
    const { workdir } = session.state;
    const added = this.#parts.added(session);
    const found = new Map<string, LaterFile>();
    let cut = false;
    for (
      const { path: root, hidden } of [
        { path: workdir, hidden: this.#parts.hidden(session) },
        ...added,
      ]
    ) {
      const some = await this.#searchIn(root, hidden, turn);
      for (const file of some.files) {
        found.set(root === workdir ? relative(workdir, file.path) : file.path, file);
      }
      cut ||= some.cut;
    }
    return { found, roots: added.map(({ path }) => path), cut };
  }

  async #searchIn(
    workdir: string,
    hides: readonly string[],
    turn: boolean,
  ): Promise<LaterFiles> {
    const { home } = this.#parts;
    const hidden = new Set(hides);
    const listings = this.#listingsOf(workdir);
    const limits = { max_entries: ENTRIES_MAX, states: true };
    const steps = laterFiles(workdir, { home, hidden, listings, ...limits });
    let began = performance.now();
    let step = steps.next();
    while (!step.done) {
      if (performance.now() - began > SLICE_MS) {
        await delay(0);
        began = performance.now();
      }
      step = steps.next();
    }
    foundLater(workdir, step.value, turn);
    return step.value;
  }

  #listingsOf(workdir: string): Listings {
    const listings = this.#listings.get(workdir) ?? new Listings(workdir);
    this.#listings.delete(workdir);
    this.#listings.set(workdir, listings);
    if (this.#listings.size > LISTINGS_MAX) {
      this.#listings.delete(this.#listings.keys().next().value!);
    }
    return listings;
  }

  async #alone(session: Session, work: () => Promise<void>): Promise<void> {
    const before = this.#work.get(session.id) ?? Promise.resolve();
    const done = before.then(work).catch((error) => {
      this.#parts.log.warn("cannot tell which files that run later have changed", {
        session_id: session.id,
        error: messageOf(error),
      });
    });
    this.#work.set(session.id, done);
    await done;
    if (this.#work.get(session.id) === done) this.#work.delete(session.id);
  }
}

function statesOf({ found, roots }: Searched): States {
  const files = [...found].map(([place, { state }]) => [place, state] as const);
  return new Map([...files, ...roots.map((root) => [markOf(root), ""] as const)]);
}

/** Stands among the states for an added directory that was searched; no file has such a path. */
function markOf(root: string): string {
  return `${root}/`;
}

interface Changed {
  path: string;
  change: "new" | "changed";
  runner: string;
}

/** Files that run by themselves come first, and new before changed ones. */
function inOrder(changed: readonly [string, LaterFile][], before: States): Changed[] {
  const rank = ([place, { soon }]: [string, LaterFile]) =>
    (soon ? 0 : 2) + (before.has(place) ? 1 : 0);
  return [...changed].sort((a, b) => rank(a) - rank(b)).map(([place, { kind, runner }]) => ({
    path: kind === "directory" ? `${place || "."}/` : place,
    change: before.has(place) ? "changed" : "new",
    runner,
  }));
}

function byRunner(files: readonly Changed[]): NonNullable<EventData["lane.note"]["files"]> {
  const paths = (of_kind: readonly Changed[], change: Changed["change"]) =>
    of_kind.filter((file) => file.change === change).map(({ path }) => path);
  return [...Map.groupBy(files, ({ runner }) => runner)].map(([runner, of_kind]) => ({
    runner,
    new: paths(of_kind, "new"),
    changed: paths(of_kind, "changed"),
  }));
}

/** Names files of every kind, and counts the rest by kind. */
function changedText(files: readonly Changed[]): string {
  const kinds = [...Map.groupBy(files, ({ runner }) => runner).values()];
  const first = kinds.flatMap((of_kind) => of_kind.slice(0, NAMED_EACH));
  const named = new Set([...new Set([...first, ...files])].slice(0, NAMED));
  const names = files.filter((file) => named.has(file))
    .map(({ path, change, runner }) => `${path} (${change}; ${runner})`);
  const rest = kinds.flatMap((of_kind) => {
    const more = of_kind.filter((file) => !named.has(file)).length;
    return more === 0 ? [] : [`${more} more (${of_kind[0].runner})`];
  });
  return `Files that run later were written: ${[...names, ...rest].join(", ")}. ` +
    (rest.length === 0 ? "" : "The event of this note has the names of all. ") +
    "Look at them before you use them.";
}
