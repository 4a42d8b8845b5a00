/** Finds or moves sessions whose directories were moved. */
import type * as z from "zod";
import { dirname } from "@std/path";
import { directoryAt, isSameButForDevice } from "../os/directory_identity.ts";
import { exists, realPathOrSame, syncDir } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { EventData, Trust } from "../protocol/events.ts";
import type { movedSchema } from "../protocol/schemas/session.ts";
import type { HubParts } from "./hub_parts.ts";
import { isWorkTitle } from "./ids.ts";
import { Journal } from "./journal.ts";
import { linkJournal } from "./journal_links.ts";
import { readAnchor, verifyLedger } from "./ledger.ts";
import {
  findLost,
  type Found,
  isFile,
  journalAt,
  journalIn,
  type Lost,
  stateOfSearch,
} from "./lost_directory.ts";
import type { Session } from "./session.ts";
import { checkWorkdir, makeOwnDir } from "./workdir.ts";

/** What the index knows of a session. */
export interface Placed extends Lost {
  title: string;
  trust: Trust;
  ended: boolean;
}

interface RelocationParts extends Pick<HubParts, "home" | "log" | "runsAbove"> {
  placed(): Iterable<Placed>;
  anchorPath(id: string): string;
  /** The link to a session's journal. */
  linkPath(id: string): string;
  get(id: string): Promise<Session>;
  /** Opens a session at a new place. */
  openAt(id: string, found: Found): Promise<Session>;
}

export type Moved = z.output<ReturnType<typeof movedSchema>>;

export class Relocation {
  readonly #parts: RelocationParts;
  readonly #under_way = new Map<string, Promise<void>>();
  /** State of the search when a session's directory was not found. */
  readonly #searched = new Map<string, string>();
  /** The directory of the last `lookIn`. */
  #asked: string | undefined;

  constructor(parts: RelocationParts) {
    this.#parts = parts;
  }

  // ── found by identity ────────────────────────────────────────────────────────────────────────

