/**
 * `sessions-index.json`: which sessions there are and where their journals lie (product.md,
 * daemon-level files). Written atomically, once for all changes that wait.
 */
import { dirname, join } from "@std/path";
import { atomicWrite, flushDir } from "../os/files.ts";
import type { Approval, DirectoryIdentity, Trust } from "../protocol/events.ts";
import type { Lane, SessionState } from "./session_state.ts";

export interface IndexEntry {
  workdir: string;
  started_at: string;
  journal_path: string;
  last_seq: number;
  /** What else is kept of it, in a file of its own; unknown where that is missing. */
  known?: Known;
}

/** What a session may do: its journal cannot change it alone. */
export interface Rights {
  approval: Approval;
  trust: Trust;
  budget_usd?: number;
}

/**
 * What lists show of a session, and what its journal is held against when it is opened: here no tool
 * can write.
 */
export interface Known extends Rights {
  /** What its directory is: how it is found again after it was renamed. */
  directory?: DirectoryIdentity;
  model: string;
  title: string;
  state: SessionState["state"];
  ended_at?: string;
  last_event_at: string;
  /** Rights that were about to be recorded: the journal may have them already. */
  configuring?: Rights[];
  cost_usd: number;
  pinned?: true;
  archived?: true;
  unpriced?: true;
  tokens_in: number;
  tokens_out: number;
  lanes: Lane[];
  /** What `allow_always` was said to. */
  allowed: string[];
  /** Whether the stop of a daemon paused it: it runs again. */
  stopped?: true;
  /** The turn that the stop has left: it goes on. */
  left?: { activity: SessionState["activity"]; approvals: number };
  /** Whether something was going on: the next daemon takes that up by itself. */
  busy?: true;
  journal: { size: number; changed: string; oldest_at?: string };
}

export type IndexEntries = Record<string, IndexEntry>;

/** What {@linkcode IndexFile.read} says of a file that is not there, as before the first start. */
export const MISSING = "is missing";

/** How the entries of a file are written. */
export interface IndexFormat<E extends object> {
  /** What the file has of an entry. */
  encode(entry: E): unknown;
  /** Whether a value is one that was encoded. */
  valid(value: unknown): boolean;
  /** Whether it has to outlive a power cut. */
  durable: boolean;
}

/** The sessions index as product.md has it: nothing else is in its entries. */
export const INDEX: IndexFormat<IndexEntry> = {
  encode: ({ workdir, started_at, journal_path, last_seq }) => ({
    workdir,
    started_at,
    journal_path,
    last_seq,
  }),
  valid: isEntry,
  durable: true,
};

/** What else is known of the sessions; without it their journals are read at the start. */
export const KNOWN: IndexFormat<IndexEntry> = {
  encode: ({ known }) => known ?? null,
  valid: (value) => value === null || isKnown(value as Known),
  durable: false,
};

/** Where the file with {@linkcode Known} of all sessions is, beside the ledgers' anchors. */
export function knownPath(anchors: string): string {
  return join(anchors, "sessions.json");
}

/** A file that maps the ids of sessions to what is kept of them. */
export class IndexFile<E extends object = IndexEntry> {
  readonly #path: string;
  readonly #entries: () => Record<string, E>;
  readonly #format: IndexFormat<E>;
  /** Entries as they stand in the file: of thousands, only a few change between two writes. */
  readonly #texts = new WeakMap<E, string>();
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /**
   * @param entries what the file is to hold, asked at each write. An entry that was handed over
   * must not be changed, but replaced.
   */
  constructor(path: string, format: IndexFormat<E>, entries: () => Record<string, E>) {
    this.#path = path;
    this.#format = format;
    this.#entries = entries;
  }

  /**
   * Reads the file.
   *
   * @returns undefined when there is none, or none that can be used; `problem` says what is wrong.
   */
  read<T>(): { entries?: Record<string, T>; problem?: string } {
    let text: string;
    try {
      text = Deno.readTextFileSync(this.#path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return { problem: MISSING };
      throw error;
    }
    try {
      const entries: unknown = JSON.parse(text);
      return isMap(entries) && Object.values(entries).every(this.#format.valid)
        ? { entries: entries as Record<string, T> }
        : { problem: "is not a valid index" };
    } catch {
      return { problem: "is not valid JSON" };
    }
  }

  /** Writes the entries as they are when the write begins; resolves when they are on the disk. */
  save(): Promise<void> {
    if (this.#writing === undefined) return this.#writing = this.#write();
    return this.#next ??= this.#writing.catch(() => {}).then(() => {
      this.#next = undefined;
      return this.#writing = this.#write();
    });
  }

  /** As {@linkcode IndexFile.save}; what is written outlives a power cut. */
  async saveDurably(): Promise<void> {
    await this.save();
    const file = await Deno.open(this.#path, { write: true });
    try {
      await file.sync();
    } finally {
      file.close();
    }
    await flushDir(dirname(this.#path));
  }

  /** Resolves when no write is under way any more. @throws what the last one throws. */
  async settled(): Promise<void> {
    await (this.#next ?? this.#writing);
  }

  async #write(): Promise<void> {
    try {
      const { durable } = this.#format;
      await atomicWrite(this.#path, this.#text(), 0o600, { durable });
    } finally {
      // One that waits takes the place at once: two writes never run side by side.
      if (this.#next === undefined) this.#writing = undefined;
    }
  }

  #text(): string {
    const parts: string[] = [];
    const entries = this.#entries();
    for (const id in entries) {
      const entry = entries[id];
      let text = this.#texts.get(entry);
      if (text === undefined) {
        text = `${JSON.stringify(id)}:${JSON.stringify(this.#format.encode(entry))}`;
        this.#texts.set(entry, text);
      }
      parts.push(text);
    }
    return `{${parts.join(",")}}\n`;
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEntry(value: unknown): boolean {
  const entry = value as Partial<IndexEntry> | null;
  return typeof entry === "object" && entry !== null && typeof entry.workdir === "string" &&
    typeof entry.started_at === "string" && typeof entry.journal_path === "string" &&
    Number.isSafeInteger(entry.last_seq);
}

function isKnown(value: Partial<Known> | null): boolean {
  return typeof value === "object" && value !== null && typeof value.state === "string" &&
    typeof value.approval === "string" && Array.isArray(value.lanes) &&
    Array.isArray(value.allowed) && Number.isSafeInteger(value.journal?.size);
}
