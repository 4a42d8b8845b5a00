/** Paints screens on a terminal: only changed rows, at most ten times a second. */
import type { Screen } from "../features/tui/render.ts";
import type { Line } from "../features/tui/text.ts";
import type { Paint } from "./chat_render.ts";

export interface PainterParts {
  draw(): Screen;
  write(text: string): Promise<void>;
  paint: Paint;
  /** Called after each frame. */
  onPainted(): void;
}

/** From the start of one frame to the next. */
const FRAME_MS = 100;
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
  #last_at = -Infinity;
  #timer: number | undefined;
  #painting: Promise<void> | undefined;
  #closed = false;
  #held = false;

  constructor(parts: PainterParts) {
    this.#parts = parts;
  }

  /** Paints soon. */
  request(): void {
    this.#wanted = true;
    if (this.#timer !== undefined || this.#painting !== undefined) return;
    if (this.#closed || this.#held) return;
    const wait_ms = Math.max(this.#last_at + FRAME_MS - performance.now(), 0);
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
    this.#wanted = false;
    this.#last_at = performance.now();
    const text = this.#changes(this.#parts.draw());
    if (text !== "") await this.#parts.write(text);
    this.#parts.onPainted();
  }

  /** Returns the output that updates the terminal. */
  #changes({ lines, cursor }: Screen): string {
    const rows = lines.map((line) => encode(line, this.#parts.paint));
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

/** Returns a line with its styles and links (OSC 8), without other control characters. */
export function encode(line: Line, paint: Paint): string {
  return line.map(({ text, style, href }) => {
    const safe = text.replace(CONTROL, "\ufffd");
    const styled = style === "plain" ? safe : paint[style](safe);
    if (href === undefined) return styled;
    return `\x1b]8;;${href.replace(CONTROL, "")}\x1b\\${styled}\x1b]8;;\x1b\\`;
  }).join("");
}
