import { assertEquals } from "@std/assert";
import { changedWords, type Part } from "./words.ts";

const marked = (parts: readonly Part[] | undefined) =>
  parts?.map(({ text, changed }) => changed ? `[${text}]` : text).join("");

Deno.test("the words that differ are marked in both lines", () => {
  const found = changedWords("const a = one(1, 2);", "const b = one(1, two, 2);");
  assertEquals(marked(found?.before), "const [a] = one(1, 2);");
  assertEquals(marked(found?.after), "const [b] = one(1[, two], 2);");
  const same = changedWords("x = 1", "x = 1");
  assertEquals([marked(same?.before), marked(same?.after)], ["x = 1", "x = 1"]);
});

Deno.test("lines with little in common, and very long ones, have no marks", () => {
  assertEquals(changedWords("return first;", "while (true) {"), undefined);
  assertEquals(changedWords("x".repeat(2_000), "y"), undefined);
});

Deno.test("many words take little time", () => {
  const from = performance.now();
  for (let n = 0; n < 100; n++) changedWords("a b ".repeat(120), `${"b c ".repeat(120)}${n}`);
  assertEquals(performance.now() - from < 2_000, true);
});
