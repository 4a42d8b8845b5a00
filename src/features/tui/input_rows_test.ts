import { assertEquals } from "@std/assert";
import { chipFor } from "./chips.ts";
import { insert, insertMarked } from "./input.ts";
import { inputRows, moveToPlace } from "./input_rows.ts";
import { emptyModel } from "./model.ts";

Deno.test("a click puts the cursor where it is shown, over wrapped rows, wide letters and chips", () => {
  const model = emptyModel("s");
  insert(model.input, "日本 and more words than fit\n\ttab ");
  const text = "line\n".repeat(20);
  insertMarked(model.input, chipFor(model.input, { kind: "text", text }));
  insert(model.input, " end");
  const cols = 16;
  const height = 20;
  for (let cursor = 0; cursor <= model.input.text.length; cursor++) {
    // Not within a chip, which is two code units.
    if (/[\udc00-\udfff]/.test(model.input.text[cursor] ?? "")) continue;
    model.input.cursor = cursor;
    const { row, col } = inputRows(model, cols, height);
    model.input.cursor = model.input.text.length;
    moveToPlace(model.input, { row, col }, cols, height);
    const { row: found, col: at } = inputRows(model, cols, height);
    assertEquals([found, at], [row, col], `cursor ${cursor}`);
  }
  moveToPlace(model.input, { row: 99, col: 99 }, cols, height);
  assertEquals(model.input.cursor, model.input.text.length);
});
