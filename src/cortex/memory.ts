/** The durable memory: what is written to it, under which rules, and how it is found again. */
import { createHash } from "node:crypto";
import { messageOf, SvcError } from "../platform/errors.ts";
import type { AuditTrail } from "./audit.ts";
import { credentialIn } from "./credentials.ts";
import {
  type Entry,
  keyOf,
  mayWrite,
  ownerOf,
  type Proposal,
  type Reader,
  type Scope,
  visibleTo,
} from "./entry.ts";
import type { Found, MemoryStore } from "./store.ts";
import { searchTerms, wordsOf } from "./words.ts";

export interface MemoryParts {
  store: MemoryStore;
  audit: AuditTrail;
  newId(): string;
}

/** What {@linkcode Memory.remember} did. */
export interface Written {
  entry: Entry;
  /** False when the same was remembered already. */
  is_new: boolean;
}

/** An entry that answers a question. */
export type Recalled = Entry & {
  /** How well its words fit, against the best: 1 is the best. */
  score: number;
};

export interface MemoryEntry {
  key: string;
  value: string;
  updated_at: string;
}

/** Entries kept; past it something has to be forgotten first. */
export const ENTRIES_MAX = 50_000;
/** What is looked at to pick the best: entries that fit equally well are put in order by hand. */
const CANDIDATES = 200;
/** Scores that differ by less are taken as equal. */
const SCORE_STEP = 0.05;

export class Memory {
  readonly #store: MemoryStore;
  readonly #audit: AuditTrail;
  readonly #newId: () => string;
  /** Entries that were audited and must be made visible: a full disk may have kept them from it. */
  #audited: Entry[] = [];

  private constructor({ store, audit, newId }: MemoryParts) {
    this.#store = store;
    this.#audit = audit;
    this.#newId = newId;
  }

  /** Opens the memory and settles what a crash left undecided. {@linkcode Memory.close} closes it. */
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
   * Remembers something; the same again only counts as recent again.
   *
   * @param options.reader the session that writes; a client, who may write anything, has none.
   * @param options.source_msg_id of an automatic write: the message it came from, for the audit.
   * @throws {SvcError} validation for what looks like a credential, and for a scope that needs a
   * session; permission_denied for a scope that is not the session's; conflict when it is full;
   * `internal` when it cannot be written.
   */
  remember(
    { content, category, scope, tags = [] }: Proposal,
    { reader, source_msg_id }: { reader?: Reader; source_msg_id?: string } = {},
  ): Written {
    const into = scope ?? (reader?.trusted === false ? "Session" : "AllSessions");
    requireNoCredential([content, ...tags].join("\n"));
    const now = new Date().toISOString();
    const entry: Entry = {
      entry_id: this.#newId(),
      category,
      scope: into,
      owner: requireOwner(into, reader),
      content,
      tags,
      content_sha: createHash("sha256").update(content).digest("hex"),
      created_at: now,
      updated_at: now,
    };
    try {
      return this.#write(entry, source_msg_id);
    } catch (cause) {
      if (cause instanceof SvcError) throw cause;
      throw new SvcError("internal", `the memory cannot be written: ${messageOf(cause)}`, {
        hint: "free disk space or mend the home of svc, then try again",
        cause,
      });
    }
  }

