import { assertEquals } from "@std/assert";
import { callSubject, fileChanges, fileLanguage } from "./call.ts";

Deno.test("an edit changes a part of a file, writing one all of it; other calls change nothing", () => {
  const change = (before: string, after: string) => [{ path: "x", before, after, deleted: false }];
  const edit = { path: "x", old_text: "a", new_text: "b" };
  assertEquals(fileChanges("edit_file", edit), change("a", "b"));
  assertEquals(fileChanges("write_file", { path: "x", content: "a\nb\n" }), change("", "a\nb\n"));
  const edits = [{ old_text: "a", new_text: "b" }, { old_text: "c", new_text: "d" }];
  assertEquals(fileChanges("edit_file", { path: "x", edits }), change("a\nc", "b\nd"));
  assertEquals(fileChanges("apply_patch", { patch: "none" }), []);
  assertEquals(fileChanges("read_file", { path: "x" }), []);
  assertEquals(fileChanges("edit_file", { old_text: 1 }), []);
});

Deno.test("a patch changes its files one by one, and deletes some", () => {
  const patch = [
    ...["*** Begin Patch", "*** Update File: x", "@@", "-a", "+b", "*** Add File: y", "+new"],
    ...[
      "*** Delete File: z",
      "*** Update File: p",
      "*** Move to: q",
      "@@",
      " same",
      "*** End Patch",
    ],
  ].join("\n");
  assertEquals(fileChanges("apply_patch", { patch }), [
    { path: "x", before: "a", after: "b", deleted: false },
    { path: "y", before: "", after: "new", deleted: false },
    { path: "z", before: "", after: "", deleted: true },
    { path: "q", before: "same", after: "same", deleted: false },
  ]);
});

Deno.test("a call is about its command, pattern, address or path", () => {
  assertEquals(
    [{ command: "ls" }, { pattern: "x", path: "y" }, { path: "y" }, { paths: ["a", "b"] }, {}, null]
      .map(callSubject),
    ["ls", "x", "y", "a, b", "", ""],
  );
});

Deno.test("what read_file gives is in the language of its file, other output in none", () => {
  assertEquals(fileLanguage("read_file", { path: "src/a.ts" }), "ts");
  assertEquals(fileLanguage("read_file", { path: "LICENSE" }), undefined);
  assertEquals(fileLanguage("read_file", null), undefined);
  assertEquals(fileLanguage("run_command", { path: "a.ts" }), undefined);
});
