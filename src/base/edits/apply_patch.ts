/** Applies patches to texts. */
import { EditProblem } from "./edit.ts";
import { lineEndAt, linesListed, replacement } from "./edit_text.ts";
import { findText, type Found, lineNumber, nearestLines, type Range } from "./find.ts";
import { belowHeaders, type Scope } from "./patch_headers.ts";
import type { Hunk } from "./patch.ts";

/** Applies all hunks. @throws {EditProblem} where the place of a hunk is not certain */
export function patchedText(text: string, hunks: readonly Hunk[]): string {
  // A file whose last line has no newline is changed as if it had one.
  const open = text !== "" && !text.endsWith("\n");
  const whole = open ? text + lineEndAt(text, { start: text.length, end: text.length }) : text;
  const found = hunks.map((hunk, n) => inPart(n, () => placesOf(whole, hunk)));
  const places = inOrder(whole, found);
  let patched = "";
  let at = 0;
  for (const [n, range] of places.entries()) {
    const comes = inPart(n, () => replacement(whole, range, hunks[n], found[n].step));
    patched += whole.slice(at, range.start) + comes;
    at = range.end;
  }
  patched += whole.slice(at);
  const appends = places.at(-1)?.start === whole.length;
  if (open && !appends) patched = patched.replace(/\r?\n$/, "");
  if (patched === text && hunks.length > 0) {
    throw new EditProblem("nothing would change: the file already has the new text");
  }
  return patched;
}

function inPart<T>(n: number, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof EditProblem)) throw error;
    throw new EditProblem(`part ${n + 1} of the patch: ${error.message}`);
  }
}

/** Possible places of a hunk, by its headers and lines; at least one. */
function placesOf(text: string, { headers, old_text, at_end }: Hunk): Found {
  const scopes = belowHeaders(text, headers);
  if (old_text === "") return insertions(text, scopes);
  const wanted = { whole_lines: true, at_end };
  for (const fits of nearestFirst(scopes)) {
    const found = findText(text, old_text, { ...wanted, fits });
    if (found !== undefined) return found;
  }
  const [elsewhere] = findText(text, old_text, wanted)?.ranges ?? [];
  if (elsewhere === undefined || scopes.length === 0) {
    throw new EditProblem(missing(text, old_text));
  }
  throw new EditProblem(
    `its lines are at line ${lineNumber(text, elsewhere.start)}, which is not below ` +
      `${JSON.stringify(headers.at(-1))}, the line that @@ names`,
  );
}

/** Lines without context go right below the header, or to the end. */
function insertions(text: string, scopes: readonly Scope[]): Found {
  const places = scopes.length === 0 ? [text.length] : scopes.map(({ end }) => end);
  const ranges = places.map((at) => ({ start: at, end: at }));
  return { step: "exact", ranges, overlapping: false };
}

/** Filters for places, in the order to try them. */
function* nearestFirst(scopes: readonly Scope[]): Generator<(range: Range) => boolean> {
  if (scopes.length === 0) yield () => true;
  if (scopes.length === 1) {
    const [{ start, next }] = scopes;
    yield (range) => range.start >= start && range.start <= next;
  }
  const within = (end: "block_end" | "reach") => (range: Range) =>
    scopes.some((scope) => range.start >= scope.start && range.start < scope[end]);
  yield within("block_end");
  yield within("reach");
}

/** Chooses a place for each hunk, in order. @throws {EditProblem} unless exactly one fits */
function inOrder(text: string, found: readonly Found[]): Range[] {
  let at = 0;
  const first = found.map(({ ranges }, n) => {
    const range = ranges.find(({ start }) => start >= at);
    if (range === undefined) throw new EditProblem(outOfOrder(text, ranges.at(-1)!, n));
    at = range.end;
    return range;
  });
  let limit = Infinity;
  for (const [n, { ranges, overlapping }] of [...found.entries()].reverse()) {
    const last = ranges.findLast(({ end }) => end <= limit)!;
    if (last !== first[n] || overlapping) {
      const possible = ranges.filter(({ start, end }) => start >= first[n].start && end <= limit);
      throw new EditProblem(
        `part ${n + 1} of the patch: its lines occur ${possible.length} times, ` +
          `${linesListed(text, possible)}; name the place above them with @@ lines, ` +
          "such as one for the class and one for the function",
      );
    }
    limit = last.start;
  }
  return first;
}

function outOfOrder(text: string, { start }: Range, n: number): string {
  return `part ${n + 1} of the patch: its lines are at line ${lineNumber(text, start)}, which is ` +
    `not behind those of part ${n}; give the parts in the order of the file`;
}

function missing(text: string, old_text: string): string {
  const nearest = nearestLines(text, old_text);
  return nearest === undefined
    ? "its lines were not found, none of them; read the file again"
    : `its lines were not found; ${nearest}`;
}
