/** The durable memory: the rules for writing, and the search. */
import type * as z from "zod";
import { createHash } from "node:crypto";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { type AuditTrail, EDITED } from "./audit.ts";
import {
  type Changes,
  type Entry,
  keyOf,
  type Proposal,
  reachesFar,
} from "../../protocol/memory.ts";
import { byScore } from "./ranking.ts";
import {
  defaultScope,
  type Reader,
  requireNoCredential,
  requireOwner,
  visibleTo,
} from "./rules.ts";
import type { MemoryStore } from "./store.ts";
import { searchTerms, wordsOf } from "./words.ts";
import type { entryListSchema, entryQuerySchema, keyedEntrySchema } from "./schemas.ts";

interface MemoryParts {
  store: MemoryStore;
  audit: AuditTrail;
  newId(): string;
}

export interface Written {
  entry: Entry;
  /** False for something that was already known. */
  is_new: boolean;
}

export type Recalled = Entry & {
  /** Relative to the best match, which has 1. */
  score: number;
};

type MemoryEntry = z.output<ReturnType<typeof keyedEntrySchema>>;

export const ENTRIES_MAX = 50_000;
/** Matches per search that {@linkcode byScore} sorts. */
const CANDIDATES = 200;

export class Memory {
  readonly #store: MemoryStore;
  readonly #audit: AuditTrail;
  readonly #newId: () => string;
  /** Audited entries that are not visible yet, for example because the disk was full. */
  #audited: Entry[] = [];

  private constructor({ store, audit, newId }: MemoryParts) {
    this.#store = store;
    this.#audit = audit;
    this.#newId = newId;
  }

  /** Opens the memory and settles what a crash left undecided. */
  static async open(parts: MemoryParts): Promise<Memory> {
    const memory = new Memory(parts);
    try {
      await memory.#settle();
      return memory;
    } catch (error) {
      memory.close();
      throw error;
    }
  }

  close(): void {
    this.#store.close();
  }

  // ── writing ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Remembers something; a repetition only makes the entry recent again.
   * @param options.reader the session that writes; a client has none and may write anything
   * @param options.source_msg_id the source of an automatic write, for the audit
   * @throws {SvcError} validation for a credential, or a scope that needs a session;
   * permission_denied for a scope that is not the session's; conflict when the memory is full;
   * internal
   */
  remember(
    { content, category, scope, tags = [] }: Proposal,
    { reader, source_msg_id }: { reader?: Reader; source_msg_id?: string } = {},
  ): Written {
    const into = scope ?? defaultScope(category, reader);
    requireNoCredential([content, ...tags].join("\n"));
    const now = new Date().toISOString();
    const entry: Entry = {
      entry_id: this.#newId(),
      category,
      scope: into,
      owner: requireOwner(into, reader),
      content,
      tags,
      content_sha: shaOf(content),
      created_at: now,
      updated_at: now,
      written_by: source_msg_id === undefined ? "" : reader?.session_id ?? "",
      // A session asks before it writes for others.
      approved: source_msg_id === undefined || reachesFar(into),
    };
    return requireWritten(() => this.#write(entry, source_msg_id));
  }

  /**
   * Changes an entry; omitted fields stay. The change is audited.
   * @param reader the new owner, in scope Session or Worker
   * @throws {SvcError} not_found; conflict for the content of another entry; as {@linkcode
   * Memory.remember}
   */
  update(entry_id: string, changes: Changes, reader?: Reader): Entry {
    // An audited change may still wait for disk space.
    requireWritten(() => this.#releaseAudited());
    const before = this.#store.entry(entry_id) ?? notFound(entry_id);
    const { content, category, scope, tags } = { ...before, ...changes };
    requireNoCredential([content, ...tags].join("\n"));
    const stays = scope === before.scope && reader === undefined;
    const entry: Entry = {
      ...before,
      content,
      category,
      scope,
      tags,
      owner: stays ? before.owner : requireOwner(scope, reader),
      content_sha: shaOf(content),
      updated_at: after(before.updated_at),
      approved: true,
    };
    const same = this.#store.same(entry);
    if (same !== undefined && same !== entry_id) {
      throw new SvcError("conflict", `entry ${same} has the same content`, {
        hint: "delete one of them with cortex.forget",
      });
    }
    requireWritten(() => this.#writeAudited(entry, EDITED));
    return entry;
  }

  #write(entry: Entry, source_msg_id: string | undefined): Written {
    this.#releaseAudited();
    const same = this.#store.touch(entry, entry.updated_at);
    if (same !== undefined) return { entry: { ...entry, entry_id: same }, is_new: false };
    if (this.#store.count() >= ENTRIES_MAX) {
      throw new SvcError("conflict", `the memory is full: it has ${ENTRIES_MAX} entries`, {
        hint: "delete entries with cortex.forget; memory.query lists them",
      });
    }
    if (source_msg_id === undefined) this.#store.insert(entry, indexed(entry));
    else this.#writeAudited(entry, source_msg_id);
    return { entry, is_new: true };
  }

  /**
   * The audit record decides: before it, the entry is held and invisible; after it, the entry will
   * appear, whatever happens in between.
   */
  #writeAudited(entry: Entry, source_msg_id: string): void {
    this.#store.hold(entry);
    const { entry_id, category, content_sha, updated_at: ts } = entry;
    try {
      this.#audit.append({ ts, entry_id, category, content_sha, source_msg_id });
    } catch (error) {
      this.#dropUnaudited([entry]);
      throw error;
    }
    this.#audited.push(entry);
    this.#releaseAudited();
  }

  #releaseAudited(): void {
    for (let entry = this.#audited[0]; entry !== undefined; entry = this.#audited[0]) {
      this.#store.release(entry, indexed(entry));
      this.#audited.shift();
    }
  }

