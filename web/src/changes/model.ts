/** The changed files of a session, as the panel shows them. */
import { type Signal, signal } from "@preact/signals";
import { languageOfPath } from "../../../src/base/highlight/languages.ts";
import { linesOf as tokenLines, type Token } from "../../../src/base/highlight/tokens.ts";
import { CODE_MAX, type Highlighter } from "../highlight/highlighter.ts";
import { explain, type Result } from "../rpc/api.ts";
import type { Client } from "../rpc/client.ts";
import { type ChangedText, type Line, type LineRow, linesOf, moreOf, rowsOf } from "./lines.ts";

export type ChangedFile = Result<"session.changes">["files"][number];

/** What is compared with what. */
export type Scope = "session" | "turn" | "uncommitted";

export interface Listing {
  files: ChangedFile[];
  files_changed: number;
  added: number;
  deleted: number;
  truncated: boolean;
  /** Files that somebody else changed since. */
  others: string[];
  /** Why there is nothing to show. */
  problem?: string;
  /** The turn that is shown. */
  turn_id?: string;
}

/** Files with more changed lines begin collapsed. */
const COLLAPSED_FROM = 400;
/** Long code is coloured in pieces of so many lines. */
const PIECE = 150;

/** The lines of a file before or after the change. */
interface Side {
  all: Line[];
  /** Whether they are coloured at once. */
  is_short: boolean;
}

function sideOf(lines: readonly Line[], side: "old" | "now"): Side {
  const all = lines.filter((it) => it[side] !== undefined);
  const size = all.reduce((size, { text }) => size + text.length + 1, 0);
  return { all, is_short: size <= CODE_MAX };
}

/** A changed file, which keeps what the person did to it. */
export class FileModel {
  readonly entry: Signal<ChangedFile>;
  readonly #ask: (file: ChangedFile) => Promise<ChangedText>;
  readonly #open = signal<boolean | undefined>(undefined);
  readonly #expanded = signal<ReadonlySet<number>>(new Set());
  readonly #text = signal<ChangedText | undefined>(undefined);
  readonly #error = signal<string | undefined>(undefined);
  /** Grows when colours were found. */
  readonly #coloured = signal(0);
  #asked: string | undefined;
  #lines: { of: ChangedText; lines: Line[]; old: Side; now: Side } | undefined;
  #rows: { of: unknown[]; rows: LineRow[] } | undefined;
  #colours = new Map<Line, readonly Token[]>();
  #wanted = new Set<string>();

  constructor(entry: ChangedFile, ask: (file: ChangedFile) => Promise<ChangedText>) {
    this.entry = signal(entry);
    this.#ask = ask;
  }

  get path(): string {
    return this.entry.value.path;
  }

  get is_open(): boolean {
    const { added = 0, deleted = 0 } = this.entry.value;
    return this.#open.value ?? added + deleted <= COLLAPSED_FROM;
  }

  toggle(open: boolean): void {
    this.#open.value = open;
  }

  get text(): ChangedText | undefined {
    return this.#text.value;
  }

  get error(): string | undefined {
    return this.#error.value;
  }

