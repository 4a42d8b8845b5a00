/** What a session has changed in a file, as a page of the terminal. */
import type { FileChange } from "../../base/edits/changes.ts";
import { fileDiffs, numbered } from "../../session/diff_rows.ts";
import type { Result } from "../verb_types.ts";
import { clean } from "./text.ts";
import type { PageText } from "./tui.ts";

type ChangedFile = Result<"session.changed_file">;

/** Unchanged lines around each change. */
const CONTEXT = 3;

const SENTENCES: Partial<Record<ChangedFile["kind"], string>> = {
  binary: "It is not text.",
  too_large: "It is too large to be compared.",
  gone: "It is as it was before.",
};

/** The lines of the page. */
export function changedLines(path: string, changed: ChangedFile): PageText {
  const sentence = SENTENCES[changed.kind];
  if (sentence !== undefined) return { lines: [sentence], diffs: [undefined] };
  const [diff] = fileDiffs(partsOf(path, changed), { shown: clean, in_turn: true });
  if (diff === undefined || diff.rows.length === 0) {
    return { lines: ["No line differs."], diffs: [undefined] };
  }
  const rows = numbered(diff.rows).map((row) => ({ ...row, path }));
  return { lines: rows.map(({ margin, mark, text }) => `${margin}${mark} ${text}`), diffs: rows };
}

/** Each change with the lines around it, numbered as they are now. */
function partsOf(path: string, { text, hunks }: ChangedFile): FileChange[] {
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  return hunks.map(({ new_line, removed, added }) => {
    // Where nothing was added, it is the line before the removed ones.
    const from = added > 0 ? new_line - 1 : new_line;
    const before = lines.slice(Math.max(from - CONTEXT, 0), from);
    const after = lines.slice(from + added, from + added + CONTEXT);
    const joined = (middle: readonly string[]) =>
      [...before, ...middle, ...after].map((it) => `${it}\n`).join("");
    return {
      path,
      before: joined(removed),
      after: joined(lines.slice(from, from + added)),
      line: from - before.length + 1,
    };
  });
}
