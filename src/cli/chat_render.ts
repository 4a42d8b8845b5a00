/** How a conversation looks on a terminal or in a pipe. */
import type { ThemeName } from "../protocol/themes.ts";
import { styleOfLook } from "../features/tui/looks.ts";
import { visible } from "../base/visible.ts";
import type { Change } from "../session/view.ts";
import type { NumberedRow } from "../session/diff_rows.ts";
import { type ShownLine, shownLines } from "../session/view_lines.ts";
import { env } from "./environment.ts";
import { named } from "./own_name.ts";
import { type Paint, themed } from "./theme.ts";
import { themeFor } from "./theme_choice.ts";

export type { Paint };

/** Returns styles for a stream, in the person's theme; they do nothing without colour. */
export function painter(stream: { isTerminal(): boolean }, name: ThemeName = "auto"): Paint {
  return themed(themeFor(stream, name, env));
}

/** Returns the lines for a change other than the model's text; empty if it is not shown. */
export function changeLines(change: Change, paint: Paint): string[] {
  return shownLines(change).map((line) => painted(line, paint));
}

/** Returns a line of a difference with its number and sign, and with its changed words marked. */
export function diffPainted({ margin, mark, text, parts }: NumberedRow, paint: Paint): string {
  if (mark === " " || mark === "⋮") return paint.dim(`${margin}${mark} ${text}`);
  const [style, word] = mark === "+"
    ? ["added", "added_word"] as const
    : ["removed", "removed_word"] as const;
  const words = (parts ?? [{ text, changed: false }]).map(({ text, changed }) =>
    paint.span({ text, style: "plain", on: changed ? word : style })
  );
  return `${paint.dim(margin)}${paint[style](mark)} ${words.join("")}`;
}

function painted({ tone, mark, text, looks, diff }: ShownLine, paint: Paint): string {
  const output = () =>
    (looks ?? [{ text, look: 0 }]).map(({ text, look }) =>
      paint.span({ text, look, style: look === 0 ? "dim" : styleOfLook(look) })
    ).join("");
  switch (tone) {
    case "call":
      return `${paint.accent(mark!)} ${text}`;
    case "done":
      return `${paint.success(mark!)} ${output()}`;
    case "failed":
      return `${paint.error(mark!)} ${output()}`;
    case "plain":
      return looks === undefined ? paint.dim(named(text)) : output();
    case "plan":
      return paint.accent(text);
    case "head":
      return paint.bold(text);
    case "diff":
      return `  ${diffPainted(diff!, paint)}`;
    case "warning":
      return paint.warning(named(text));
    case "error":
      return paint.error(named(text));
  }
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
