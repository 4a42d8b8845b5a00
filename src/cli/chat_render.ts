/** How a conversation looks on a terminal or in a pipe. */
import { bold, cyan, dim, green, italic, magenta, red, underline, yellow } from "@std/fmt/colors";
import { visible } from "../base/visible.ts";
import type { Change } from "../session/view.ts";
import { type ShownLine, shownLines } from "../session/view_lines.ts";
import { named } from "./own_name.ts";

/** Returns styles; they do nothing without colour. */
export function painter(colour: boolean) {
  const plain = (text: string) => text;
  return colour ? { bold, cyan, dim, green, italic, magenta, red, underline, yellow } : {
    bold: plain,
    cyan: plain,
    dim: plain,
    green: plain,
    italic: plain,
    magenta: plain,
    red: plain,
    underline: plain,
    yellow: plain,
  };
}

export type Paint = ReturnType<typeof painter>;

/** Returns the lines for a change other than the model's text; empty if it is not shown. */
export function changeLines(change: Change, paint: Paint): string[] {
  return shownLines(change).map((line) => painted(line, paint));
}

function painted({ tone, mark, text }: ShownLine, paint: Paint): string {
  switch (tone) {
    case "call":
      return `${paint.cyan(mark!)} ${text}`;
    case "done":
      return `${paint.green(mark!)} ${paint.dim(text)}`;
    case "failed":
      return `${paint.red(mark!)} ${paint.dim(text)}`;
    case "plain":
      return paint.dim(named(text));
    case "plan":
      return paint.cyan(text);
    case "warning":
      return paint.yellow(named(text));
    case "error":
      return paint.red(named(text));
  }
}

/** Reports whether output to this stream may have colour. */
export function wantsColour(stream: { isTerminal(): boolean }): boolean {
  return stream.isTerminal() && !Deno.noColor;
}

/** Code units before a piece that may form one character with it. */
const CONTEXT = 64;

/** Makes a model's text visible on a terminal; elsewhere it stays exact. */
export class ModelText {
  readonly #terminal: boolean;
  #before = "";

  constructor(terminal: boolean) {
    this.#terminal = terminal;
  }

  take(text: string): string {
    if (!this.#terminal) return text;
    const shown = visible(text, { before: this.#before });
    this.#before = (this.#before + text).slice(-CONTEXT);
    return shown;
  }
}
