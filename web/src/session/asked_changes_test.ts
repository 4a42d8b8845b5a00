import { assertEquals } from "@std/assert";
import { REST_NOT_SHOWN } from "../../../src/base/edits/changes.ts";
import { askedFiles, linesOf } from "./asked_changes.ts";

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

Deno.test("lines have their numbers: removed ones as before the call, others as after it", () => {
  const parts = [
    { path: "a", before: "1\n2\n", after: "1\ntwo\nnew\n", line: 8 },
    { path: "a", before: "x\ny\n", after: "x\n", line: 99 },
  ];
  const shown = (in_turn: boolean) =>
    linesOf(parts, undefined, in_turn).map(({ kind, text, number }) => [kind, text, number]);
  assertEquals(shown(false), [
    ["same", "1", 8],
    ["delete", "2", 9],
    ["insert", "two", 9],
    ["insert", "new", 10],
    ["gap", "unchanged lines", undefined],
    ["same", "x", 100],
    ["delete", "y", 100],
  ]);
  assertEquals(shown(true).at(-2), ["same", "x", 99]);
  assertEquals(linesOf([{ path: "a", after: "n\n" }]), [
    { kind: "insert", text: "n", number: 1 },
  ]);
});

Deno.test("what was cut, is not text or stays the same says so", () => {
  const cut = { path: "a", before: "1\n", after: `2\n${REST_NOT_SHOWN}`, line: 1 };
  assertEquals(linesOf([cut]).map(({ text }) => text), [
    ...["1", "2", "the rest of the changes is not shown"],
  ]);
  const notes = askedFiles([
    { path: "a.bin", after: "text\n", replaced: true },
    { path: "b", before: "", after: "" },
    { path: "c", before: "1\n", after: "1\n", line: 1 },
  ]);
  assertEquals(notes.map(({ note }) => note), [
    "Replaces a file that cannot be shown",
    "The file has this content already",
    "Only the end of its last line changes",
  ]);
});
