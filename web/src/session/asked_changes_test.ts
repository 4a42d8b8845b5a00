import { assertEquals } from "@std/assert";
import { askedFiles } from "./asked_changes.ts";

Deno.test("the parts of a file are one difference, and each file says what becomes of it", () => {
  const files = askedFiles([
    { path: "a.txt", before: "one\n", after: "1\n" },
    { path: "a.txt", before: "nine\n", after: "9\n" },
    { path: "new\u202e.txt", after: "n\n" },
    { path: "b.txt", before: "b\n", after: "", deleted: true },
  ]);
  assertEquals(files.map(({ path, note }) => [path, note]), [
    ["a.txt", undefined],
    ["new\\u{202e}.txt", "New file"],
    ["b.txt", "Deleted"],
  ]);
  assertEquals(files[0].lines.map(({ kind, text }) => `${kind} ${text}`), [
    "delete one",
    "insert 1",
    "gap unchanged lines",
    "delete nine",
    "insert 9",
  ]);
  assertEquals(files[2].lines, [{ kind: "delete", text: "b" }]);
});
