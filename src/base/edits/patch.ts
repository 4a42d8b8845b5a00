/**
 * The patch format that some models are trained to write:
 *
 *     *** Begin Patch
 *     *** Update File: src/a.ts
 *     *** Move to: src/b.ts
 *     @@ class A
 *     @@   method()
 *      a line that stays
 *     -a line that goes
 *     +a line that comes
 *     *** Add File: notes.md
 *     +its text
 *     *** Delete File: old.ts
 *     *** End Patch
 */
import { type Edit, EditProblem } from "./edit.ts";

export type PatchStep =
  | { kind: "add"; path: string; text: string }
  | { kind: "delete"; path: string }
  | { kind: "update"; path: string; move_to?: string; hunks: Hunk[] };

/** Replaced lines, each with its newline. */
export interface Hunk extends Edit {
  /** Lines above the place that `@@` names, outermost first. */
  headers: string[];
  /** Whether the place is the end of the file. */
  at_end: boolean;
}

const HEADER = /^\*\*\* (Add|Delete|Update) File: (.+)$/;
const MOVE = /^\*\*\* Move to: (.+)$/;
const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
/** The position in a unified diff: numbers, and often a section's header. */
const NUMBERED = /^-\d+(?:,\d+)? \+\d+(?:,\d+)?(?: @@+ ?(.*))?$/;

/** Parses a patch. @throws {EditProblem} naming the invalid line */
export function parsePatch(patch: string): PatchStep[] {
  const lines = patch.replace(/\r\n/g, "\n").trim().split("\n");
  if (plain(lines[0]) !== BEGIN) throw new EditProblem(`the patch must begin with "${BEGIN}"`);
  if (plain(lines.at(-1)!) !== END) throw new EditProblem(`the patch must end with "${END}"`);
  const steps: PatchStep[] = [];
  for (let at = 1; at < lines.length - 1;) {
    const header = HEADER.exec(lines[at]);
    if (header === null) {
      throw new EditProblem(
        `line ${at + 1} of the patch must name a file ("*** Update File: path"): ${lines[at]}`,
      );
    }
    const [, what, named] = header;
    // An existing file's name may end with a blank.
    const path = what === "Add" ? named.trimEnd() : named;
    let end = at + 1;
    while (end < lines.length - 1 && !HEADER.test(lines[end])) end++;
    const body = lines.slice(at + 1, end);
    if (what === "Add") steps.push({ kind: "add", path, text: addedText(body, at + 2) });
    else if (what === "Update") steps.push(updateStep(path, body, at + 2));
    else if (body.some((line) => line.trim() !== "")) {
      throw new EditProblem(`line ${at + 2} of the patch: nothing may follow "Delete File"`);
    } else steps.push({ kind: "delete", path });
    at = end;
  }
  if (steps.length === 0) throw new EditProblem("the patch changes no file");
  return steps;
}

/** A marker line; some models add stars at its end. */
function plain(line: string): string {
  return line.trim().replace(/ ?\*\*\*$/, "");
}

function addedText(body: readonly string[], first: number): string {
  const wrong = body.findIndex((line) => !line.startsWith("+"));
  if (wrong >= 0) {
    throw new EditProblem(
      `line ${first + wrong} of the patch: each line of a new file begins with +`,
    );
  }
  return body.map((line) => `${line.slice(1)}\n`).join("");
}

function updateStep(path: string, body: readonly string[], first: number): PatchStep {
  const move = MOVE.exec(body[0]?.trimEnd() ?? "");
  const hunks: Hunk[] = [];
  let old_lines: string[] = [];
  let new_lines: string[] = [];
  let headers: string[] = [];
  const close = (at_end: boolean) => {
    // Consecutive headers belong to one part.
    if (old_lines.length + new_lines.length === 0) return;
    const [old_text, new_text] = [old_lines, new_lines]
      .map((lines) => lines.map((line) => `${line}\n`).join(""));
    hunks.push({ old_text, new_text, headers, at_end });
    [old_lines, new_lines, headers] = [[], [], []];
  };
  for (const [n, line] of body.entries()) {
    if (n === 0 && move !== null) continue;
    if (line.startsWith("@@")) {
      close(false);
      const header = headerOf(line);
      if (header !== "") headers.push(header);
    } else if (line.trimEnd() === "*** End of File") close(true);
    else if (line.startsWith("+")) new_lines.push(line.slice(1));
    else if (line.startsWith("-")) old_lines.push(line.slice(1));
    else if (line.startsWith(" ") || line === "") {
      old_lines.push(line.slice(1));
      new_lines.push(line.slice(1));
    } else {
      throw new EditProblem(
        `line ${first + n} of the patch must begin with a blank, + or -: ${line}`,
      );
    }
  }
  close(false);
  if (headers.length > 0) {
    throw new EditProblem(
      `${path}: no lines follow ${JSON.stringify(headers.at(-1))}, which @@ names`,
    );
  }
  if (hunks.length === 0 && move === null) {
    throw new EditProblem(`${path}: the patch changes nothing`);
  }
  return { kind: "update", path, move_to: move?.[1], hunks };
}

/** The line that `@@` names; "" for none. */
function headerOf(line: string): string {
  const named = line.replace(/^@@+/, "").trim();
  const numbered = NUMBERED.exec(named.replace(/ ?@@+$/, ""));
  return (numbered ? numbered[1] ?? "" : named.replace(/@@$/, "")).trim();
}

export function pathsOf(step: PatchStep): string[] {
  const moved = step.kind === "update" && step.move_to !== undefined;
  return moved ? [step.path, step.move_to!] : [step.path];
}
