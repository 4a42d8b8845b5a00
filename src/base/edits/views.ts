/**
 * Views of texts for comparison. Each step ignores more of the mistakes that models make when they
 * copy, but nothing that could be another text.
 */

/** What each step ignores, in addition to the ones before. */
export type Step =
  | "exact"
  | "line ends"
  | "trailing blanks"
  | "typographic characters"
  | "indentation";

/** Steps that compare text; indentation is compared line by line. */
export type TextStep = Exclude<Step, "exact" | "indentation">;

/** A text as a step sees it, with the source of each unit. */
interface View {
  text: string;
  /** Start of each unit's source; units of one character share it. */
  starts: Uint32Array;
  /** End of each unit's source. */
  ends: Uint32Array;
}

const PLAIN_FORMS: Readonly<Record<string, string>> = {
  "\u2018": "'",
  "\u2019": "'",
  "\u201a": "'",
  "\u201b": "'",
  "\u2032": "'",
  "\u201c": '"',
  "\u201d": '"',
  "\u201e": '"',
  "\u201f": '"',
  "\u2033": '"',
  "\u00ab": '"',
  "\u00bb": '"',
  "\u2010": "-",
  "\u2011": "-",
  "\u2012": "-",
  "\u2013": "-",
  "\u2014": "-",
  "\u2015": "-",
  "\u2212": "-",
  "\u2026": "...",
  "\u00a0": " ",
  "\u2002": " ",
  "\u2003": " ",
  "\u2004": " ",
  "\u2005": " ",
  "\u2006": " ",
  "\u2007": " ",
  "\u2008": " ",
  "\u2009": " ",
  "\u200a": " ",
  "\u202f": " ",
  "\u205f": " ",
  "\u3000": " ",
  // Invisible, and often lost in copies.
  "\u200b": "",
  "\ufeff": "",
};

const NOT_ASCII = /\P{ASCII}/u;
const BLANKS = /[ \t]*/y;
/** A character with combining marks. */
const MARKED = /.\p{M}+/suy;

export function viewOf(text: string, step: TextStep): View {
  const trailing = step !== "line ends";
  const typographic = step === "typographic characters" && NOT_ASCII.test(text);
  let seen = "";
  // An ellipsis becomes three units.
  const starts = new Uint32Array(text.length * (typographic ? 3 : 1));
  const ends = new Uint32Array(starts.length);
  const add = (plain: string, start: number, end: number) => {
    for (let n = 0; n < plain.length; n++) {
      starts[seen.length + n] = start;
      ends[seen.length + n] = end;
    }
    seen += plain;
  };
  for (let at = 0; at < text.length;) {
    let end = at;
    if (trailing) {
      BLANKS.lastIndex = at;
      end += BLANKS.exec(text)![0].length;
    }
    const newline = text.startsWith("\r\n", end) ? 2 : text[end] === "\n" ? 1 : 0;
    if (newline > 0) {
      add("\n", at, end += newline);
    } else if (trailing && end === text.length) {
      break;
    } else if (end > at) {
      while (at < end) add(text[at], at, ++at);
    } else if (!typographic) {
      add(text[at], at, end = at + 1);
    } else {
      MARKED.lastIndex = at;
      const whole = MARKED.exec(text)?.[0] ?? text[at];
      add(PLAIN_FORMS[whole] ?? whole.normalize("NFC"), at, end = at + whole.length);
    }
    at = Math.max(at, end);
  }
  return {
    text: seen,
    starts: starts.subarray(0, seen.length),
    ends: ends.subarray(0, seen.length),
  };
}

/** A line without its indentation, in the last step's view. */
export function lineOf(line: string): string {
  return viewOf(line, "typographic characters").text.trim();
}

/** A line's indentation; empty for a blank line. */
export function indentOf(line: string): string {
  const [blanks] = line.match(/^[ \t]*/)!;
  return blanks.length === line.trimEnd().length && line.trim() === "" ? "" : blanks;
}
