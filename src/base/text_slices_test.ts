import { assertEquals } from "@std/assert";
import { bodyOf, joined, sizeOf, SLICE, slices } from "./text_slices.ts";

Deno.test("a text is cut into parts that are encoded to the same bytes", async () => {
  const text = "a".repeat(SLICE - 1) + "😀".repeat(SLICE) + "é";
  const parts = [...slices(text)];
  assertEquals(parts.every((part) => part.length <= SLICE && part.isWellFormed()), true);
  assertEquals(parts.join("") === text, true);
  assertEquals(await new Response(bodyOf(text)).text() === text, true);
  assertEquals([...slices("")], []);
  assertEquals(await new Response(bodyOf("short")).text(), "short");
});

Deno.test("a text in parts is cut as if it were one, and the short parts go together", async () => {
  const parts = ["[", "é".repeat(SLICE + 1), ",", "😀".repeat(SLICE), "]"];
  const text = parts.join("");
  const cut = [...slices(parts)];
  assertEquals(cut.every((part) => part.length <= SLICE && part.isWellFormed()), true);
  assertEquals(cut.join("") === text, true);
  assertEquals([...slices(["a", "", "b", "c"], 2)], ["ab", "c"]);
  assertEquals([sizeOf(parts), joined(parts) === text], [text.length, true]);
  assertEquals(await new Response(bodyOf(parts)).text() === text, true);
});