  #write(entry: Entry, source_msg_id: string | undefined): Written {
    this.#releaseAudited();
    const same = this.#store.touch(entry, entry.updated_at);
    if (same !== undefined) return { entry: { ...entry, entry_id: same }, is_new: false };
    if (this.#store.count() >= ENTRIES_MAX) {
      throw new SvcError("conflict", `the memory is full: it has ${ENTRIES_MAX} entries`, {
        hint: "cortex.forget makes room; memory.query lists the entries",
      });
    }
    if (source_msg_id === undefined) this.#store.insert(entry, indexed(entry));
    else this.#writeAudited(entry, source_msg_id);
    return { entry, is_new: true };
  }

  /**
   * The audit record decides: before it the entry is held back where nobody sees it, after it the
   * entry will be there, whatever happens in between.
   */
  #writeAudited(entry: Entry, source_msg_id: string): void {
    this.#store.hold(entry);
    const { entry_id, category, content_sha, created_at: ts } = entry;
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
      // On a full disk; nobody sees them, and the next opening drops them.
    }
  }

  async #settle(): Promise<void> {
    const held = this.#store.held();
    if (held.length === 0) return;
    const ids = new Set<string>();
    for await (const { entry_id } of this.#audit.records()) ids.add(entry_id);
    this.#dropUnaudited(held.filter(({ entry_id }) => !ids.has(entry_id)));
    this.#audited = held.filter(({ entry_id }) => ids.has(entry_id));
    try {
      this.#releaseAudited();
    } catch {
      // On a full disk what is there can still be read; the next write tries again.
    }
  }

  /** Forgets an entry for good. @throws {SvcError} not_found. */
  forget(entry_id: string): void {
    if (this.#store.remove(entry_id)) return;
    throw new SvcError("not_found", `the memory has no entry ${JSON.stringify(entry_id)}`, {
      hint: "cortex.recall and memory.query show the entries",
    });
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Finds the entries about what a text is about, the best first. Among those that fit equally well
   * a warning comes before a fact, and a recent one before an old one.
   *
   * @param options.reader the session whose entries are looked at; all entries without one.
   */
  recall(text: string, { reader, limit }: { reader?: Reader; limit: number }): Recalled[] {
    const found = this.#store.search(searchTerms(text), CANDIDATES, reader && visibleTo(reader));
    const best = found[0]?.rank;
    return found
      .map((entry) => ({ ...entry, score: entry.rank / best }))
      .sort(byScore)
      .slice(0, limit)
      .map(({ rank: _, ...entry }) => entry);
  }

  /** The entries that belong into every prompt, the newest first. */
  always(): Entry[] {
    return this.#store.ofScope("Always");
  }

  /**
   * Lists entries of a scope by their key, `<category>/<entry_id>`.
   *
   * @param key_prefix only keys that begin with it.
   * @returns at most `limit` entries; `truncated` when there are more.
   */
  query(
    { scope, key_prefix = "", limit }: { scope: Scope; key_prefix?: string; limit: number },
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

  /** The lobes that are paused, by name. */
  pausedLobes(): Set<string> {
    return this.#store.pausedLobes();
  }

  /** Pauses a lobe or lets it go on; that holds beyond a restart. */
  setLobePaused(lobe: string, paused: boolean): void {
    this.#store.setLobePaused(lobe, paused);
  }
}

function requireNoCredential(text: string): void {
  const credential = credentialIn(text);
  if (credential === undefined) return;
  throw new SvcError("validation", `not remembered: the text looks like ${credential}`, {
    hint: "the memory keeps no credentials; say where it is kept instead",
  });
}

function requireOwner(scope: Scope, reader: Reader | undefined): string {
  if (reader === undefined) {
    if (scope !== "Session" && scope !== "Worker") return "";
    throw new SvcError("validation", `an entry of scope ${scope} belongs to a session`, {
      hint: "name it with session_id, or choose AllSessions, Global or Always",
    });
  }
  if (mayWrite(scope, reader)) return ownerOf(scope, reader);
  throw new SvcError("permission_denied", `an untrusted session may not write in scope ${scope}`, {
    hint: "its own scope is Session",
  });
}

function indexed({ content, tags }: Entry): string[] {
  return wordsOf([content, ...tags].join(" "));
}

/** What of equal fit is more use: what to beware of, what is wanted, what is the case. */
const PRIORITY: Record<Entry["category"], number> = {
  gotcha: 0,
  anti_pattern: 1,
  fix: 2,
  preference: 3,
  pattern: 4,
  fact: 5,
};

function byScore(a: Found & { score: number }, b: Found & { score: number }): number {
  const step = (score: number) => Math.round(score / SCORE_STEP);
  return step(b.score) - step(a.score) ||
    PRIORITY[a.category] - PRIORITY[b.category] ||
    (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0);
}
