/** Deletes sessions and all their files; survives a kill. */
import { dirname } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { exists } from "../os/files.ts";
import type { DeletedCosts } from "./deleted_costs.ts";
import type { Deletions } from "./deletions.ts";
import type { Housekeeping } from "./housekeeping.ts";
import type { HubParts } from "./hub_parts.ts";
import { isWorkTitle } from "./ids.ts";
import type { Session } from "./session.ts";
import type { SessionIndex } from "./session_index.ts";

interface DeleterParts extends Pick<HubParts, "log" | "endBackground" | "onEnded" | "onDeleted"> {
  deletions: Deletions;
  costs(): Promise<DeletedCosts>;
  index: SessionIndex;
  housekeeping: Housekeeping;
  /** Finds a session. @throws {SvcError} */
  get(id: string): Promise<Session>;
  /** Path of a session's journal, even an unreadable one. */
  journalPath(id: string): string | undefined;
  /** Removes a session from the lists. */
  forget(id: string): Promise<void>;
}

export class SessionDeleter {
  readonly #parts: DeleterParts;
  readonly #deleting = new Map<string, Promise<void>>();

  constructor(parts: DeleterParts) {
    this.#parts = parts;
  }

  /** See {@linkcode Hub.delete}. */
  async delete(id: string): Promise<void> {
    let deleting = this.#deleting.get(id);
    if (deleting === undefined) {
      deleting = this.#delete(id).finally(() => this.#deleting.delete(id));
      this.#deleting.set(id, deleting);
    }
    await deleting;
  }

  async #delete(id: string): Promise<void> {
    let session: Session | undefined;
    try {
      session = await this.#parts.get(id);
    } catch (error) {
      // Unreadable sessions can be deleted too.
      if (this.#parts.journalPath(id) === undefined) throw error;
    }
    const journal_path = this.#parts.journalPath(id)!;
    if (session !== undefined && !session.final && isWorkTitle(session.state.title)) {
      throw new SvcError("conflict", `session ${id} is in use by ${session.state.title}`, {
        hint: "cancel the task or mission first",
      });
    }
    const { checkSessionDir } = await import("./session_dir.ts");
    if (exists(dirname(journal_path))) checkSessionDir(journal_path, id);
    await this.#parts.index.leaveNote();
    const begin = () => this.#parts.deletions.begin(id, journal_path);
    const temporary = session?.state.temporary;
    if (session !== undefined && temporary) {
      await this.#endFor(session);
      await this.#beginTemporary(session, begin);
    } else {
      await begin();
      if (session !== undefined) await this.#endFor(session);
    }
    try {
      await this.#remove(id, journal_path);
      if (temporary) (await import("./session_dir.ts")).removeIfUnused(journal_path);
      await this.#end(id);
    } catch (cause) {
      throw new SvcError("internal", `cannot remove all of session ${id}: ${messageOf(cause)}`, {
        hint: "it is no longer listed; the daemon removes the rest at its next start",
        cause,
      });
    }
  }

  /** Keeps the costs of a temporary session, which has ended: its person did not see it go. */
  async #beginTemporary({ id, state }: Session, begin: () => Promise<void>): Promise<void> {
    const hours = state.cost_hours.map(({ model = state.model, ...hour }) => ({ ...hour, model }));
    try {
      await (await this.#parts.costs()).add(id, hours, begin);
    } catch (error) {
      this.#parts.log.error("cannot keep the costs of a temporary session", {
        session_id: id,
        error: messageOf(error),
      });
      await begin();
    }
  }

  /** Ends a session before its deletion, even if that cannot be recorded. */
  async #endFor(session: Session): Promise<void> {
    try {
      if (!session.final) await session.kill();
    } catch (error) {
      this.#parts.log.warn("could not record the end of a session that is deleted", {
        session_id: session.id,
        error: messageOf(error),
      });
      await this.#parts.endBackground?.(session);
    }
    this.#parts.onEnded(session);
    await this.#parts.housekeeping.letGo(session);
    await session.stopKeeping();
    await session.release();
  }

  /** Removes the remaining files. */
  async #remove(id: string, journal_path: string): Promise<void> {
    await this.#parts.forget(id);
    const { removeSessionDir } = await import("./session_dir.ts");
    if (exists(dirname(journal_path))) await removeSessionDir(journal_path, id);
  }

  /** Removes the features' data; then nothing is left. */
  async #end(id: string): Promise<void> {
    await this.#parts.onDeleted?.(id);
    this.#parts.deletions.end(id);
  }

  /**
   * Continues interrupted deletions before a client can ask for their sessions. Features may need
   * the list of sessions, so their data goes once that is `ready`.
   *
   * @param deleted paths of the journals by session id
   */
  async continue(
    deleted: ReadonlyMap<string, string>,
    { ready, drop }: { ready: Promise<void>; drop(id: string): void },
  ): Promise<void> {
    const failed = (session_id: string, error: unknown) =>
      this.#parts.log.error("cannot remove all of a deleted session", {
        session_id,
        error: messageOf(error),
      });
    for (const [id, journal_path] of deleted) {
      try {
        await this.#remove(id, journal_path);
        ready.then(() => this.#end(id)).catch((error) => failed(id, error));
      } catch (error) {
        drop(id);
        failed(id, error);
      }
    }
  }
}
