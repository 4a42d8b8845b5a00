/** What the page and the frame of a diagram tell each other. */

/** Colours as `rgb(…)`. */
export interface Colours {
  back: string;
  node: string;
  text: string;
  line: string;
  accent: string;
  /** Of parts that are told apart by colour. */
  plots: string[];
}

/** From the page, once: with the port that answers go to. */
export interface Asked {
  code: string;
  colours: Colours;
  dark: boolean;
}

/** From the frame, once. */
export interface Answer {
  /** Why it was not drawn; nothing where it was. */
  failure?: string;
  /** The size of the picture, in pixels. */
  width?: number;
  height?: number;
}

/** Characters of a diagram. */
export const CODE_MAX = 20_000;
/** Lines and statements of one; the time for a layout grows faster than they do. */
export const STATEMENTS_MAX = 300;
/** Characters of a reason. */
const FAILURE_MAX = 200;
/** Characters of a name. */
const NAME_MAX = 80;
/** Pixels of a side. */
const SIDE_MAX = 10_000;

/** Returns why code is not drawn at all. */
export function refusal(code: string): string | undefined {
  if (code.length > CODE_MAX) return `it has more than ${CODE_MAX} characters`;
  const parts = code.match(/[\n;&]|--|==|-\./g)?.length ?? 0;
  return parts > STATEMENTS_MAX ? `it has more than ${STATEMENTS_MAX} parts` : undefined;
}

/** Reads an answer: whatever runs in the frame could have written it. */
export function answerOf(data: unknown): Answer {
  const { failure, width, height } = Object(data);
  if (failure !== undefined) return { failure: String(failure).slice(0, FAILURE_MAX) };
  return { width: sideOf(width), height: sideOf(height) };
}

function sideOf(side: unknown): number | undefined {
  return typeof side === "number" && side > 0 ? Math.min(Math.ceil(side), SIDE_MAX) : undefined;
}

/** What a diagram says that it shows; else its first line, which names its kind. */
export function nameOf(code: string): string {
  const stated = /^[ \t]*(?:accTitle|title)(?:[ \t]*:|[ \t])[ \t]*(\S.*)$/m.exec(code)?.[1];
  const head = /^\s*---[ \t]*\n[^]*?\n[ \t]*---[ \t]*(?:\n|$)/;
  const lines = code.replace(head, "").split("\n").map((line) => line.trim());
  const name = stated ?? lines.find((line) => line !== "" && !line.startsWith("%%")) ?? "";
  return name.slice(0, NAME_MAX).trim();
}
