import { assertEquals } from "@std/assert";
import { parseHunks } from "./hunks.ts";

Deno.test("hunks have the removed lines and the number of added ones", () => {
  const patch = [
    "diff --git a/a.txt b/a.txt",
    "--- a/a.txt",
    "+++ b/a.txt",
    "@@ -2 +2,2 @@ void main() {",
    "-@@ -1 +1 @@",
    "+two",
    "+and a half",
    "@@ -9,2 +9,0 @@",
    "-nine",
    "-",
    "@@ -20,0 +19 @@",
    "+-- new",
    "",
  ].join("\n");
  assertEquals(parseHunks(patch), [
    { old_line: 2, new_line: 2, removed: ["@@ -1 +1 @@"], added: 2 },
    { old_line: 9, new_line: 9, removed: ["nine", ""], added: 0 },
    { old_line: 20, new_line: 19, removed: [], added: 1 },
  ]);
});

Deno.test("a removed last line without a newline is marked", () => {
  const patch = "@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+one\n";
  assertEquals(parseHunks(patch), [
    { old_line: 1, new_line: 1, removed: ["one"], added: 1, unended: true },
  ]);
});

Deno.test("an incomplete last hunk is left out, and so is anything without hunks", () => {
  assertEquals(parseHunks("@@ -1 +1 @@\n-a\n+b\n@@ -9,3 +9 @@\n-x"), [
    { old_line: 1, new_line: 1, removed: ["a"], added: 1 },
  ]);
  assertEquals(parseHunks("Binary files a/x and b/x differ\n"), []);
});
