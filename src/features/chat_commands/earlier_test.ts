import { assertEquals } from "@std/assert";
import { searchQuery } from "./earlier.ts";

Deno.test("the words that are typed may go on, but for single letters", () => {
  assertEquals(searchQuery("fix the bug?"), "fix* the* bug*");
  assertEquals(searchQuery("a b e\u0301"), "a b \u00e9");
  assertEquals(searchQuery("one two three four five"), "one* two* three* four* five");
});
