/** Makes sessions: one is whole on the disk, or the next start removes what there is of it. */
import { basename, join } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { exists, linkIfAllowed } from "../os/files.ts";
import type { Effort } from "../protocol/effort.ts";
import { type Approval, MAIN_LANE, type Trust } from "../protocol/events.ts";
import type { Copy } from "./copy.ts";
import type { Deletions } from "./deletions.ts";
import type { Ids } from "./ids.ts";
import { entryAt, wasUsed } from "./journal_links.ts";
import { Marks } from "./marks.ts";
import type { Session, SessionParts } from "./session.ts";
import type { SessionIndex } from "./session_index.ts";
import { emptyState } from "./state.ts";
import { checkWorkdir, makeSessionDir } from "./workdir.ts";

export interface CreateOptions {
  workdir: string;
  model: string;
  title?: string;
  /** Whether it is named after what is said in it, if it has no title. */
  untitled?: true;
  approval: Approval;
  effort?: Effort;
  budget_usd?: number;
  /** Default trusted; who starts a session for another hands its own down. */
  trust?: Trust;
  /** The name of a skill that its model is told at once. */
  skill_pack?: string;
  /** The directory whose `.svc` keeps the journal, for a workdir that will be removed. */
  journal_root?: string;
  /** The conversation that it begins with. */
  copy?: Copy;
}

export interface MakerParts {
  home: string;
  /** The directory of the ledger anchors, where sessions that are being made are noted. */
  anchors: string;
  journal_links: string;
  ids: Ids;
  session: SessionParts;
  index: SessionIndex;
  runsAbove?(directory: string): string | undefined;
  onDeleted?(session_id: string): Promise<void>;
  /** Has others find a session. */
  add(session: Session): void;
  /** Takes that back. */
  drop(id: string): void;
}

export class SessionMaker {
  readonly #parts: MakerParts;
  /** Sessions that are being made: where their journals are. */
  readonly #beginnings: Marks;
  /** Their directories. */
  readonly #making = new Map<string, string>();

  constructor(parts: MakerParts) {
    this.#parts = parts;
    this.#beginnings = new Marks(join(parts.anchors, "making"));
  }

  /** Directories of the sessions that are being made. */
  get workdirs(): Iterable<string> {
    return this.#making.values();
  }

  /** Makes a session; see {@linkcode Hub.create}. */
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
      // The next start removes what a daemon that is killed leaves of it.
      await this.#beginnings.put(id, journal_path, false);
      makeSessionDir(root, id);
      // Loaded here: a daemon starts without a session.
      const [{ Session }, { Journal }, { directoryAt }] = await Promise.all([
        import("./session.ts"),
        import("./journal.ts"),
        import("../os/directory_identity.ts"),
      ]);
      await this.#parts.index.leaveNote();
      const title = options.title ?? (basename(workdir) || workdir);
      // A copy begins as a journal does whose beginning retention has rewritten.
      const journal = Journal.create(journal_path, copy && copy.seq - 1);
      const state = { ...emptyState(id), last_seq: journal.last_seq };
      const directory = directoryAt(workdir);
      const session = new Session(state, journal, this.#parts.session);
      const main = {
        lane_id: MAIN_LANE,
        kind: "main",
        label: title,
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
      // Last: without the index, a session that nobody was told of is known by its missing link.
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

  /** Takes back what was made of a session that could not be recorded. */
  async #discard(id: string, dir: string, link: string): Promise<void> {
    this.#parts.drop(id);
    await Deno.remove(link).catch(() => {});
    await Deno.remove(dir, { recursive: true }).catch(() => {});
    await this.#parts.index.trySave();
    // The next start removes what cannot be removed now.
    await this.#parts.onDeleted?.(id).then(() => {
      if (!exists(dir)) this.#beginnings.remove(id);
    }).catch(() => {});
  }

  /**
   * Settles the sessions that were being made when the daemon was killed. One that the index has is
   * whole. Nobody was told of another one: its deletion begins, unless something has happened in it.
   *
   * @param deleted where the journals are whose deletion has begun
   * @returns how many there were
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
