/** Coloured pieces of code, whatever found them. */

/** What a piece of code is; `web/styles/highlight.css` has a colour for each. */
export type Tone =
  | "keyword"
  | "string"
  | "number"
  | "comment"
  | "title"
  | "type"
  | "addition"
  | "deletion";

export interface Token {
  text: string;
  /** Absent for what is not coloured. */
  tone?: Tone;
}

/** The tokens of each line, without the line ends. */
export function linesOf(tokens: readonly Token[]): Token[][] {
  const lines: Token[][] = [[]];
  for (const { text, tone } of tokens) {
    for (const [n, part] of text.split("\n").entries()) {
      if (n > 0) lines.push([]);
      if (part !== "") lines.at(-1)!.push({ text: part, tone });
    }
  }
  return lines;
}
