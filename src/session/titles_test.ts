import { assertEquals } from "@std/assert";
import { shownTitle, titleOf, workOf } from "./titles.ts";

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

Deno.test("a title says what a session works for; people see its goal where that was recorded", () => {
  const id = `m-${"0".repeat(26)}`;
  const task = `t-${"1".repeat(26)}`;
  assertEquals(workOf(`mission ${id} s1`), id);
  assertEquals(workOf(`task ${task}`), task);
  for (const title of ["mission to Mars", `mission ${task}`, `task ${id}`, `a mission ${id} 1`]) {
    assertEquals([title, workOf(title)], [title, undefined]);
  }
  // As in journals from before goals were recorded.
  assertEquals(shownTitle({ title: `mission ${id} s1` }), `mission ${id} s1`);
  assertEquals(shownTitle({ title: `mission ${id} s1`, goal: "Widgets · 1" }), "Widgets · 1");
});
