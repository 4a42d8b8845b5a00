/** The directories and files of a tree that are shown. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { explain, type Result } from "../rpc/api.ts";
import type { Client } from "../rpc/client.ts";

type Listing = Result<"files.list">;
export type Entry = Listing["entries"][number];

/** A row of the tree. */
export interface TreeRow {
  path: string;
  name: string;
  /** Beginning with 1. */
  level: number;
  /** Its place among its siblings, beginning with 1, and their number. */
  position: number;
  siblings: number;
  kind: "file" | "directory" | "nowhere";
  is_link: boolean;
  open?: boolean;
  /** In place of entries that are not there. */
  note?: string;
}

interface Directory {
  listing?: Listing;
  error?: string;
}

export class Tree {
  readonly #client: Client;
  readonly #session_id: string;
  readonly #directories = signal<ReadonlyMap<string, Directory>>(new Map());
  readonly #open = signal<ReadonlySet<string>>(new Set());

  constructor(client: Client, session_id: string) {
    this.#client = client;
    this.#session_id = session_id;
  }

  /** Why the tree itself is not there. */
  get error(): string | undefined {
    const { error, listing } = this.#directories.value.get("") ?? {};
    return listing === undefined ? error : undefined;
  }

  get loaded(): boolean {
    return this.#directories.value.get("")?.listing !== undefined;
  }

  get opened(): ReadonlySignal<ReadonlySet<string>> {
    return this.#open;
  }

  /** Asks for a directory, `""` for the top. */
  async load(path: string): Promise<void> {
    let directory: Directory;
    try {
      const params = { session_id: this.#session_id, path: path || "." };
      directory = { listing: await this.#client.ask("files.list", params) };
    } catch (error) {
      directory = { error: explain(error) };
    }
    const before = this.#directories.peek().get(path);
    if (JSON.stringify(before) === JSON.stringify(directory)) return;
    this.#directories.value = new Map(this.#directories.peek()).set(path, directory);
  }

  /** Asks again for all that is open. */
  async refresh(): Promise<void> {
    await Promise.all(["", ...this.#open.peek()].map((path) => this.load(path)));
  }

  toggle(path: string, open: boolean): void {
    const all = new Set(this.#open.peek());
    if (open) all.add(path);
    else all.delete(path);
    this.#open.value = all;
    if (open) this.load(path);
  }

  /** Opens what a file is in. */
  reveal(path: string): void {
    for (let cut = path.indexOf("/"); cut >= 0; cut = path.indexOf("/", cut + 1)) {
      const above = path.slice(0, cut);
      if (!this.#open.peek().has(above)) this.toggle(above, true);
    }
  }

  rows(): TreeRow[] {
    return rowsIn("", 1, this.#directories.value, this.#open.value);
  }
}

/** Deeper directories are not drawn: links may lead around in circles. */
const LEVELS_MAX = 40;

function rowsIn(
  directory: string,
  level: number,
  all: ReadonlyMap<string, Directory>,
  opened: ReadonlySet<string>,
): TreeRow[] {
  const { listing, error } = all.get(directory) ?? {};
  const note = (text: string): TreeRow => ({
    path: `${directory}\0`,
    name: "",
    level,
    position: 1,
    siblings: 1,
    kind: "nowhere",
    is_link: false,
    note: text,
  });
  if (listing === undefined) return [note(error ?? "Loading…")];
  if (listing.entries.length === 0) return [note("Empty")];
  const siblings = listing.entries.length + Number(listing.truncated);
  const rows = listing.entries.flatMap((entry, n) => {
    const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
    const kind = kindOf(entry);
    const open = kind === "directory" ? opened.has(path) : undefined;
    const row = {
      path,
      name: entry.name,
      level,
      position: n + 1,
      siblings,
      kind,
      is_link: entry.kind === "symlink",
      open,
    };
    return open && level < LEVELS_MAX ? [row, ...rowsIn(path, level + 1, all, opened)] : [row];
  });
  if (!listing.truncated) return rows;
  return [...rows, { ...note("More entries are not shown"), position: siblings, siblings }];
}

function kindOf({ kind, leads_to }: Entry): TreeRow["kind"] {
  const there = kind === "symlink" ? leads_to : kind;
  return there === "file" || there === "directory" ? there : "nowhere";
}
