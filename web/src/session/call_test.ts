import { assertEquals } from "@std/assert";
import type { FileChange } from "../../../src/base/edits/changes.ts";
import { callSubject, fileChanges, fileLanguage } from "./call.ts";

const changesIn = (tool: string, args: unknown) =>
  fileChanges({ tool, args }).map(({ path, parts, note }) => [
    path,
    ...parts.map(({ before, after }) => [before, after]),
    ...note === undefined ? [] : [note],
  ]);

Deno.test("an edit changes a part of a file, writing one all of it; other calls change nothing", () => {
  const edit = { path: "x", old_text: "a", new_text: "b" };
  assertEquals(changesIn("edit_file", edit), [["x", ["a", "b"]]]);
  const write = { path: "x", content: "a\nb\n" };
  assertEquals(changesIn("write_file", write), [["x", [undefined, "a\nb\n"]]]);
  const edits = [{ old_text: "a", new_text: "b" }, { old_text: "c", new_text: "d" }];
  assertEquals(changesIn("edit_file", { path: "x", edits }), [["x", ["a", "b"], ["c", "d"]]]);
  assertEquals(changesIn("apply_patch", { patch: "none" }), []);
  assertEquals(changesIn("read_file", { path: "x" }), []);
  assertEquals(changesIn("edit_file", { old_text: 1 }), []);
});

Deno.test("a patch changes its files one by one, and deletes some", () => {
  const patch = [
    ...["*** Begin Patch", "*** Update File: x", "@@", "-a", "+b", "*** Add File: y", "+new"],
    ...["*** Delete File: z", "*** Update File: p", "*** Move to: q", "@@", " same"],
    "*** End Patch",
  ].join("\n");
  assertEquals(changesIn("apply_patch", { patch }), [
    ["x", ["a", "b"]],
    ["y", [undefined, "new"]],
    ["z", [undefined, ""], "deleted"],
    ["q", ["same", "same"]],
  ]);
});

Deno.test("a result shows what a file was, unless the call failed", () => {
  const call = { tool: "write_file", args: { path: "x", content: "b\n" } };
  const result = (ok: boolean, change: Omit<FileChange, "path">) => ({
    ...call,
    outcome: { ok, output: "", truncated: false, changes: [{ path: "x", ...change }] },
  });
  const replaced = { before: "a\n", after: "b\n", line: 1 };
  assertEquals(fileChanges(result(true, replaced)), [
    { path: "x", parts: [{ path: "x", ...replaced }], note: undefined, in_turn: false },
  ]);
  assertEquals(fileChanges(result(false, replaced)), fileChanges(call));
  const [same] = fileChanges(result(true, { before: "", after: "" }));
  assertEquals(same.note, "no change");
  const [binary] = fileChanges(result(true, { after: "b\n", replaced: true }));
  assertEquals(binary.note, "replaces a file that cannot be shown");
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