  /** Asks for the text, unless it is there and the file has not changed since. */
  async load(): Promise<void> {
    const entry = this.entry.peek();
    const version = JSON.stringify(entry);
    if (this.#asked === version) return;
    this.#asked = version;
    try {
      const text = await this.#ask(entry);
      if (this.#asked !== version) return;
      this.#error.value = undefined;
      if (JSON.stringify(text) !== JSON.stringify(this.#text.peek())) this.#text.value = text;
    } catch (error) {
      if (this.#asked !== version) return;
      this.#asked = undefined;
      this.#error.value = explain(error);
    }
  }

  /** All lines; none of a file that has no text. */
  get lines(): readonly Line[] {
    const text = this.#text.value;
    if (text === undefined || (text.kind !== "text" && text.kind !== "link")) return [];
    if (this.#lines?.of !== text) {
      const { change, renamed_from } = this.entry.peek();
      const lines = linesOf(text, change === "added" && renamed_from === undefined);
      this.#lines = { of: text, lines, old: sideOf(lines, "old"), now: sideOf(lines, "now") };
      this.#colours = new Map();
      this.#wanted = new Set();
    }
    return this.#lines.lines;
  }

  rows(split: boolean): readonly LineRow[] {
    const of = [this.lines, this.#expanded.value, split];
    if (this.#rows?.of.some((it, n) => it !== of[n]) ?? true) {
      this.#rows = { of, rows: rowsOf(this.lines, this.#expanded.value, split) };
    }
    return this.#rows!.rows;
  }

  expand(fold: readonly [number, number], which: "more" | "all"): void {
    const more = moreOf(this.lines, fold, which);
    this.#expanded.value = new Set([...this.#expanded.peek(), ...more]);
  }

  /**
   * The colours of a line, once they are known: who reads them to draw them draws again when they
   * are found.
   */
  colours(line: Line, highlighter: Highlighter): readonly Token[] | undefined {
    this.#coloured.value;
    const known = this.#colours.get(line);
    if (known !== undefined) return known;
    const language = languageOfPath(this.path);
    if (language === undefined) return undefined;
    const side = line.kind === "delete" ? "old" : "now";
    const { all, is_short } = this.#lines![side];
    const at = line[side]! - 1;
    const from = is_short ? 0 : at - at % PIECE;
    const piece = is_short ? all : all.slice(from, from + PIECE);
    const name = `${side} ${from}`;
    if (this.#wanted.has(name)) return undefined;
    this.#wanted.add(name);
    const code = piece.map(({ text }) => text).join("\n");
    highlighter.want(code, language, (tokens) => {
      const lines = tokenLines(tokens);
      for (const [n, it] of piece.entries()) {
        // An unchanged line is coloured as it is now.
        if (side === "now" || it.kind === "delete") this.#colours.set(it, lines[n] ?? []);
      }
      this.#coloured.value++;
    });
    return undefined;
  }
}

/** The files of one scope. */
export class ChangesModel {
  readonly scope: Scope;
  readonly #client: Client;
  readonly #session_id: string;
  readonly #known = new Map<string, FileModel>();
  /** The listed files. */
  readonly files = signal<readonly FileModel[]>([]);
  #turn_id: string | undefined;

  constructor(client: Client, session_id: string, scope: Scope) {
    this.#client = client;
    this.#session_id = session_id;
    this.scope = scope;
  }

  /** Asks which files have changed. */
  async list(): Promise<Listing> {
    const listing = await this.#list();
    this.#take(listing);
    return listing;
  }

  async #list(): Promise<Listing> {
    const session_id = this.#session_id;
    if (this.scope === "uncommitted") {
      const { files, files_changed, added, deleted, truncated } = await this.#client.ask(
        "repository.changes",
        { session_id },
      );
      return { files, files_changed, added, deleted, truncated, others: [] };
    }
    let changes = await this.#client.ask("session.changes", { session_id });
    if (this.scope === "turn") {
      const turn_id = changes.turns.findLast(({ undone }) => !undone)?.turn_id;
      if (turn_id === undefined) {
        return { ...changes, files: [], files_changed: 0, added: 0, deleted: 0 };
      }
      changes = await this.#client.ask("session.changes", { session_id, turn_id });
      this.#turn_id = turn_id;
    }
    const { files, files_changed, added, deleted, others, problem } = changes;
    const truncated = files_changed > files.length;
    const turn_id = this.#turn_id;
    return { files, files_changed, added, deleted, truncated, others, problem, turn_id };
  }

  /** A file that was listed before keeps its state. */
  #take({ files }: Listing): void {
    const moved = new Set(files.map(({ renamed_from }) => renamed_from));
    const shown = files.filter(({ path, change }) => !(change === "deleted" && moved.has(path)));
    const models = shown.map((entry) => {
      const known = this.#known.get(entry.path);
      if (known === undefined) return new FileModel(entry, (file) => this.#text(file));
      if (JSON.stringify(known.entry.peek()) !== JSON.stringify(entry)) known.entry.value = entry;
      return known;
    });
    for (const it of models) this.#known.set(it.entry.peek().path, it);
    const before = this.files.peek();
    if (models.length !== before.length || models.some((it, n) => it !== before[n])) {
      this.files.value = models;
    }
  }

  async #text({ path, renamed_from }: ChangedFile): Promise<ChangedText> {
    const of = { session_id: this.#session_id, path, renamed_from };
    return this.scope === "uncommitted"
      ? await this.#client.ask("repository.changed_file", of)
      : await this.#client.ask("session.changed_file", {
        ...of,
        turn_id: this.scope === "turn" ? this.#turn_id : undefined,
      });
  }
}
