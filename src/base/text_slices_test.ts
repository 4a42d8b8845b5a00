import { assertEquals } from "@std/assert";
import { bodyOf, SLICE, slices } from "./text_slices.ts";

Deno.test("a text is cut into parts that are encoded to the same bytes", async () => {
  const text = "a".repeat(SLICE - 1) + "😀".repeat(SLICE) + "é";
  const parts = [...slices(text)];
  assertEquals(parts.every((part) => part.length <= SLICE && part.isWellFormed()), true);
  assertEquals(parts.join("") === text, true);
  assertEquals(await new Response(bodyOf(text)).text() === text, true);
  assertEquals([...slices("")], []);
  assertEquals(await new Response(bodyOf("short")).text(), "short");
});
