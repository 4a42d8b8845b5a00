import { assertEquals } from "@std/assert";
import { titleOf } from "./titles.ts";

Deno.test("a title is the first line that says something, shortened", () => {
  assertEquals(titleOf("\n\n  ---\nFix \t the\u00a0build\nof main"), "Fix the build");
  assertEquals(titleOf("x".repeat(10_000)), `${"x".repeat(79)}…`);
  assertEquals(titleOf("👩‍💻"), undefined);
  assertEquals(titleOf(" \n\t"), undefined);
});

Deno.test("a title has nothing that cannot be seen, and is not the title of a work session", () => {
  assertEquals(titleOf("a\u001b[31mb\u0000\u202ec\u{e0041}\ud800"), "a[31mbc");
  assertEquals(titleOf("é".repeat(100))!.length, 80);
  assertEquals(titleOf("task t-01ARZ3NDEKTSV4RRFFQ69G5FAV"), undefined);
  assertEquals(titleOf("task t-01ARZ3NDEKTSV4\u200bRRFFQ69G5FAV x"), undefined);
});
