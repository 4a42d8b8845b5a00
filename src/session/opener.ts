/** Opens sessions of the index from their journals, several at a time. */
import { setImmediate } from "node:timers/promises";
import { join } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { exists } from "../os/files.ts";
import type { Deletions } from "./deletions.ts";
import type { HubParts } from "./hub_parts.ts";
import { isWorkTitle } from "./ids.ts";
import type { IndexEntry } from "./index_file.ts";
import { linkJournal } from "./journal_links.ts";
import type { Found } from "./lost_directory.ts";
import type { Relocation } from "./relocation.ts";
import type { Session, SessionParts } from "./session.ts";
import { isAsKnown, type SessionIndex } from "./session_index.ts";
import type { SessionTable } from "./session_table.ts";
import type { Snapshots } from "./snapshots.ts";

/** Sessions opened at the same time. */
const OPENED_AT_ONCE = 16;
/** Journals checked in one turn of the event loop. */
const LOOKED_AT_ONCE = 250;
/** Least time between retries of unreadable sessions. */
const RETRY_MS = 1_000;

interface OpenerParts extends Pick<HubParts, "journal_links" | "version" | "log"> {
  table: SessionTable;
  index: SessionIndex;
  deletions: Deletions;
  session: SessionParts;
  snapshots: Snapshots;
  anchorPath(id: string): string;
  relocation(): Promise<Relocation>;
  /** @param moved whether the session works in another directory now */
  onOpened(session: Session, moved: boolean): void;
}

export class SessionOpener {
  readonly #parts: OpenerParts;
  readonly #opening = new Map<string, Promise<Session>>();
  /** The check of the index against the journals, once per start. */
  #checking: Promise<void> | undefined;
  #retried = 0;

  constructor(parts: OpenerParts) {
    this.#parts = parts;
  }

  /** Finds a session and opens it if needed. @throws {SvcError} like {@linkcode Hub.get} */
  async get(id: string): Promise<Session> {
    const { table } = this.#parts;
    const session = table.open.get(id);
    if (session !== undefined) return session;
    const entry = table.dormant.get(id);
    if (entry !== undefined) return await this.open(id, entry);
    const kept = table.unreadable.get(id);
    if (kept !== undefined) {
      const { mayBeReadable, unreadableError } = await import("./unreadable.ts");
      if (mayBeReadable(kept)) return await this.open(id, kept.entry);
      throw unreadableError(kept);
    }
    throw new SvcError("not_found", `there is no session ${JSON.stringify(id)}`, {
      hint: "`svc ctl sessions list` shows the sessions",
    });
  }

  /** Opens the sessions that differ from the index. */
  check(): Promise<void> {
    return this.#checking ??= this.openChanged(this.#parts.table.dormant);
  }

  /** Opens those of these sessions that differ from the index. */
  async openChanged(entries: Iterable<[string, IndexEntry]>): Promise<void> {
    await this.openAll(await changedSince(entries));
  }

  /** Opens sessions, several at a time. Failures go to the log and the list. */
  async openAll(entries: readonly [string, IndexEntry][]): Promise<void> {
    for (let at = 0; at < entries.length; at += OPENED_AT_ONCE) {
      const some = entries.slice(at, at + OPENED_AT_ONCE);
      await Promise.allSettled(some.map(([id, entry]) => this.open(id, entry)));
    }
  }

  /** Opens sessions in the background while `more` returns true. */
  async openWhile(
    more: () => boolean,
    entries: readonly [string, IndexEntry][],
    onOpened: (session: Session) => void,
  ): Promise<void> {
    const { open, unreadable } = this.#parts.table;
    for (let at = 0; at < entries.length && more(); at += OPENED_AT_ONCE) {
      const some = entries.slice(at, at + OPENED_AT_ONCE)
        .filter(([id]) => !open.has(id) && !unreadable.has(id));
      await Promise.allSettled(some.map(async ([id, entry]) => {
        onOpened(await this.open(id, entry));
      }));
      await setImmediate();
    }
  }

