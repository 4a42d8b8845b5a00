import { assertEquals } from "@std/assert";
import { diffOf } from "./diff.ts";

const marked = (before: string, after: string) =>
  diffOf(before, after).map(({ kind, text }) =>
    `${{ insert: "+", delete: "-", same: " " }[kind]}${text}`
  );

Deno.test("a change is shown with the lines around it", () => {
  const same = ["a", "b", "c", "d", "e"];
  const before = [...same, "old", ...same].join("\n");
  const after = [...same, "new", ...same].join("\n");
  assertEquals(marked(before, after), [" c", " d", " e", "-old", "+new", " a", " b", " c"]);
});

Deno.test("a new file is all new, and of a long one the beginning is shown", () => {
  assertEquals(marked("", "a\nb\n"), ["+a", "+b"]);
  assertEquals(marked("same\n", "same\n"), []);
  assertEquals(diffOf("", "line\n".repeat(5_000)).length, 5_000);
});
