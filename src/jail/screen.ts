/**
 * Shows output as a terminal would: a redrawn line is its last state. Lines that can no longer
 * change are passed on; only the last ones are kept.
 */

import { lookAfter, looksLike } from "../base/looks.ts";

/** How far up the cursor gets: a tall window. */
const ROWS_MAX = 120;
/** Assumed height, for absolute positions. */
const WINDOW_ROWS = 24;
/** Characters of a line that can still change. */
const ROW_MAX = 32 * 1024;
const PARAMETERS_MAX = 64;
const STRING_MAX = 4 * 1024;

/** Ends a run of ordinary characters. */
// deno-lint-ignore no-control-regex
const SPECIAL = /[\x00-\x08\x0a-\x1f\x7f\x9b]/g;
// deno-lint-ignore no-control-regex
const SEQUENCE = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|([\]PX^_])|[ -/]*([0-OQ-WYZ\\`-~]))/y;
// deno-lint-ignore no-control-regex
const STRING_END = /\x07|\x1b\\/g;

// deno-lint-ignore no-control-regex
const DRAWS = /[\x08\r\x1b\x9b]/;
// deno-lint-ignore no-control-regex
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f\x9b]/g;
// deno-lint-ignore no-control-regex
const OPEN_SEQUENCE = /^\x1b(?:\[[0-?]*)?[ -/]*$/;
const ALTERNATE = /^\?(?:47|1047|1049)$/;

interface Place {
  row: number;
  column: number;
}

export class Screen {
  readonly #onScrolled: (text: string, looks: string) => void;
  /** A screen with the looks of this one's characters in their places, once one is not plain. */
  #twin: Screen | undefined;
  /** Looks that have scrolled away with text that has not yet. */
  #passed = "";
  #look = 0;
  #rows: string[] = [""];
  #at: Place = { row: 0, column: 0 };
  /** The first row of the window. */
  #top = 0;
  #saved: Place = { row: 0, column: 0 };
  /** An incomplete escape sequence. */
  #open = "";
  /** The screen below an alternate screen. */
  #below: { rows: string[]; at: Place; top: number } | undefined;

  /**
   * @param onScrolled receives text that can no longer change, in order, with its looks
   * (`base/looks.ts`), which are empty where nothing had any yet
   */
  constructor(onScrolled: (text: string, looks: string) => void) {
    this.#onScrolled = onScrolled;
  }

  /** The looks of {@linkcode rows}; undefined where all are plain. */
  get looks(): readonly string[] | undefined {
    return this.#twin?.rows;
  }

  /** The lines that can still change. */
  get rows(): readonly string[] {
    return this.#rows;
  }

  get column(): number {
    return this.#at.column;
  }

  write(text: string): void {
    let rest = this.#open + text;
    this.#open = "";
    if (!DRAWS.test(rest) && this.#atEnd) rest = this.#passOn(rest);
    for (let at = 0; at < rest.length;) {
      SPECIAL.lastIndex = at;
      const end = SPECIAL.exec(rest)?.index ?? rest.length;
      if (end > at) this.#put(rest.slice(at, end));
      if (end === rest.length) break;
      at = rest[end] === "\x1b" ? this.#escape(rest, end) : this.#control(rest[end], end);
    }
  }

  /** Passes on everything that is left. */
  end(): void {
    this.#twin?.end();
    if (this.#below !== undefined) this.#leave();
    this.#scrolled(this.#rows.join("\n"));
    this.#clear();
  }

  #scrolled(text: string): void {
    const looks = this.#passed;
    this.#passed = "";
    this.#onScrolled(text, looks);
  }

  /** Takes a sequence that selects a look. */
  #select(parameters: string): void {
    this.#look = lookAfter(this.#look, parameters);
    if (this.#look === 0 || this.#twin !== undefined) return;
    const twin = new Screen((looks) => this.#passed += looks);
    twin.#rows = this.#rows.map((row) => looksLike(row));
    twin.#at = { ...this.#at };
    twin.#top = this.#top;
    twin.#saved = { ...this.#saved };
    const below = this.#below;
    twin.#below = below && { ...below, rows: below.rows.map((row) => looksLike(row)) };
    this.#twin = twin;
  }

  #clear(): void {
    this.#rows = [""];
    this.#at = { row: 0, column: 0 };
    this.#top = 0;
  }

  get #atEnd(): boolean {
    const last = this.#rows.length - 1;
    return this.#below === undefined && this.#at.row === last &&
      this.#at.column === this.#rows[last].length;
  }

  /**
   * Passes on all but the last lines of a text without control sequences, because fast output has
   * many lines. @returns what is left to draw
   */
  #passOn(text: string): string {
    let from = text.length;
    for (let rows = 0; rows < WINDOW_ROWS && from > 0; rows++) {
      from = text.lastIndexOf("\n", from - 1);
      if (from < 0) return text;
    }
    if (from <= 0) return text;
    const seen = text.slice(0, from + 1).replace(UNSEEN, "");
    const twin = this.#twin;
    if (twin !== undefined) {
      this.#passed += `${twin.rows.join("\n")}${looksLike(seen, this.#look)}`;
      twin.#clear();
    }
    this.#scrolled(`${this.#rows.join("\n")}${seen}`);
    this.#clear();
    return text.slice(from + 1);
  }

  #put(text: string): void {
    if (this.#twin !== undefined) this.#twin.#put(looksLike(text, this.#look));
    const { row, column } = this.#at;
    const line = this.#rows[row];
    if (column === line.length) this.#rows[row] = line + text;
    else {
      this.#rows[row] = line.slice(0, column).padEnd(column) + text +
        line.slice(column + text.length);
    }
    this.#at.column = column + text.length;
    if (this.#rows[row].length > ROW_MAX) this.#cutRow();
  }

  /** Passes on the beginning of a very long line, with all lines above it. */
  #cutRow(): void {
    const { row } = this.#at;
    const line = this.#rows[row];
    const half = /[\uD800-\uDBFF]$/.test(line) ? line.length - 1 : line.length;
    this.#scrolled([...this.#rows.slice(0, row), line.slice(0, half)].join("\n"));
    this.#rows = [line.slice(half), ...this.#rows.slice(row + 1)];
    this.#at = { row: 0, column: this.#rows[0].length };
    this.#top = 0;
  }

  /** @returns where the text goes on */
  #control(char: string, at: number): number {
    if (this.#twin !== undefined) this.#twin.#control(char, at);
    if (char === "\n") this.#down(1, 0);
    else if (char === "\r") this.#at.column = 0;
    else if (char === "\b") this.#at.column = Math.max(this.#at.column - 1, 0);
    // Tabs stay, because their positions would be a guess.
    return at + 1;
  }

  #down(count: number, column = this.#at.column): void {
    const row = this.#at.row + count;
    while (this.#rows.length <= row) this.#rows.push("");
    this.#at = { row, column };
    this.#top = Math.max(this.#top, this.#rows.length - WINDOW_ROWS);
    const over = this.#rows.length - ROWS_MAX;
    if (over <= 0) return;
    const gone = this.#rows.splice(0, over);
    // An alternate screen has no scrollback.
    if (this.#below === undefined) this.#scrolled(gone.map((line) => `${line}\n`).join(""));
    // Rows were put in above the cursor's, which may be one of the first.
    this.#at.row = Math.max(this.#at.row - over, 0);
    this.#top = Math.max(this.#top - over, 0);
    this.#saved.row = Math.max(this.#saved.row - over, 0);
  }

  /** @returns where the text goes on */
  #escape(text: string, at: number): number {
    SEQUENCE.lastIndex = at;
    const found = SEQUENCE.exec(text);
    if (found === null) {
      const waits = text.length - at <= PARAMETERS_MAX && OPEN_SEQUENCE.test(text.slice(at));
      if (!waits) return at + 1;
      this.#open = text.slice(at);
      return text.length;
    }
    const [whole, parameters, final, string, simple] = found;
    if (string !== undefined) {
      STRING_END.lastIndex = at + 2;
      const end = STRING_END.exec(text);
      if (end !== null) return end.index + end[0].length;
      if (text.length - at > STRING_MAX) return at + whole.length;
      this.#open = text.slice(at);
      return text.length;
    }
    if (simple !== undefined) this.#simple(simple);
    else if (final === "m") this.#select(parameters);
    else this.#sequence(final, parameters);
    return at + whole.length;
  }

  #simple(final: string): void {
    if (this.#twin !== undefined) this.#twin.#simple(final);
    if (final === "7") this.#saved = { ...this.#at };
    else if (final === "8") this.#moveTo(this.#saved.row, this.#saved.column);
    else if (final === "D") this.#down(1);
    else if (final === "E") this.#down(1, 0);
    else if (final === "M") this.#moveTo(this.#at.row - 1, this.#at.column);
    else if (final === "c") this.#erase("2");
  }

  #sequence(final: string, parameters: string): void {
    if (this.#twin !== undefined) this.#twin.#sequence(final, parameters);
    const { row, column } = this.#at;
    const [first, second] = parameters.split(";").map((each) => Number.parseInt(each));
    const count = Math.min(first || 1, ROW_MAX);
    switch (final) {
      case "A":
        return this.#moveTo(row - count, column);
      case "B":
        return this.#down(Math.min(count, ROWS_MAX));
      case "C":
        return this.#moveTo(row, column + count);
      case "D":
        return this.#moveTo(row, column - count);
      case "E":
        return this.#down(Math.min(count, ROWS_MAX), 0);
      case "F":
        return this.#moveTo(row - count, 0);
      case "G":
      case "`":
        return this.#moveTo(row, count - 1);
      case "d":
        return this.#moveTo(this.#top + count - 1, column);
      case "H":
      case "f":
        return this.#moveTo(this.#top + count - 1, Math.min(second || 1, ROW_MAX) - 1);
      case "J":
        return this.#erase(parameters);
      case "K":
        return this.#eraseInLine(parameters);
      case "P":
        return this.#replace((line) => line.slice(0, column) + line.slice(column + count));
      case "X":
        return this.#replace((line) =>
          line.slice(0, column) + " ".repeat(Math.min(count, line.length - column)) +
          line.slice(column + count)
        );
      case "@":
        return this.#replace((line) =>
          line.slice(0, column) + " ".repeat(count) + line.slice(column)
        );
      case "L":
        this.#rows.splice(row, 0, ...Array(Math.min(count, ROWS_MAX)).fill(""));
        return this.#down(0);
      case "M":
        this.#rows.splice(row, count);
        return this.#down(0);
      case "s":
        this.#saved = { ...this.#at };
        return;
      case "u":
        return this.#moveTo(this.#saved.row, this.#saved.column);
      case "h":
        if (ALTERNATE.test(parameters)) this.#enter();
        return;
      case "l":
        if (ALTERNATE.test(parameters)) this.#leave();
    }
  }

  #moveTo(row: number, column: number): void {
    this.#at = { row: Math.max(row, 0), column: Math.min(Math.max(column, 0), ROW_MAX) };
    this.#down(0);
  }

  #replace(change: (line: string) => string): void {
    const { row, column } = this.#at;
    if (column < this.#rows[row].length) this.#rows[row] = change(this.#rows[row]);
  }

  #eraseInLine(parameters: string): void {
    const { row, column } = this.#at;
    const line = this.#rows[row];
    this.#rows[row] = parameters === "2"
      ? ""
      : parameters === "1"
      ? " ".repeat(Math.min(column + 1, line.length)) + line.slice(column + 1)
      : line.slice(0, column);
  }

  #erase(parameters: string): void {
    const { row } = this.#at;
    if (parameters === "1") {
      for (let n = this.#top; n < row; n++) this.#rows[n] = "";
      return this.#eraseInLine("1");
    }
    if (parameters === "2" || parameters === "3") {
      const { column } = this.#at;
      this.#rows.length = this.#top;
      return this.#moveTo(row, column);
    }
    this.#rows.length = row + 1;
    this.#eraseInLine("0");
  }

  #enter(): void {
    if (this.#below !== undefined) return;
    this.#below = { rows: this.#rows, at: this.#at, top: this.#top };
    this.#clear();
  }

  #leave(): void {
    if (this.#below === undefined) return;
    ({ rows: this.#rows, at: this.#at, top: this.#top } = this.#below);
    this.#below = undefined;
  }
}

/** Returns what a person would see of a whole output. */
export function onScreen(text: string): string {
  if (text.search(UNSEEN) < 0) return text;
  let seen = "";
  const screen = new Screen((scrolled) => seen += scrolled);
  screen.write(text);
  screen.end();
  return seen;
}
