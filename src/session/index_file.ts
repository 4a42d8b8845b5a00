/**
 * `sessions-index.json`: the sessions and the paths of their journals (product.md, daemon-level
 * files). Written atomically, once for all pending changes.
 */
import { dirname, join } from "@std/path";
import { atomicWrite, flushDir } from "../os/files.ts";
import type { SessionState } from "./session_state.ts";

export interface IndexEntry {
  workdir: string;
  started_at: string;
  journal_path: string;
  last_seq: number;
  /** Further facts, in a file of their own; undefined where that is missing. */
  known?: Known;
}

/** What a session may do: its journal alone cannot change it. */
export type Rights = Pick<
  SessionState,
  "approval" | "trust" | "budget_usd" | "added_dirs" | "network"
>;

/** What lists show, and what a journal is checked against when opened: no tool can write here. */
export interface Known extends
  Rights,
  Pick<
    SessionState,
    | "directory"
    | "model"
    | "title"
    | "goal"
    | "state"
    | "ended_at"
    | "last_event_at"
    | "cost_usd"
    | "pinned"
    | "archived"
    | "temporary"
    | "unpriced"
    | "tokens_in"
    | "tokens_out"
    | "lanes"
    | "allowed"
  > {
  /** Rights about to be recorded: the journal may have them already. */
  configuring?: Rights[];
  /** Whether a daemon's stop paused it: it will resume. */
  stopped?: true;
  /** The turn that the stop left open: it will continue. */
  left?: { activity: SessionState["activity"]; approvals: number; parked_until?: string };
  /** Whether it was active: the next daemon resumes that by itself. */
  busy?: true;
  journal: { size: number; changed: string; oldest_at?: string };
}

export type IndexEntries = Record<string, IndexEntry>;

/** The problem of a missing file, as before the first start. */
export const MISSING = "is missing";

interface IndexFormat {
  encode(entry: IndexEntry): unknown;
  valid(value: unknown): boolean;
  /** Whether it has to survive a power cut. */
  durable: boolean;
}

/** The sessions index of product.md, with no further fields. */
export const INDEX: IndexFormat = {
  encode: ({ workdir, started_at, journal_path, last_seq }) => ({
    workdir,
    started_at,
    journal_path,
    last_seq,
  }),
  valid: isEntry,
  durable: true,
};

/** Other facts about sessions; without them the start reads their journals. */
export const KNOWN: IndexFormat = {
  encode: ({ known }) => known ?? null,
  valid: (value) => value === null || isKnown(value as Known),
  durable: false,
};

/** Path of the file with {@linkcode Known} of all sessions. */
export function knownPath(anchors: string): string {
  return join(anchors, "sessions.json");
}

/** A file that maps session ids to entries. */
export class IndexFile {
  readonly #path: string;
  readonly #entries: () => IndexEntries;
  readonly #format: IndexFormat;
  /** Encoded entries: of thousands, only a few change between two writes. */
  readonly #texts = new WeakMap<IndexEntry, string>();
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** @param entries the file's content, asked at each write. Replace an entry to change it. */
  constructor(path: string, format: IndexFormat, entries: () => IndexEntries) {
    this.#path = path;
    this.#format = format;
    this.#entries = entries;
  }

  /** Reads the file. @returns only a `problem` when it is missing or invalid */
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

  /** Writes the entries as they are when the write begins. */
  save(): Promise<void> {
    if (this.#writing === undefined) return this.#writing = this.#write();
    return this.#next ??= this.#writing.catch(() => {}).then(() => {
      this.#next = undefined;
      return this.#writing = this.#write();
    });
  }

  /** As {@linkcode IndexFile.save}, and survives a power cut. */
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

  /** Resolves when no write is running. @throws the last write's error */
  async settled(): Promise<void> {
    await (this.#next ?? this.#writing);
  }

  async #write(): Promise<void> {
    try {
      const { durable } = this.#format;
      await atomicWrite(this.#path, this.#text(), 0o600, { durable });
    } finally {
      // A waiting write takes over at once: two never run side by side.
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
