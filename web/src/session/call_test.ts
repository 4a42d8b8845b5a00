import { assertEquals } from "@std/assert";
import { callSubject, fileChange, fileLanguage } from "./call.ts";

Deno.test("an edit changes a part of a file, writing one all of it; other calls change nothing", () => {
  assertEquals(fileChange("edit_file", { path: "x", old_text: "a", new_text: "b" }), {
    before: "a",
    after: "b",
  });
  assertEquals(fileChange("write_file", { path: "x", content: "a\nb\n" }), {
    before: "",
    after: "a\nb\n",
  });
  const edits = [{ old_text: "a", new_text: "b" }, { old_text: "c", new_text: "d" }];
  assertEquals(fileChange("edit_file", { path: "x", edits }), { before: "a\nc", after: "b\nd" });
  const patch = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch";
  assertEquals(fileChange("apply_patch", { patch }), { before: "a", after: "b" });
  assertEquals(fileChange("apply_patch", { patch: "none" }), undefined);
  assertEquals(fileChange("read_file", { path: "x" }), undefined);
  assertEquals(fileChange("edit_file", { old_text: 1 }), undefined);
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
