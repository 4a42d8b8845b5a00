/** Patches as they change a text. */
import { EditProblem } from "./edit.ts";
import { editText } from "./edit_text.ts";
import type { Hunk } from "./patch.ts";

/**
 * The text after all hunks, each after the one before it.
 *
 * @throws {EditProblem} where the place of a hunk is not certain
 */
export function patchedText(text: string, hunks: readonly Hunk[]): string {
  let at = 0;
  for (const [n, hunk] of hunks.entries()) {
    try {
      const done = patched(text, hunk, at);
      text = done.text;
      at = done.end;
    } catch (error) {
      if (!(error instanceof EditProblem)) throw error;
      throw new EditProblem(`part ${n + 1} of the patch: ${error.message}`);
    }
  }
  return text;
}

function patched(text: string, hunk: Hunk, from: number): { text: string; end: number } {
  const { old_text, new_text, after } = hunk;
  const start = after === undefined ? from : lineAfter(text, after, from);
  const head = text.slice(0, start);
  const tail = text.slice(start);
  if (old_text === "") {
    const newline = /\r\n/.test(text) ? "\r\n" : "\n";
    const lines = new_text.split("\n").map((line) => line + newline).join("");
    const before = after === undefined ? text : head;
    const gap = before === "" || before.endsWith("\n") ? "" : newline;
    const rest = after === undefined ? "" : tail;
    return { text: before + gap + lines + rest, end: (before + gap + lines).length };
  }
  // Lines are meant: the end of the last one belongs to them.
  const edit = {
    old_text: `${old_text}\n`,
    new_text: new_text === "" ? "" : `${new_text}\n`,
    whole_lines: true,
    // `@@` names the place: the next one is meant.
    first: after !== undefined,
    at_end: hunk.at_end,
  };
  const done = editText(tail, edit);
  return { text: head + done.text, end: head.length + done.end };
}

/** Where the line that `@@` names ends, behind what was patched. */
function lineAfter(text: string, line: string, from: number): number {
  for (let at = from; at < text.length;) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    if (text.slice(at, end).trim() === line) return end;
    at = end;
  }
  throw new EditProblem(`there is no line ${JSON.stringify(line)}, which @@ names`);
}
