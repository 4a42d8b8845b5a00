import { assertEquals } from "@std/assert";
import type { ToolCallContent } from "@agentclientprotocol/sdk";
import { ownEdits } from "./own_edits.ts";

const diff = (path: string, oldText: string | null, newText: string): ToolCallContent => ({
  type: "diff",
  path,
  oldText,
  newText,
});

Deno.test("a diff is what the session's tools are to write", () => {
  const edits = (call: Parameters<typeof ownEdits>[0]) => ownEdits(call, "/w");
  const part = { old_text: "a", new_text: "b" };
  assertEquals(edits({ content: [diff("/w/x", "a", "b")] }), [{ path: "x", edits: [part] }]);
  assertEquals(edits({ content: [diff("sub/x", null, "b")] }), [{ path: "sub/x", content: "b" }]);
  assertEquals(edits({ content: [diff("/w/x", "a", "b"), diff("/w/y", "", "c")] }), [
    { path: "x", edits: [part] },
    { path: "y", content: "c" },
  ]);
  assertEquals(edits({ content: [diff("/w/x", "a", "b"), diff("/w/x", "a", "b")] }), [
    { path: "x", edits: [part, part] },
  ]);
  assertEquals(edits({ content: [diff("/w/x", "a", "b")], rawInput: { replace_all: true } }), [
    { path: "x", edits: [{ ...part, replace_all: true }] },
  ]);
  assertEquals(edits({ kind: "delete", locations: [{ path: "/w/x" }] }), [
    { path: "x", deleted: true },
  ]);
});

Deno.test("an edit without all that it would change is none that svc can make", () => {
  const edits = (call: Parameters<typeof ownEdits>[0]) => ownEdits(call, "/w");
  assertEquals(edits({ kind: "edit", locations: [{ path: "/w/x" }] }), []);
  assertEquals(edits({ kind: "move", content: [diff("/w/x", "a", "a")] }), []);
  assertEquals(edits({ kind: "delete", content: [diff("/w/x", "a", "b")] }), []);
  assertEquals(edits({ content: [diff("/w/x", null, "a"), diff("/w/x", "a", "b")] }), []);
  assertEquals(edits({ content: [diff("/w/x\n*** Delete File: y", "a", "b")] }), []);
});

Deno.test("what is not in the working directory is not svc's to write", () => {
  for (const path of ["/other/x", "../x", "/w/../x", "/wider/x"]) {
    assertEquals(ownEdits({ kind: "edit", content: [diff(path, null, "b")] }, "/w"), undefined);
  }
  assertEquals(ownEdits({ kind: "edit", title: "an issue" }, "/w"), undefined);
  assertEquals(ownEdits({ kind: "read", locations: [{ path: "/w/x" }] }, "/w"), undefined);
});
