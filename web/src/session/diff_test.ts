import { assertEquals } from "@std/assert";
import { diffOf } from "./diff.ts";

const marked = (before: string, after: string) =>
  diffOf(before, after).map(({ kind, text }) =>
    `${{ insert: "+", delete: "-", same: " ", gap: "⋯" }[kind]}${text}`
  );

Deno.test("a change is shown with the lines around it", () => {
  const same = ["a", "b", "c", "d", "e"];
  const before = [...same, "old", ...same].join("\n");
  const after = [...same, "new", ...same].join("\n");
  const around = [" c", " d", " e", "-old", "+new", " a", " b", " c"];
  assertEquals(marked(before, after), ["⋯2 unchanged lines", ...around, "⋯2 unchanged lines"]);
  assertEquals(marked("a\nb\nc\nd\n", "A\nb\nc\nd\n"), ["-a", "+A", " b", " c", " d"]);
});

Deno.test("a new file is all new, and of a long one the beginning is shown", () => {
  assertEquals(marked("", "a\nb\n"), ["+a", "+b"]);
  assertEquals(marked("same\n", "same\n"), []);
  assertEquals(diffOf("", "line\n".repeat(5_000)).length, 5_000);
});

Deno.test("of texts that share too little, one is shown removed and the other added", () => {
  const lines = (prefix: string) =>
    Array.from({ length: 30_000 }, (_, n) => `${prefix}${(n * 7919) % 30_011}\n`).join("");
  const shown = diffOf(lines("a"), lines("b"));
  assertEquals(shown.length, 60_000);
  assertEquals(shown.slice(0, 30_000).every(({ kind }) => kind === "delete"), true);
});
