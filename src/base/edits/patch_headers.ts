/** Finds the lines that `@@` names, and the text below them. */
import { levenshteinDistance } from "@std/text";
import { EditProblem } from "./edit.ts";
import { type Line, lineNumber, linesOf } from "./find.ts";
import { indentOf, lineOf } from "./views.ts";

/** The text below a line, as positions. */
export interface Scope {
  start: number;
  end: number;
  /** Start of the next line that is not empty. */
  next: number;
  /** End of the block below the line; `end` if there is none. */
  block_end: number;
  /** Start of the next line of its kind: after a method, the next method. */
  reach: number;
}

/** Lines to name in an error. */
const NAMED_MAX = 3;
/** Lines to compare, and characters of each. */
const COMPARED_MAX = 300;
const COMPARED_CHARS = 120;

/**
 * Follows headers into a text, each below the one before it.
 *
 * @returns every place of the last one; none without headers
 * @throws {EditProblem} for a missing header
 */
export function belowHeaders(text: string, headers: readonly string[]): Scope[] {
  if (headers.length === 0) return [];
  const lines = linesOf(text);
  let scopes: Scope[] = [];
  for (const [n, header] of headers.entries()) {
    const named = linesNamed(lines, header);
    if (named.length === 0) throw new EditProblem(notThere(text, lines, header));
    const below = n === 0 ? named : linesBelow(lines, named, scopes);
    if (below.length === 0) {
      throw new EditProblem(
        `${JSON.stringify(header)} is at line ${named[0] + 1}, which is not below ` +
          `${JSON.stringify(headers[n - 1])} (line ${lineNumber(text, scopes[0].start)})`,
      );
    }
    scopes = below.map((at) => scopeOf(text, lines, at));
  }
  return scopes;
}

/** Lines equal to a header, or else beginning with it. */
function linesNamed(lines: readonly Line[], header: string): number[] {
  const wanted = lineOf(header);
  const those = (fits: (content: string) => boolean) =>
    [...lines.keys()].filter((n) => fits(lines[n].content));
  const same = those((content) => content === wanted);
  if (same.length > 0) return same;
  return those((content) =>
    content.startsWith(wanted) && !/^\w/.test(content.slice(wanted.length))
  );
}

function linesBelow(
  lines: readonly Line[],
  named: readonly number[],
  scopes: readonly Scope[],
): number[] {
  const within = (end: "block_end" | "reach") =>
    named.filter((n) =>
      scopes.some((scope) => lines[n].start > scope.start && lines[n].start < scope[end])
    );
  const in_block = within("block_end");
  return in_block.length > 0 ? in_block : within("reach");
}

function scopeOf(text: string, lines: readonly Line[], at: number): Scope {
  const place = (n: number) => lines[n]?.start ?? text.length;
  const { start, content } = lines[at];
  const indent = widthOf(text, lines[at]);
  let next = at + 1;
  while (lines[next]?.content === "") next++;
  let end = next;
  let deeper = false;
  for (; end < lines.length; end++) {
    const { content } = lines[end];
    if (content === "") continue;
    if (widthOf(text, lines[end]) > indent) deeper = true;
    // A closing bracket belongs to its block.
    else if (widthOf(text, lines[end]) < indent || !/^[{}()[\]]/.test(content)) break;
  }
  const own = { start, end: place(at + 1), next: place(next) };
  if (!deeper) return { ...own, block_end: own.end, reach: text.length };
  const kind = /^\w+/.exec(content)?.[0];
  let sibling = end;
  while (sibling < lines.length && !isSibling(text, lines[sibling], kind, indent)) sibling++;
  return { ...own, block_end: place(end), reach: place(sibling) };
}

function isSibling(text: string, line: Line, kind: string | undefined, indent: number): boolean {
  if (line.content === "" || widthOf(text, line) > indent) return false;
  return kind === undefined || /^\w+/.exec(line.content)?.[0] === kind;
}

function widthOf(text: string, { start, end }: Line): number {
  return indentOf(text.slice(start, end)).replaceAll("\t", "    ").length;
}

function notThere(text: string, lines: readonly Line[], header: string): string {
  const wanted = lineOf(header).slice(0, COMPARED_CHARS);
  const word = /^\w+/.exec(wanted)?.[0];
  const alike = word === undefined
    ? []
    : lines.filter(({ content }) => content.startsWith(word)).slice(0, COMPARED_MAX);
  const distance = ({ content }: Line) =>
    levenshteinDistance(wanted, content.slice(0, COMPARED_CHARS));
  const nearest = alike.map((line) => ({ line, far: distance(line) }))
    .sort((a, b) => a.far - b.far).slice(0, NAMED_MAX)
    .map(({ line }) =>
      `line ${lineNumber(text, line.start)} is ${
        JSON.stringify(line.content.slice(0, COMPARED_CHARS))
      }`
    );
  const said = `there is no line ${JSON.stringify(header)}, which @@ names`;
  return nearest.length === 0 ? said : `${said}; ${nearest.join(", ")}`;
}
