import { assertEquals } from "@std/assert";
import { redrawn } from "./redraw.ts";

Deno.test("a piece follows what came before, or takes the place of its last lines", () => {
  const cases: [before: string, text: string, redraws: number | undefined, after: string][] = [
    ["a", "b", undefined, "ab"],
    ["a", "b", 0, "ab"],
    ["", "b", 1, "b"],
    ["a", "b", 1, "b"],
    ["a\n", "b", 1, "a\nb"],
    ["a\n", "b", 2, "b"],
    ["a\nb", "c", 1, "a\nc"],
    ["a\nb", "c", 2, "c"],
    ["a\nb\nc", "x\ny", 2, "a\nx\ny"],
    ["\n", "x", 2, "x"],
    ["\n\nb", "x", 2, "\nx"],
    ["a\nb", "", 1, "a\n"],
    ["a\nb", "c", 9, "c"],
  ];
  for (const [before, text, redraws, after] of cases) {
    assertEquals(redrawn(before, text, redraws), after, JSON.stringify([before, text, redraws]));
  }
});
