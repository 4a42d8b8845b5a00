import { assert, assertEquals } from "@std/assert";
import { addEntry, growEntry } from "./entries.ts";
import { Layouts } from "./layout.ts";
import { emptyModel } from "./model.ts";
import { lineText, loadColumns, width } from "./text.ts";

await loadColumns();

const ID = "sess_00000000000000000000000000";
const TEXT = "# Title\n\nSome **bold words** and `code` that go on for longer than one row does. " +
  "日本語のテキスト 👍🏽 and so on.\n\n```ts\nconst a = 1;\n```\n- a list\n" + "long ".repeat(60) +
  "\n" + "x".repeat(150) + "\ne\u0301nd";

Deno.test("text that comes in pieces is laid out as if it came at once", () => {
  for (const cols of [9, 24, 80]) {
    for (const piece of [1, 3, 7, 50]) {
      const model = emptyModel(ID);
      const grown = addEntry(model, "assistant", "");
      const layouts = new Layouts();
      for (let at = 0; at < TEXT.length; at += piece) {
        growEntry(grown, TEXT.slice(at, at + piece));
        layouts.rows(grown, { cols, expanded: false });
      }
      const whole = addEntry(model, "assistant", TEXT);
      const expected = new Layouts().rows(whole, { cols, expanded: false });
      assertEquals(
        layouts.rows(grown, { cols, expanded: false }).map(lineText),
        expected.map(lineText),
        `${cols} columns, pieces of ${piece}`,
      );
    }
  }
});

Deno.test("a row is never wider than the screen, at any width that has room for a character", () => {
  const entry = addEntry(emptyModel(ID), "assistant", TEXT);
  const layouts = new Layouts();
  for (let cols = 2; cols < 100; cols++) {
    for (const row of layouts.rows(entry, { cols, expanded: false })) {
      assert(width(lineText(row)) <= cols);
    }
  }
});

Deno.test("when a long line grows, what is final stays the very same rows", () => {
  const entry = addEntry(emptyModel(ID), "assistant", "word ".repeat(2000));
  const layouts = new Layouts();
  const options = { cols: 80, expanded: false };
  const before = [...layouts.rows(entry, options)];
  growEntry(entry, "and more");
  const after = layouts.rows(entry, options);
  for (let at = 0; at < before.length - 3; at++) assert(before[at] === after[at]);
});

Deno.test("bold, code and headings are styled, and nothing of the text is taken away", () => {
  const entry = addEntry(emptyModel(ID), "assistant", "# Big\na **b** `c`\n```\n**d**\n```");
  const rows = new Layouts().rows(entry, { cols: 40, expanded: false });
  const styles = rows.map((row) => row.slice(1).map(({ text, style }) => `${style}:${text}`));
  assertEquals(styles, [
    ["bold:# Big"],
    ["plain:a ", "bold:**", "bold:b", "bold:**", "plain: ", "code:`", "code:c", "code:`"],
    ["dim:```"],
    ["code:**d**"],
    ["dim:```"],
  ]);
});

Deno.test("a call shows a part of its output until all is asked for", () => {
  const output = Array.from({ length: 20 }, (_, n) => `line ${n}`).join("\n");
  const entry = addEntry(emptyModel(ID), "call", `run_command x\n${output}`, { ok: true });
  const layouts = new Layouts();
  const part = layouts.rows(entry, { cols: 40, expanded: false }).map(lineText);
  assertEquals(part.length, 8);
  assertEquals(part.at(-1), "    … 14 more lines (Ctrl-O)");
  assertEquals(layouts.rows(entry, { cols: 40, expanded: true }).length, 21);
});
