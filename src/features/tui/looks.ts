/** Colours of commands' output in entries and rows. */
import { lookOf, partsByRuns } from "../../base/looks.ts";
import { growEntry } from "./entries.ts";
import type { Entry } from "./model.ts";
import { clean, type Line, type Span, type Style } from "./text.ts";

/** The styles of the colours of `base/looks.ts`, by their numbers: themes can show those. */
const STYLES: readonly Style[] = [
  "plain",
  "error",
  "success",
  "warning",
  "accent",
  "keyword",
  "code",
  "dim",
];

/** Returns the style that has the colour of a look. */
export function styleOfLook(look: number): Style {
  return STYLES[lookOf(look).colour];
}

/**
 * Appends output to an entry, with its looks.
 *
 * @param runs of the text as it came
 * @param max characters kept of the entry
 */
export function growLooked(
  entry: Entry,
  text: string,
  runs: readonly number[] | undefined,
  max?: number,
): void {
  for (const part of partsByRuns(text, runs)) {
    const shown = clean(part.text, entry.lines.at(-1));
    if (part.look > 0) noteLooks(entry, shown, part.look);
    growEntry(entry, shown, max);
  }
}

/** Notes the look of a text that comes next. */
function noteLooks(entry: Entry, text: string, look: number): void {
  const { lines, looks = [] } = entry;
  const last = lines.length - 1;
  for (const [n, piece] of text.split("\n").entries()) {
    if (piece === "") continue;
    const from = n === 0 ? lines[last].length : 0;
    looks[last + n] = [...looks[last + n] ?? [], from, piece.length, look];
  }
  entry.looks = looks;
}

/** A part of an entry's line in its looks. @param from where the text begins in it */
export function lookedLine(
  { looks }: Entry,
  line: number,
  text: string,
  style: Style,
  from = 0,
): Line {
  const runs = looks?.[line];
  if (runs == null) return [{ text, style }];
  const within: number[] = [];
  for (let n = 0; n + 2 < runs.length; n += 3) {
    const begin = Math.max(runs[n] - from, 0);
    const end = Math.min(runs[n] + runs[n + 1] - from, text.length);
    if (end > begin) within.push(begin, end - begin, runs[n + 2]);
  }
  return partsByRuns(text, within).map(({ text, look }): Span =>
    look === 0 ? { text, style } : { text, style: styleOfLook(look), look }
  );
}
