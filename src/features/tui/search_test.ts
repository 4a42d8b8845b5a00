import { assertEquals } from "@std/assert";
import { keysOn, pasteOn, shownText, typed } from "./input_bench.ts";
import { addFound, searchRows } from "./search.ts";
import { lineText } from "./text.ts";

const found = (seq: number, text: string) => ({ session_id: "s", seq, text });

Deno.test("Ctrl-R asks for the newest messages, then for what is typed", () => {
  const it = typed("draft");
  assertEquals(keysOn(it, "ctrl-r"), [{ type: "search", query: "" }]);
  assertEquals(keysOn(it, "f", "i"), [
    { type: "search", query: "f" },
    { type: "search", query: "fi" },
  ]);
  assertEquals(pasteOn(it, "x the\nbug"), [{ type: "search", query: "fix the bug" }]);
  keysOn(it, "escape");
  assertEquals([it.search, shownText(it)], [undefined, "draft|"]);
});

Deno.test("what was found is there once, the directory's own first; Ctrl-R goes to older", () => {
  const it = typed("");
  keysOn(it, "ctrl-r");
  addFound(it.search!, [found(9, "fix it"), found(5, "run it")], true);
  addFound(it.search!, [found(7, "elsewhere"), found(9, "fix it")], false);
  assertEquals(it.search!.found.map(({ seq }) => seq), [9, 5, 7]);
  keysOn(it, "ctrl-r", "ctrl-r", "ctrl-r", "down");
  const rows = searchRows(it.search!, 40, 4).rows.map(lineText);
  assertEquals(rows, ["search: ", "  fix it", "▸ run it", "  elsewhere"]);
  assertEquals(keysOn(it, "enter"), [{ type: "take_found", session_id: "s", seq: 5 }]);
  assertEquals(it.search, undefined);
});

Deno.test("the rows of the search fit any screen", () => {
  const it = typed("");
  keysOn(it, "ctrl-r");
  it.search!.query = "日本語".repeat(30);
  addFound(it.search!, [found(1, "x".repeat(400)), found(2, "\u202e\x1b[31mred")], true);
  for (const cols of [1, 5, 20, 80]) {
    const { rows, col } = searchRows(it.search!, cols, 3);
    assertEquals(rows.length <= 3 && col < cols, true);
    for (const row of rows) assertEquals(lineText(row).length <= cols, true);
  }
});
