import { assert, assertEquals } from "@std/assert";
import { changeRows, diffRows } from "./diff_layout.ts";
import { Layouts } from "./layout.ts";
import { addEntry } from "./entries.ts";
import { emptyModel, type Entry } from "./model.ts";
import { type Line, lineText, loadColumns, width } from "./text.ts";

await loadColumns();

const entryOf = (changes: Entry["changes"]): Entry => {
  const entry = addEntry(
    emptyModel("sess_00000000000000000000000000"),
    "call",
    "edit_file a.ts\n-",
  );
  return Object.assign(entry, { changes, edit_lines: 1 });
};
const EDIT = [{
  path: "a.ts",
  before: "let a = 1;\nlet b = 2;\nlet c = 3;\n",
  after: "let a = 1;\nlet b = 20;\nlet c = 3;\n",
  line: 9,
}];

/** The text with the words that changed in brackets. */
const marked = (line: Line) =>
  line.map(({ text, on }) => on?.endsWith("_word") ? `[${text}]` : text).join("");

Deno.test("a change: its file with what was added, numbers, signs, and the words that changed", () => {
  const rows = changeRows(entryOf(EDIT), { cols: 60 }).flat();
  assertEquals(rows.map(marked), [
    "a.ts  +1 −1",
    " 9   let a = 1;",
    "10 - let b = [2];",
    "10 + let b = [20];",
    "11   let c = 3;",
  ]);
  // Signs and colours both say it; what is unchanged recedes.
  assertEquals(rows[2].slice(1).map(({ on }) => on), [
    "removed",
    "removed",
    "removed_word",
    "removed",
  ]);
  assert(rows[1].every(({ style, on }) => style === "dim" && on === undefined));
});

Deno.test("a patch of several files: each under its name", () => {
  const rows = changeRows(
    entryOf([
      { path: "a.ts", before: "1\n", after: "2\n" },
      { path: "new.md", before: undefined, after: "x\ny\n" },
      { path: "gone", before: undefined, after: "", deleted: true },
      { path: "a.ts", before: "8\n", after: "9\n" },
    ]),
    { cols: 60 },
  ).flat().map(lineText);
  assertEquals(rows, [
    ...["a.ts  +2 −2", "- 1", "+ 2", "⋮ ", "- 8", "+ 9"],
    ...["new.md  new file, 2 lines", "1 + x", "2 + y"],
    "gone  deleted",
  ]);
});

Deno.test("unchanged lines far from a change are left out", () => {
  const lines = Array.from({ length: 30 }, (_, n) => `line ${n + 1}`);
  const after = lines.with(14, "other").join("\n");
  const rows = changeRows(
    entryOf([{ path: "a", before: lines.join("\n"), after, line: 1 }]),
    { cols: 60 },
  ).flat().map(lineText);
  assertEquals([rows.length, rows[1], rows.at(-1)], [9, "12   line 12", "18   line 18"]);
});

Deno.test("a long line is wrapped beside its number; on 20 columns there are no numbers", () => {
  const row = { mark: "+", text: "word ".repeat(30).trim(), margin: "120 ", path: "a" } as const;
  const wide = diffRows(row, { cols: 60 }).map(lineText);
  assert(wide.length > 2 && wide[0].startsWith("120 + word"));
  assert(wide.slice(1).every((text) => text.startsWith("      word") && width(text) <= 60));
  const narrow = diffRows(row, { cols: 20 }).map(lineText);
  assert(narrow[0].startsWith("+ word") && narrow.every((text) => width(text) <= 20));
});

Deno.test("colours of the language stay under the marks of changed words", () => {
  const colour = (code: string): Line => [
    { text: code.slice(0, 3), style: "keyword" },
    { text: code.slice(3), style: "plain" },
  ];
  const [, , removed] = changeRows(entryOf(EDIT), { cols: 60, colour }).flat();
  assertEquals(removed.slice(2), [
    { text: "let", style: "keyword", on: "removed" },
    { text: " b = ", style: "plain", on: "removed" },
    { text: "2", style: "plain", on: "removed_word" },
    { text: ";", style: "plain", on: "removed" },
  ]);
});

Deno.test("a long change shows its beginning until all is asked for", () => {
  const entry = entryOf([{ path: "a", before: undefined, after: "x\n".repeat(100) }]);
  const rows = (expanded: boolean) => new Layouts().rows(entry, { cols: 60, expanded });
  assertEquals([rows(false).length, rows(true).length], [26, 102]);
  assertEquals(lineText(rows(false)[25]), "    … 77 more lines (Ctrl-O)");
});

Deno.test("while a question shows the changes, the call does not", () => {
  const entry = { ...entryOf(EDIT), asked: true };
  assertEquals(new Layouts().rows(entry, { cols: 60, expanded: false }).map(lineText), [
    "● edit_file a.ts",
  ]);
});

Deno.test("hostile texts of a change drive no terminal", () => {
  const rows = changeRows(
    entryOf([{ path: "a\x1b]0;t\x07", before: "\x1b[2J", after: "\u202e\t\x9b31m" }]),
    { cols: 60 },
  ).flat().map(lineText).join("");
  // deno-lint-ignore no-control-regex -- they are what is looked for
  assert(!/[\x00-\x1f\x7f-\x9f\u202e]/.test(rows), JSON.stringify(rows));
});
