import { assertEquals } from "@std/assert";
import { callSubject, fileChange } from "./call.ts";

const marked = (lines: ReturnType<typeof fileChange>) =>
  lines?.map(({ kind, text }) => `${{ insert: "+", delete: "-", same: " " }[kind]}${text}`);

Deno.test("an edit is the difference of its texts, with the lines around it", () => {
  const same = ["a", "b", "c", "d", "e"];
  const old_text = [...same, "old", ...same].join("\n");
  const new_text = [...same, "new", ...same].join("\n");
  assertEquals(marked(fileChange("edit_file", { path: "x", old_text, new_text })), [
    " c",
    " d",
    " e",
    "-old",
    "+new",
    " a",
    " b",
    " c",
  ]);
});

Deno.test("a written file is all new; other calls change nothing", () => {
  assertEquals(marked(fileChange("write_file", { path: "x", content: "a\nb\n" })), ["+a", "+b"]);
  assertEquals(fileChange("read_file", { path: "x" }), undefined);
  assertEquals(fileChange("edit_file", { old_text: 1 }), undefined);
});

Deno.test("a call is about its command, pattern, address or path", () => {
  assertEquals(
    [{ command: "ls" }, { pattern: "x", path: "y" }, { path: "y" }, {}, null].map(callSubject),
    ["ls", "x", "y", "", ""],
  );
});
