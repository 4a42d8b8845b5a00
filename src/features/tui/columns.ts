/** Columns of text of every script. Large; loaded by `text.ts`. */
import wrapAnsi from "wrap-ansi";

export { default as width } from "string-width";

/** As `wrap` of `text.ts`. */
export function wrap(text: string, cols: number): string[] {
  return wrapAnsi(text, cols, { hard: true, trim: false }).split("\n");
}