  /** Returns where a session's directory may be now, likeliest first. */
  async find(lost: Lost): Promise<Found[]> {
    const linked = this.#linked(lost);
    if (linked !== undefined && isFile(linked.journal_path)) return [linked];
    const near = this.#near();
    const last = { ...lost, ...linked };
    const state = stateOfSearch(last, near);
    if (this.#searched.get(lost.id) === state) return [];
    const found = await findLost(last, near, this.#parts.home);
    if (found?.length === 0) this.#searched.set(lost.id, state);
    else this.#searched.delete(lost.id);
    return found ?? [];
  }

  #near(): string[] {
    const open = [...this.#parts.placed()].filter(({ ended }) => !ended);
    return [...new Set([this.#asked, ...open.map(({ workdir }) => workdir)])]
      .filter((path) => path !== undefined);
  }

  /** The target of a move that a crash kept from the index. */
  #linked({ id, workdir, journal_path }: Lost): Found | undefined {
    let linked: string;
    try {
      linked = Deno.readLinkSync(this.#parts.linkPath(id));
    } catch {
      return undefined;
    }
    if (linked === journal_path || journalAt(workdir, id) !== journal_path) return undefined;
    const into = dirname(dirname(dirname(dirname(linked))));
    if (journalAt(into, id) !== linked) return undefined;
    return { workdir: into, journal_path: linked, certain: true, by: "svc" };
  }

  /** Follows a session's moved directory. Never rejects. @returns why it cannot work */
  async relocate(session: Session): Promise<string | undefined> {
    let moving = this.#under_way.get(session.id);
    if (moving === undefined) {
      moving = this.#relocate(session)
        .catch((error) =>
          this.#parts.log.warn("cannot move a session to its directory", {
            session_id: session.id,
            error: messageOf(error),
          })
        )
        .finally(() => this.#under_way.delete(session.id));
      this.#under_way.set(session.id, moving);
    }
    await moving;
    if (session.in_place) return undefined;
    return `the session's directory is no longer at ${session.state.workdir}, and was not found`;
  }

  async #relocate(session: Session): Promise<void> {
    const { id, state: { workdir, directory, title }, journal } = session;
    if (isWorkTitle(title)) return;
    const lost = { id, workdir, journal_path: journal.path, directory };
    const here = directoryAt(workdir);
    const journal_there = isFile(journal.path);
    if (here && directory && journal_there && isSameButForDevice(here, directory)) {
      await session.emit("session.located", { directory: here });
      return;
    }
    const found = directory === undefined ? [] : await this.find(lost);
    for (const { workdir: into, journal_path, by } of found) {
      if (!isAsLong(journal_path, journal)) continue;
      // An ended session gets no more records.
      if (session.final) return journal.moveTo(journal_path);
      return await this.#goOn(session, movedTo(into, workdir, by), journal_path);
    }
    // The directory was replaced with all its content, as from a backup.
    if (here && journal_there && isAsLong(journal.path, journal)) {
      const replaced = { ...movedTo(workdir, workdir, "svc"), replaced: true } as const;
      await this.#goOn(session, replaced, journal.path);
    }
  }

  /** Links the journal first: after a crash, the link leads to it. */
  async #goOn(
    session: Session,
    moved: EventData["session.moved"],
    journal_path: string,
  ): Promise<void> {
    linkJournal(journal_path, this.#parts.linkPath(session.id));
    await session.moveTo(journal_path, moved);
  }

  /** Continues sessions whose moved directory this is, and moves others on that had this path. */
  async lookIn(path: string): Promise<void> {
    const directory = await realPathOrSame(path);
    const here = directoryAt(directory);
    if (here === undefined) return;
    this.#asked = directory;
    const lost = [...this.#parts.placed()].filter((it) => {
      if (it.ended) return false;
      // Only the journal identifies its directory.
      if (it.directory === undefined) {
        return it.workdir !== directory && isFile(journalAt(directory, it.id));
      }
      const is_here = it.directory.ino === here.ino && it.directory.dev === here.dev;
      return is_here !== (it.workdir === directory);
    });
    await Promise.allSettled(lost.map(({ id }) => this.#parts.get(id)));
  }

  // ── moved by a person ────────────────────────────────────────────────────────────────────────

  /**
   * Moves a session to another directory, or follows its own to another path. Its files are there
   * already, or are moved.
   *
   * @throws {SvcError} validation for an unusable directory; conflict while the session works, and
   * when its journal is not found; permission_denied for a session that works for others; as
   * `Hub.get`
   */
  async move(id: string, directory: string, by: string): Promise<Moved> {
    const workdir = await checkWorkdir(directory, this.#parts.home);
    this.#requireFree(workdir, id);
    const before = [...this.#parts.placed()].find((it) => it.id === id);
    let session: Session;
    try {
      session = await this.#parts.get(id);
    } catch (error) {
      if (before === undefined || before.ended) throw error;
      requireOwn(before);
      const { workdir: from } = before;
      const journal_path = requireJournal(workdir, before);
      await this.#parts.openAt(id, { workdir, journal_path, certain: true, by });
      return { moved: true, workdir, from };
    }
    const from = before?.workdir ?? session.state.workdir;
    requireMovable(session);
    if (session.state.workdir === workdir && session.in_place) {
      return { moved: from !== workdir, workdir, from };
    }
    const moved = movedTo(workdir, session.state.workdir, by);
    await session.atRest(async () => {
      await this.#goOn(session, moved, await this.#bring(session, workdir));
    });
    return { moved: true, workdir, from };
  }

  /** Asserts that no task or mission is in a directory. */
  #requireFree(workdir: string, id: string): void {
    const refuse = (why: string) =>
      new SvcError("validation", `a session cannot work in ${workdir}: ${why}`, {
        hint: "choose the directory of a project",
      });
    for (const other of this.#parts.placed()) {
      if (other.id === id || other.ended || !isWorkTitle(other.title)) continue;
      if (isWithin(workdir, other.workdir)) throw refuse(`it is in use by ${other.title}`);
    }
  }

  /**
   * Moves a session's files into a directory, unless they moved with it. A start after a crash
   * finishes the move. @returns the journal's path
   */
  async #bring(session: Session, workdir: string): Promise<string> {
    const { id, journal, state } = session;
    const lost = { id, workdir: state.workdir, journal_path: journal.path };
    if (!isFile(journal.path)) {
      const found = requireJournal(workdir, lost);
      await this.#requireSame(found, session);
      return found;
    }
    if (!isWithin(journal.path, state.workdir)) return journal.path;
    const target = journalAt(workdir, id);
    if (target === journal.path) return target;
    if (exists(dirname(target))) {
      await this.#requireSame(target, session);
      return target;
    }
    const above = this.#parts.runsAbove?.(workdir);
    if (above !== undefined) {
      throw new SvcError("conflict", `a command runs in ${above} and could read the journal`, {
        hint: "move the session when the command has ended",
      });
    }
    makeOwnDir(workdir, ["sessions"]);
    await this.#carry(id, journal.path, target);
    return target;
  }

  async #carry(id: string, from: string, to: string): Promise<void> {
    const link = this.#parts.linkPath(id);
    const parents = [dirname(dirname(from)), dirname(dirname(to))];
    linkJournal(to, link);
    try {
      await Deno.rename(dirname(from), dirname(to));
    } catch (error) {
      linkJournal(from, link);
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
      throw new SvcError(
        "conflict",
        `the session's files are on another file system than ${parents[1]}`,
        {
          hint: `move or copy the directory there as a whole: the session's journal is ${from}`,
          cause: error,
        },
      );
    }
    for (const each of parents) syncDir(each);
  }

  /** Asserts that a journal is the session's, record by record. @throws {SvcError} conflict */
  async #requireSame(path: string, { id, journal }: Session): Promise<void> {
    const refuse = (why: string, hint?: string) =>
      new SvcError("conflict", `${path} is not the journal of session ${id}: ${why}`, { hint });
    if (!isFile(path)) throw refuse("it is not a file", `move ${dirname(path)} away`);
    if (!isAsLong(path, journal)) {
      throw refuse("it has other records", `if it is an older copy, move ${dirname(path)} away`);
    }
    const { journal: other } = await Journal.open(path, { onRecord() {} });
    const { problem } = await verifyLedger(other, await readAnchor(this.#parts.anchorPath(id)));
    const last_seq = other.last_seq;
    other.release();
    if (problem !== undefined) throw refuse(problem);
    if (last_seq !== journal.last_seq) throw refuse(`it ends at seq ${last_seq}`);
  }
}

/** The event for a directory with a new path. */
export function movedTo(workdir: string, from: string, by: string): EventData["session.moved"] {
  const directory = directoryAt(workdir);
  return {
    workdir,
    from,
    by,
    ...(directory && { directory }),
    ...(by === "svc" && from !== workdir && directoryAt(from) && { replaced: true as const }),
  };
}

function isAsLong(path: string, { size }: Journal): boolean {
  return isFile(path) && Deno.lstatSync(path).size === size;
}

function requireJournal(workdir: string, lost: Omit<Lost, "directory">): string {
  const found = journalIn(workdir, lost);
  if (found !== undefined) return found;
  throw new SvcError("conflict", `${workdir} does not have the journal of session ${lost.id}`, {
    hint: `choose the directory that was ${lost.workdir}, with its .svc; nothing was changed`,
  });
}

/** Asserts that a session is the person's own. */
function requireOwn({ id, title, trust }: Pick<Placed, "id" | "title" | "trust">): void {
  if (trust !== "trusted") {
    const message = `session ${id} works for others; it keeps its directory`;
    throw new SvcError("permission_denied", message);
  }
  if (isWorkTitle(title)) throw new SvcError("conflict", `session ${id} is in use by ${title}`);
}

function requireMovable({ id, state, final }: Session): void {
  if (final) throw new SvcError("ended", `session ${id} has ended`);
  requireOwn(state);
  if (state.background.length > 0) {
    const { command_id, command } = state.background[0];
    throw new SvcError(
      "conflict",
      `a background command of session ${id} runs: ${command_id} (${command})`,
      { hint: "stop it first" },
    );
  }
}