  /** Opens a dormant or unreadable session, once at a time. */
  open(id: string, entry: IndexEntry, at?: Found): Promise<Session> {
    const { deletions, table } = this.#parts;
    if (deletions.has(id)) return Promise.reject(wasDeleted(id));
    // A list may have opened it meanwhile: a journal has one writer.
    const open = table.open.get(id);
    if (open !== undefined) return Promise.resolve(open);
    let opening = this.#opening.get(id);
    if (opening === undefined) {
      opening = this.#open(id, entry, at).finally(() => this.#opening.delete(id));
      this.#opening.set(id, opening);
    }
    return opening;
  }

  /** Opens an unreadable session at its new place. */
  async openAt(id: string, found: Found): Promise<Session | undefined> {
    // Lists retry it.
    await this.#opening.get(id)?.catch(() => {});
    const entry = this.#parts.table.unreadable.get(id)?.entry;
    return entry && await this.open(id, entry, found);
  }

  /** Resolves when no session is being opened. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#opening.values());
  }

  async #open(id: string, entry: IndexEntry, at?: Found): Promise<Session> {
    const { table, index, deletions, snapshots, log, version, journal_links } = this.#parts;
    const { journal_path, known } = entry;
    try {
      await index.leaveNote();
      const { restoreSession } = await import("./restore.ts");
      const session = await restoreSession(id, entry, {
        session: this.#parts.session,
        snapshots,
        anchor: this.#parts.anchorPath(id),
        log,
        version,
        at,
        find: async () => {
          if (isWorkTitle(known?.title ?? "")) return [];
          return await (await this.#parts.relocation()).find({ ...entry, id, ...known });
        },
      });
      linkJournal(session.journal.path, join(journal_links, id));
      table.add(session);
      const moved = session.state.workdir !== entry.workdir;
      if (moved) await index.trySave();
      this.#parts.onOpened(session, moved);
      return session;
    } catch (error) {
      // Deleted meanwhile: it must not return as unreadable.
      if (deletions.has(id)) throw wasDeleted(id);
      if (error instanceof Deno.errors.NotFound && known?.state === "ended") {
        throw new SvcError("ended", `session ${id} has ended, and its journal no longer exists`, {
          hint: `the journal was at ${journal_path}`,
          cause: error,
        });
      }
      const { unreadable, unreadableError } = await import("./unreadable.ts");
      const kept = unreadable(id, entry, error);
      const { reason } = kept.item;
      if (reason !== table.unreadable.get(id)?.item.reason) {
        log.error("a session is unreadable", { session_id: id, path: journal_path, reason });
      }
      table.addUnreadable(id, entry, kept);
      throw unreadableError(kept, error);
    }
  }

  /** Retries sessions whose problem may have passed. */
  async retryUnreadable(): Promise<void> {
    const { unreadable } = this.#parts.table;
    if (unreadable.size === 0 || performance.now() - this.#retried < RETRY_MS) return;
    const passing = [...unreadable].filter(([, it]) => it.passing);
    await this.openAll(passing.map(([id, { entry }]) => [id, entry]));
    this.#retried = performance.now();
  }
}

/** The sessions that differ from the index, after a crash or a changed file. */
async function changedSince(
  entries: Iterable<[string, IndexEntry]>,
): Promise<[string, IndexEntry][]> {
  const changed: [string, IndexEntry][] = [];
  let looked = 0;
  for (const [id, entry] of entries) {
    const { known, journal_path } = entry;
    const gone = known?.state === "ended" && !exists(journal_path);
    const due = known === undefined || known.busy || known.temporary;
    if (due || !gone && !isAsKnown(journal_path, known)) {
      changed.push([id, entry]);
    }
    if (++looked % LOOKED_AT_ONCE === 0) await setImmediate();
  }
  return changed;
}

function wasDeleted(id: string): SvcError {
  return new SvcError("not_found", `session ${id} was deleted`);
}
