/**
 * Compares what runs later in a session's directory before the first write of a turn with what is
 * there at its end, and once a command in the background has ended.
 */
import { relative } from "@std/path";
import { delay } from "@std/async";
import { type LaterFile, laterFiles } from "../../jail/later_scan.ts";
import { foundLater, madeLater } from "../../jail/later_locks.ts";
import { lacksForNow } from "../../os/lacks.ts";
import type { Log } from "../../os/log.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { EventData } from "../../protocol/event_data.ts";
import { LATER_FILES, MAIN_LANE } from "../../protocol/events.ts";
import type { Marks } from "../../session/marks.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";

export interface WatchParts {
  log: Log;
  /** What was there before turns that have not ended, by the ids of their sessions. */
  marks: Marks;
  /** The person's home directory, a real path. */
  home: string | undefined;
  /** Finds a session, which may have been read again meanwhile. @throws {SvcError} not_found */
  session(id: string): Promise<Session>;
  /** Paths of a session's directory that no tool may see. */
  hidden(session: Session): readonly string[];
}

/** What runs later, by its path in the session's directory, which may have been renamed. */
type Found = ReadonlyMap<string, LaterFile>;
type States = ReadonlyMap<string, string>;

/** The most entries of a directory that are looked at. */
const ENTRIES_MAX = 200_000;
/** How long a search may keep everything else waiting, in milliseconds. */
const SLICE_MS = 4;
/** The repository whose top the directory is. */
const OWN_REPOSITORY = ".git";
/** Files that the text of a note names; the event has all of them. */
const NAMED = 40;
/** How many files of one kind it names before the others have their turn. */
const NAMED_EACH = 5;

export class LaterFilesWatch {
  readonly #parts: WatchParts;
  readonly #before = new Map<string, States>();
  /** Sessions with a turn that writes. */
  readonly #turns = new Set<string>();
  /** How much writes beside the calls of turns, by the ids of the sessions. */
  readonly #beside = new Map<string, number>();
  /** What goes on for each session, one after another. */
  readonly #work = new Map<string, Promise<void>>();
  /** Sessions that were told that their directory is too large. */
  readonly #told = new Set<string>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /**
   * Remembers what is there before the first write of a turn.
   *
   * @throws {Error} when it cannot be told for now: what the turn writes would not be named
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

  /** Names what a turn wrote. Never throws. */
  async afterTurn(session: Session): Promise<void> {
    await this.#alone(session, async () => {
      this.#turns.delete(session.id);
      await this.#compare(session);
    });
  }

  /**
   * Has what is written beside the calls of turns named too, at the end of each turn and when the
   * function that it returns is called. Neither throws.
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
    const states = statesOf((await this.#search(session, turn)).found);
    // What was written since an earlier look was not named yet.
    if (this.#before.has(session.id)) return;
    this.#before.set(session.id, states);
    await this.#parts.marks.put(session.id, JSON.stringify([...states]), false);
  }

  /** Names what has changed since the first write. Never throws. */
  async look(session: Session): Promise<void> {
    if (!this.#before.has(session.id)) return;
    await this.#alone(session, () => this.#compare(session));
  }

  /** Names what a turn wrote that was cut off by the end of an earlier daemon. Never throws. */
  async resume(session: Session, text: string): Promise<void> {
    await this.#alone(session, async () => {
      const states: [string, string][] = JSON.parse(text);
      this.#before.set(session.id, new Map(states));
      await this.#compare(session);
    });
  }

  /** Forgets a session that has ended. */
  forget(session_id: string): void {
    this.#before.delete(session_id);
    this.#turns.delete(session_id);
    this.#told.delete(session_id);
  }

  async #compare(session: Session): Promise<void> {
    const before = this.#before.get(session.id);
    if (before === undefined) return;
    const { found, cut } = await this.#search(session, false);
    const changed = [...found].filter(([place, { state, only }]) =>
      before.get(place) !== state && !(only === "new" && before.has(place)) &&
      // A repository that is made in the directory itself is what the person sees first.
      !(place === OWN_REPOSITORY && !before.has(place))
    );
    const { workdir, background } = session.state;
    madeLater(workdir, changed.flatMap(([place, { path }]) => before.has(place) ? [] : [path]));
    // What is still running may write more.
    const goes_on = background.length > 0 || this.#turns.has(session.id) ||
      this.#beside.has(session.id);
    if (goes_on) this.#before.set(session.id, statesOf(found));
    else this.#before.delete(session.id);
    // What is new may be what hides the rest.
    const told = cut && (changed.length > 0 || !this.#told.has(session.id));
    if (told) this.#told.add(session.id);
    const files = inOrder(changed, before);
    const text = [
      ...files.length === 0 ? [] : [changedText(files)],
      ...told ? ["The directory is too large to look at all files that run later."] : [],
    ].join(" ");
    // Nobody follows the turns of work for others.
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

  async #search(session: Session, turn: boolean): Promise<{ found: Found; cut: boolean }> {
    const { workdir } = session.state;
    const { home } = this.#parts;
    const hidden = new Set(this.#parts.hidden(session));
    const steps = laterFiles(workdir, { home, hidden, max_entries: ENTRIES_MAX, states: true });
    let began = performance.now();
    let step = steps.next();
    while (!step.done) {
      if (performance.now() - began > SLICE_MS) {
        await delay(0);
        began = performance.now();
      }
      step = steps.next();
    }
    const { files, cut } = step.value;
    foundLater(workdir, step.value, turn);
    return { found: new Map(files.map((file) => [relative(workdir, file.path), file])), cut };
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

function statesOf(found: Found): States {
  return new Map([...found].map(([place, { state }]) => [place, state]));
}

/** A file that is named to the person. */
interface Changed {
  path: string;
  change: "new" | "changed";
  runner: string;
}

/** What runs by itself comes before the rest, and what is new before what has changed. */
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

/** Names files of every kind, however many there are of one, and counts the rest by kind. */
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
