/** Paints screens on a terminal: only changed rows, at most ten times a second, keys at once. */
import type { Screen } from "../features/tui/render.ts";
import type { Line } from "../features/tui/text.ts";
import { type Selected, selectedIn, selectedText } from "./terminal_selection.ts";
import type { Paint } from "./theme.ts";

export interface PainterParts {
  draw(): Screen;
  write(text: string): Promise<void>;
  /** The current theme. */
  paint(): Paint;
  /** Whether the terminal follows links. */
  links?: boolean;
  /** Called after each frame. */
  onPainted(): void;
}

/** From the start of one frame to the next. */
const FRAME_MS = 100;
/** The same after a key. */
const KEY_FRAME_MS = 8;
const BEGIN = "\x1b[?2026h\x1b[?25l";
const END = "\x1b[?2026l";
const SHOW_CURSOR = "\x1b[?25h";
const CLEAR = "\x1b[0m\x1b[2J";
// deno-lint-ignore no-control-regex -- they are what must not get through
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

export class Painter {
  readonly #parts: PainterParts;
  /** The rows that the terminal shows, if known. */
  #shown: string[] | undefined;
  #cursor = "";
  #wanted = false;
  /** Whether a key waits to be shown. */
  #urgent = false;
  /** At first nobody has seen anything: what comes at once is in the first frame. */
  #last_at = performance.now();
  #timer: number | undefined;
  #painting: Promise<void> | undefined;
  #closed = false;
  /** The screen that was drawn last; it stays while something of it is selected. */
  #screen: Screen = { lines: [] };
  #selected: Selected | undefined;
  #held = false;

  constructor(parts: PainterParts) {
    this.#parts = parts;
  }

  /** Paints soon. */
  request(): void {
    this.#wanted = true;
    if (this.#timer === undefined) this.#after(this.#urgent ? KEY_FRAME_MS : FRAME_MS);
  }

  /** Paints what a person waits for, such as what a key has changed. */
  hurry(): void {
    this.#wanted = this.#urgent = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#after(KEY_FRAME_MS);
  }

  #after(frame_ms: number): void {
    if (this.#painting !== undefined || this.#closed || this.#held) return;
    const wait_ms = Math.max(this.#last_at + frame_ms - performance.now(), 0);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#painting = this.#frame().finally(() => {
        this.#painting = undefined;
        if (this.#wanted) this.request();
      });
    }, wait_ms);
  }

  /** Repaints everything: the terminal may show anything. */
  forget(): void {
    this.#shown = undefined;
    this.request();
  }

  /** Marks a part of the screen, which then stays as it is; undefined ends that. */
  set selected(selected: Selected | undefined) {
    this.#selected = selected;
    this.request();
  }

  /** The text that is marked. */
  get selectedText(): string {
    if (this.#selected === undefined) return "";
    return selectedText(this.#screen.lines, this.#selected);
  }

  /** Paints nothing until it is released: what nobody sees must not count as seen. */
  hold(held: boolean): void {
    this.#held = held;
    if (!held) this.forget();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #frame(): Promise<void> {
    if (this.#held) return;
    this.#wanted = this.#urgent = false;
    this.#last_at = performance.now();
    if (this.#selected === undefined) this.#screen = this.#parts.draw();
    const text = this.#changes(this.#screen);
    if (text !== "") await this.#parts.write(text);
    this.#parts.onPainted();
  }

  /** Returns the output that updates the terminal. */
  #changes({ lines, cursor }: Screen): string {
    const paint = this.#parts.paint();
    const rows = lines.map((line, row) => {
      const marked = this.#selected && selectedIn(line, row, this.#selected);
      return marked ?? encode(line, paint, this.#parts.links);
    });
    const known = this.#shown;
    const out: string[] = known === undefined ? [CLEAR] : [];
    for (const [index, row] of rows.entries()) {
      if (row === (known?.[index] ?? "")) continue;
      // Cleared first: after a full row the cursor stands on its last column.
      out.push(`\x1b[${index + 1};1H\x1b[0m\x1b[K${row}`);
    }
    const at = cursor === undefined
      ? ""
      : `\x1b[${cursor.row + 1};${cursor.col + 1}H${SHOW_CURSOR}`;
    this.#shown = rows;
    if (out.length === 0 && at === this.#cursor) return "";
    this.#cursor = at;
    return `${BEGIN}${out.join("")}${at}${END}`;
  }
}

/** Returns a line with its styles, and its links (OSC 8) if asked for, without other control characters. */
export function encode(line: Line, paint: Paint, links = false): string {
  return line.map(({ text, style, on, look, href }) => {
    const safe = text.replace(CONTROL, "\ufffd");
    const styled = paint.span({ text: safe, style, on, look });
    if (href === undefined || !links) return styled;
    return `\x1b]8;;${href.replace(CONTROL, "")}\x1b\\${styled}\x1b]8;;\x1b\\`;
  }).join("");
}
