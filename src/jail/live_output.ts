/** A preview of a command's output while it is written, as a terminal would show it by then. */
import type { OnOutput } from "../base/redraw.ts";
import { grouped } from "./output.ts";

export interface LiveOutputOptions {
  /** The shortest time between two calls; default: 100 ms, and 500 ms while lines are drawn again. */
  interval_ms?: number;
  /** The most characters in one call; default: 16 Ki. */
  max_chars?: number;
}

const INTERVAL_MS = 100;
const REDRAW_MS = 500;

/**
 * Passes on what is on a screen, at a rate that any consumer can handle: of the text that scrolls away
 * between two calls only the beginning is passed on, with a note of how much is missing.
 */
export class LiveOutput {
  readonly #deliver: OnOutput;
  readonly #rows: () => readonly string[];
  readonly #interval_ms: number | undefined;
  /** Characters of what has scrolled away, and of what can still change. */
  readonly #room: number;
  #scrolled = "";
  #dropped = 0;
  /** The lines that were passed on and can still change. */
  #shown: string[] = [""];
  #next_at = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param deliver is called from {@linkcode drawn}, from a timer and from {@linkcode close}
   * @param rows the lines on the screen that can still change
   */
  constructor(
    deliver: OnOutput,
    rows: () => readonly string[],
    { interval_ms, max_chars = 16 * 1024 }: LiveOutputOptions = {},
  ) {
    this.#deliver = deliver;
    this.#rows = rows;
    this.#interval_ms = interval_ms;
    // The note needs some of it.
    this.#room = (max_chars - 128) / 2;
  }

  /** Takes text that has scrolled away: it can no longer change. */
  scrolled(text: string): void {
    const room = this.#dropped > 0 ? 0 : Math.max(this.#room - this.#scrolled.length, 0);
    this.#scrolled += text.slice(0, room);
    this.#dropped += Math.max(text.length - room, 0);
  }

  /** Something was drawn: it is passed on when its time has come. */
  drawn(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#next_at - performance.now();
    if (wait <= 0) this.#flush();
    else this.#timer = setTimeout(() => this.#flush(), wait);
  }

  /** Passes on the rest and stops the timer. */
  close(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const before = this.#shown;
    const lines = this.#take();
    const piece = pieceFor(before, lines);
    if (piece === undefined) return;
    const { text, redraws } = piece;
    const interval_ms = redraws === undefined ? INTERVAL_MS : REDRAW_MS;
    this.#next_at = performance.now() + (this.#interval_ms ?? interval_ms);
    this.#deliver(text, redraws);
  }

  /** Returns the lines from the first one on that could change after the last call. */
  #take(): string[] {
    const all = this.#rows().join("\n");
    const left = all.slice(-this.#room).toWellFormed();
    const dropped = this.#dropped + all.length - left.length;
    const note = dropped === 0
      ? ""
      : `${/(?:^|\n)$/.test(this.#scrolled) ? "" : "\n"}[… ${grouped(dropped)} bytes left out …]\n`;
    const text = this.#scrolled.toWellFormed() + note + left;
    this.#shown = left.split("\n");
    this.#scrolled = "";
    this.#dropped = 0;
    return text.split("\n");
  }
}

/** Returns what makes some last lines others; undefined for the same. */
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
