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
  /** At its own size, however large. */
  whole: boolean;
}

/** From the frame, once. */
export interface Answer {
  /** Why it was not drawn; nothing where it was. */
  failure?: string;
}

/** Characters of a diagram. */
export const CODE_MAX = 20_000;
/** Lines and statements of one; the time for a layout grows faster than they do. */
export const STATEMENTS_MAX = 300;
/** Characters of a reason. */
const FAILURE_MAX = 200;

/** Returns why code is not drawn at all. */
export function refusal(code: string): string | undefined {
  if (code.length > CODE_MAX) return `it has more than ${CODE_MAX} characters`;
  const parts = code.match(/[\n;&]|--|==|-\./g)?.length ?? 0;
  return parts > STATEMENTS_MAX ? `it has more than ${STATEMENTS_MAX} parts` : undefined;
}

/** Reads an answer: whatever runs in the frame could have written it. */
export function answerOf(data: unknown): Answer {
  const { failure } = Object(data);
  if (failure === undefined) return {};
  return { failure: String(failure).slice(0, FAILURE_MAX) };
}
