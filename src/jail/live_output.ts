/** A live preview of a command's output, as a terminal would show it. */
import type { OnOutput } from "../base/redraw.ts";
import { PLAIN_LOOK, runsOf } from "../base/looks.ts";
import { grouped } from "./output.ts";
import type { Screen } from "./screen.ts";

export interface LiveOutputOptions {
  /** Time between calls. Default: 100 ms, and 500 ms while lines are redrawn. */
  interval_ms?: number;
  /** Characters in one call. */
  max_chars?: number;
}

const INTERVAL_MS = 100;
const REDRAW_MS = 500;

/**
 * Delivers the screen at a rate that any consumer can handle. Of text that scrolls away between two
 * calls it delivers only the beginning, with a note of how much is missing.
 */
export class LiveOutput {
  readonly #deliver: OnOutput;
  readonly #screen: Pick<Screen, "rows" | "looks">;
  readonly #interval_ms: number | undefined;
  /** Characters kept of scrolled text, and of text that can still change. */
  readonly #room: number;
  #scrolled = "";
  /** Looks of {@linkcode #scrolled}, and perhaps fewer. */
  #looks = "";
  #dropped = 0;
  /** Lines already delivered that can still change. */
  #shown: string[] = [""];
  #next_at = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param deliver called from {@linkcode drawn}, {@linkcode close} and a timer
   * @param screen has the lines that can still change
   */
  constructor(
    deliver: OnOutput,
    screen: Pick<Screen, "rows" | "looks">,
    { interval_ms, max_chars = 16 * 1024 }: LiveOutputOptions = {},
  ) {
    this.#deliver = deliver;
    this.#screen = screen;
    this.#interval_ms = interval_ms;
    // Leaves room for the note.
    this.#room = (max_chars - 128) / 2;
  }

  /** Takes text that scrolled away. */
  scrolled(text: string, looks = ""): void {
    const room = this.#dropped > 0 ? 0 : Math.max(this.#room - this.#scrolled.length, 0);
    if (looks !== "" || this.#looks !== "") {
      this.#looks = this.#looks.padEnd(this.#scrolled.length, PLAIN_LOOK) + looks.slice(0, room);
    }
    this.#scrolled += text.slice(0, room);
    this.#dropped += Math.max(text.length - room, 0);
  }

  /** Delivers the change when it is due. */
  drawn(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#next_at - performance.now();
    if (wait <= 0) this.#flush();
    else this.#timer = setTimeout(() => this.#flush(), wait);
  }

  /** Delivers the rest and stops the timer. */
  close(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const before = this.#shown;
    const { lines, looks } = this.#take();
    const piece = pieceFor(before, lines);
    if (piece === undefined) return;
    const { text, redraws } = piece;
    const interval_ms = redraws === undefined ? INTERVAL_MS : REDRAW_MS;
    this.#next_at = performance.now() + (this.#interval_ms ?? interval_ms);
    const runs = looks === "" ? undefined : runsOf(looks.slice(looks.length - text.length));
    this.#deliver(text, redraws, runs);
  }

  /** Returns the lines from the first that could have changed. */
  #take(): { lines: string[]; looks: string } {
    const all = this.#screen.rows.join("\n");
    const left = all.slice(-this.#room).toWellFormed();
    const dropped = this.#dropped + all.length - left.length;
    const note = dropped === 0
      ? ""
      : `${/(?:^|\n)$/.test(this.#scrolled) ? "" : "\n"}[… ${grouped(dropped)} bytes left out …]\n`;
    const text = this.#scrolled.toWellFormed() + note + left;
    const rows = this.#screen.looks?.join("\n") ?? "";
    const looks = rows === "" && this.#looks === "" ? "" : [
      this.#looks.padEnd(this.#scrolled.length, PLAIN_LOOK),
      PLAIN_LOOK.repeat(note.length),
      rows.padEnd(all.length, PLAIN_LOOK).slice(all.length - left.length),
    ].join("");
    this.#looks = "";
    this.#shown = left.split("\n");
    this.#scrolled = "";
    this.#dropped = 0;
    return { lines: text.split("\n"), looks };
  }
}

/** Returns the change between two lists of last lines; undefined if they are equal. */
function pieceFor(
  before: readonly string[],
  after: readonly string[],
): { text: string; redraws?: number } | undefined {
  const last = before.length - 1;
  let same = 0;
  while (same < last && same < after.length && before[same] === after[same]) same++;
  if (same === last && after.length > last && after[last].startsWith(before[last])) {
    const text = after.slice(last).join("\n").slice(before[last].length);
    return text === "" ? undefined : { text };
  }
  const from = Math.min(same, after.length - 1);
  return { text: after.slice(from).join("\n"), redraws: before.length - from };
}
