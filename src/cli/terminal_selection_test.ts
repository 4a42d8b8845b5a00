import { assertEquals } from "@std/assert";
import { Layouts } from "../features/tui/layout.ts";
import { layMarkdown } from "../features/tui/markdown_rows.ts";
import type { Entry } from "../features/tui/model.ts";
import type { Line } from "../features/tui/text.ts";
import { selectedText } from "./terminal_selection.ts";

function rowsOf(kind: Entry["kind"], text: string, cols: number, markdown = true): Line[] {
  const layouts = new Layouts();
  if (markdown) layouts.useMarkdown(layMarkdown);
  const entry: Entry = { id: 1, kind, lines: text.split("\n"), epoch: 0, size: text.length };
  return [...layouts.rows(entry, { cols, expanded: true })];
}

/** All of the rows, as a drag from their first place to their last copies them. */
function copied(rows: Line[]): string {
  return selectedText(rows, { from: { row: 0, col: 0 }, to: { row: rows.length - 1, col: 999 } });
}

const LONG = "one two three four five six seven eight nine ten";

Deno.test("a line that the screen has wrapped is copied as one, without its margin", () => {
  const text = `${LONG}\n\nhttps://example.com/${"a".repeat(60)} end`;
  for (const kind of ["assistant", "user", "note", "approval", "lane"] as const) {
    for (const cols of [20, 33, 80]) {
      const rows = rowsOf(kind, text, cols);
      assertEquals(copied(rows), text, `${kind} at ${cols}`);
      assertEquals(copied(rowsOf(kind, text, cols, false)), text, `${kind} at ${cols}`);
    }
  }
});

Deno.test("code is copied without its edge, an item and a quotation as one line each", () => {
  const code = `const a = "${"x".repeat(50)}";\n  indented();`;
  const rows = rowsOf("assistant", `\`\`\`js\n${code}\n\`\`\``, 30);
  assertEquals(copied(rows), `js\n${code}`);
  assertEquals(copied(rowsOf("assistant", `- ${LONG}\n- two`, 30)), `• ${LONG}\n• two`);
  assertEquals(copied(rowsOf("assistant", `> ${LONG}`, 30)), LONG);
});

Deno.test("a part of wrapped rows is copied from where to where it was dragged", () => {
  const rows = rowsOf("assistant", LONG, 22);
  // `  one two three four` / `  five six seven` / …
  const part = selectedText(rows, { from: { row: 0, col: 6 }, to: { row: 1, col: 5 } });
  assertEquals(part, "two three four five");
  const other = selectedText(rows, { from: { row: 1, col: 5 }, to: { row: 0, col: 6 } });
  assertEquals(other, part);
  const cells = rowsOf("assistant", `| a | b |\n| - | - |\n| ${LONG} | x |`, 30);
  assertEquals(copied(cells).split("\n").length, cells.length);
});