  #dropUnaudited(entries: readonly Entry[]): void {
    try {
      for (const { entry_id } of entries) this.#store.drop(entry_id);
    } catch {
      // The disk is full. They are invisible, and the next opening drops them.
    }
  }

  async #settle(): Promise<void> {
    const held = this.#store.held();
    if (held.length === 0) return;
    const audited = new Set<string>();
    for await (const { ts, entry_id } of this.#audit.records()) audited.add(`${ts} ${entry_id}`);
    const isAudited = ({ updated_at, entry_id }: Entry) => audited.has(`${updated_at} ${entry_id}`);
    this.#dropUnaudited(held.filter((entry) => !isAudited(entry)));
    this.#audited = held.filter(isAudited);
    try {
      this.#releaseAudited();
    } catch {
      // The disk is full: entries can still be read, and the next write tries again.
    }
  }

  /** Deletes an entry permanently. @throws {SvcError} not_found. */
  forget(entry_id: string): void {
    if (!this.#store.remove(entry_id)) notFound(entry_id);
    this.#audited = this.#audited.filter((entry) => entry.entry_id !== entry_id);
  }

  /** Deletes the entries of scope Session permanently. */
  forgetSession(session_id: string): void {
    this.#store.removeOwned("Session", session_id);
    this.#audited = this.#audited.filter(({ scope, owner }) =>
      scope !== "Session" || owner !== session_id
    );
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Searches the entries of a session, or without a reader all; best first. Among equal matches a
   * warning comes before a fact, and a recent entry before an old one.
   */
  recall(text: string, { reader, limit }: { reader?: Reader; limit: number }): Recalled[] {
    const found = this.#store.search(
      searchTerms(text),
      CANDIDATES,
      reader && {
        scopes: visibleTo(reader),
        approved: !reader.trusted,
      },
    );
    const best = found[0]?.rank;
    return found
      .map((entry) => ({ ...entry, score: entry.rank / best }))
      .sort(byScore)
      .slice(0, limit)
      .map(({ rank: _, ...entry }) => entry);
  }

  /** Lists entries, most recently written first. @param cursor of the previous page */
  list(
    { cursor, ...options }: z.output<ReturnType<typeof entryListSchema>>,
  ): { entries: Entry[]; next_cursor?: string } {
    const before = cursor === undefined ? undefined : Number(cursor);
    const { entries, next } = this.#store.list({ ...options, before });
    return { entries, ...(next === undefined ? {} : { next_cursor: String(next) }) };
  }

  /** Returns the entries for every prompt of a session, newest first. */
  always({ trusted }: Reader): Entry[] {
    return this.#store.ofScope("Always").filter(({ approved }) => approved || trusted);
  }

  /** Lists up to `limit` entries whose key, `<category>/<entry_id>`, begins with the prefix. */
  query(
    { scope, key_prefix = "", limit }: z.output<ReturnType<typeof entryQuerySchema>>,
  ): { entries: MemoryEntry[]; truncated: boolean } {
    const entries = this.#store.byKey(scope, key_prefix, limit + 1);
    return {
      entries: entries.slice(0, limit).map((entry) => ({
        key: keyOf(entry),
        value: entry.content,
        updated_at: entry.updated_at,
      })),
      truncated: entries.length > limit,
    };
  }

  pausedLobes(): Set<string> {
    return this.#store.pausedLobes();
  }

  /** Also holds after a restart. */
  setLobePaused(lobe: string, paused: boolean): void {
    this.#store.setLobePaused(lobe, paused);
  }
}

function shaOf(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Now, but later than `at` even if the clock was set back. */
function after(at: string): string {
  return new Date(Math.max(Date.now(), Date.parse(at) + 1)).toISOString();
}

/** @throws {SvcError} internal with the system's error */
function requireWritten<T>(write: () => T): T {
  try {
    return write();
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("internal", `cannot write the memory: ${messageOf(cause)}`, {
      hint: "free disk space or repair the home of svc, then try again",
      cause,
    });
  }
}

function notFound(entry_id: string): never {
  throw new SvcError("not_found", `the memory has no entry ${JSON.stringify(entry_id)}`, {
    hint: "cortex.list shows the entries",
  });
}

function indexed({ content, tags }: Entry): string[] {
  return wordsOf([content, ...tags].join(" "));
}
