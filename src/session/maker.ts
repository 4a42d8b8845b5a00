/** Creates sessions: either whole on the disk, or removed at the next start. */
import { basename, join } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { exists, linkIfAllowed } from "../os/files.ts";
import { type EventData, MAIN_LANE } from "../protocol/events.ts";
import type { Copy } from "./copy.ts";
import type { Deletions } from "./deletions.ts";
import type { HubParts } from "./hub_parts.ts";
import { entryAt, wasUsed } from "./journal_links.ts";
import { Marks } from "./marks.ts";
import type { Session, SessionParts } from "./session.ts";
import type { SessionIndex } from "./session_index.ts";
import { shownTitle } from "./titles.ts";
import { checkWorkdir, makeSessionDir } from "./workdir.ts";

export interface CreateOptions extends Omit<EventData["session.created"], "title" | "directory"> {
  title?: string;
  /** Directory whose `.svc` keeps the journal, for a workdir that will be removed. */
  journal_root?: string;
  /** The conversation to begin with. */
  copy?: Copy;
}

interface MakerParts
  extends Pick<HubParts, "home" | "anchors" | "journal_links" | "ids" | "runsAbove" | "onDeleted"> {
  session: SessionParts;
  index: SessionIndex;
  /** Makes a session known to clients. */
  add(session: Session): void;
  /** Undoes `add`. */
  drop(id: string): void;
}

export class SessionMaker {
  readonly #parts: MakerParts;
  /** Journal paths of sessions being made. */
  readonly #beginnings: Marks;
  /** Workdirs of sessions being made. */
  readonly #making = new Map<string, string>();

  constructor(parts: MakerParts) {
    this.#parts = parts;
    this.#beginnings = new Marks(join(parts.anchors, "making"));
  }

  get workdirs(): Iterable<string> {
    return this.#making.values();
  }

  /** See {@linkcode Hub.create}. */
  async make(options: CreateOptions): Promise<Session> {
    const workdir = await checkWorkdir(options.workdir, this.#parts.home);
    const id = this.#parts.ids.next("sess");
    this.#making.set(id, workdir);
    try {
      return await this.#record(id, workdir, options);
    } finally {
      this.#making.delete(id);
    }
  }

  async #record(id: string, workdir: string, options: CreateOptions): Promise<Session> {
    const { home, journal_links, runsAbove } = this.#parts;
    const { journal_root, copy, ...told } = options;
    const root = journal_root ?? runsAbove?.(workdir) ?? workdir;
    const dir = join(root, ".svc", "sessions", id);
    const journal_path = join(dir, "journal.ndjson");
    const link = join(journal_links, id);
    try {
      // If the daemon is killed, the next start removes the rest.
      await this.#beginnings.put(id, journal_path, false);
      makeSessionDir(root, id);
      // Loaded here: a daemon starts without a session.
      const [{ Session }, { emptyState }, { Journal }, { directoryAt }] = await Promise.all([
        import("./session.ts"),
        import("./state.ts"),
        import("./journal.ts"),
        import("../os/directory_identity.ts"),
      ]);
      await this.#parts.index.leaveNote();
      const title = options.title ?? (basename(workdir) || workdir);
      // A copy begins with a checkpoint, as after retention.
      const journal = Journal.create(journal_path, copy && copy.seq - 1);
      const state = { ...emptyState(id), last_seq: journal.last_seq };
      const directory = directoryAt(workdir);
      const session = new Session(state, journal, this.#parts.session);
      const main = {
        lane_id: MAIN_LANE,
        kind: "main",
        label: shownTitle({ title, goal: told.goal }),
        started_at: new Date().toISOString(),
      } as const;
      if (copy === undefined) {
        const created = session.emit("session.created", { ...told, workdir, title, directory });
        await Promise.all([created, session.emit("lane.created", main)]);
      } else {
        const { beginWithCopy } = await import("./copy.ts");
        await beginWithCopy(session, copy, { ...told, workdir, title, main, directory });
      }
      this.#parts.add(session);
      await Promise.all([journal.flush(), this.#parts.index.saveMade()]);
      // Last: if the index is lost, a missing link marks a session that no client knows.
      linkIfAllowed(journal_path, link);
      this.#beginnings.remove(id);
      return session;
    } catch (cause) {
      await this.#discard(id, dir, link);
      if (cause instanceof SvcError) throw cause;
      throw new SvcError("internal", `cannot record the session: ${messageOf(cause)}`, {
        hint: `free disk space, or repair ${home} and ${dir}; no session was started`,
        cause,
      });
    }
  }

  /** Removes a session that could not be recorded. */
  async #discard(id: string, dir: string, link: string): Promise<void> {
    this.#parts.drop(id);
    await Deno.remove(link).catch(() => {});
    await Deno.remove(dir, { recursive: true }).catch(() => {});
    await this.#parts.index.trySave();
    // The next start removes the rest.
    await this.#parts.onDeleted?.(id).then(() => {
      if (!exists(dir)) this.#beginnings.remove(id);
    }).catch(() => {});
  }

  /**
   * Settles sessions that a killed daemon was making. One in the index is whole. No client knows
   * the others: they are deleted, unless something happened in them.
   *
   * @param deleted journals of the sessions whose deletion has begun
   * @returns their number
   */
  async settleBegun(deletions: Deletions, deleted: Map<string, string>): Promise<number> {
    const { index } = this.#parts;
    const begun = this.#beginnings.read();
    for (const [id, journal_path] of begun) {
      if (!Object.hasOwn(index.entries, id) && !deleted.has(id)) {
        if (wasUsed(journal_path)) index.put(id, entryAt(journal_path));
        else {
          await deletions.begin(id, journal_path);
          deleted.set(id, journal_path);
        }
      }
      this.#beginnings.remove(id);
    }
    return begun.size;
  }
}
