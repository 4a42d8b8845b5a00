/** Indents new text like its place. */
import { indentOf } from "./views.ts";

/** Translates an indentation; undefined where that is not certain. */
type Reindent = (indent: string) => string | undefined;

/**
 * Derives a rule for indentation from pairs of otherwise equal lines. It must fit all: the same
 * prefix, or levels of one width that become levels of another.
 *
 * @param pairs indentations of the lines that are not empty: as given, as in the file
 * @param given all given lines, to find the width of a level
 * @returns `undefined` where no rule fits
 */
export function reindenting(
  pairs: readonly (readonly [given: string, file: string])[],
  given: readonly string[],
): Reindent | undefined {
  if (pairs.length === 0) return undefined;
  const [[first_given, first_file]] = pairs;
  const added = first_file.endsWith(first_given)
    ? first_file.slice(0, first_file.length - first_given.length)
    : undefined;
  if (added !== undefined && pairs.every(([from, to]) => to === added + from)) {
    const level = isTabs(added) ? levelOf(given) : undefined;
    return (indent) => {
      if (level === undefined || !isSpaces(indent)) return added + indent;
      return indent.length % level === 0 ? added + "\t".repeat(indent.length / level) : undefined;
    };
  }
  const removed = first_given.endsWith(first_file)
    ? first_given.slice(0, first_given.length - first_file.length)
    : undefined;
  if (removed !== undefined && pairs.every(([from, to]) => from === removed + to)) {
    return (indent) => indent.startsWith(removed) ? indent.slice(removed.length) : undefined;
  }
  return byLevels(pairs, given);
}

/** Translates levels of one unit to another, with a constant shift. */
function byLevels(
  pairs: readonly (readonly [string, string])[],
  given: readonly string[],
): Reindent | undefined {
  const from = unitOf(given.map(indentOf));
  const to = unitOf(pairs.map(([, file]) => file));
  if (from === undefined || to === undefined) return undefined;
  const levels = (indent: string, unit: string) =>
    indent === unit.repeat(indent.length / unit.length) ? indent.length / unit.length : undefined;
  const [[first_given, first_file]] = pairs;
  const shift = (levels(first_file, to) ?? NaN) - (levels(first_given, from) ?? NaN);
  const reindent: Reindent = (indent) => {
    const level = levels(indent, from);
    if (level === undefined || !(level + shift >= 0)) return undefined;
    return to.repeat(level + shift);
  };
  return pairs.every(([given, file]) => reindent(given) === file) ? reindent : undefined;
}

/** The unit of indentation; undefined if there is none or it is mixed. */
function unitOf(indents: readonly string[]): string | undefined {
  const all = indents.filter((indent) => indent !== "");
  if (all.length === 0) return undefined;
  if (all.every(isTabs)) return "\t";
  if (!all.every(isSpaces)) return undefined;
  return " ".repeat(all.map(({ length }) => length).reduce(divisor));
}

/** The width of a level in lines indented with spaces. */
function levelOf(lines: readonly string[]): number | undefined {
  const widths = lines.map(indentOf).filter((indent) => indent !== "" && isSpaces(indent))
    .map(({ length }) => length);
  return widths.length === 0 ? undefined : widths.reduce(divisor);
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

function isTabs(indent: string): boolean {
  return /^\t+$/.test(indent);
}

function isSpaces(indent: string): boolean {
  return /^ +$/.test(indent);
}
