import { assertEquals } from "@std/assert";
import type { Item } from "../../../src/session/view.ts";
import { keepKeys } from "./keep_keys.ts";

function text(key: string, seq: number): Item {
  return { kind: "text", key, seq, at: "", revision: 0, text: "said" };
}

function call(key: string, seq: number, call_id: string): Item {
  const args = {};
  return { kind: "tool", key, seq, at: "", revision: 0, call_id, tool: "read_file", args };
}

function kept(shown: readonly Item[], read: readonly Item[]): string[] {
  keepKeys(shown, read);
  return read.map(({ key }) => key);
}

Deno.test("items of a checkpoint get the keys that they are shown by", () => {
  const shown = [text("3", 3), call("9", 9, "a"), text("12", 12), text("20", 20)];
  const read = [text("kept-0", 3), call("kept-1", 8, "a"), text("kept-2", 12), text("30", 30)];
  assertEquals(kept(shown, read), ["3", "9", "12", "30"]);
  // Once more, with what was said since.
  assertEquals(kept(read, [text("kept-0", 12), text("kept-1", 30)]), ["12", "30"]);
});

Deno.test("calls whose ids come again are told apart by when they began", () => {
  const shown = [call("9", 9, "a"), call("19", 19, "a")];
  const read = [call("kept-0", 18, "a"), call("kept-1", 28, "a"), call("39", 39, "a")];
  assertEquals(kept(shown, read), ["19", "kept-1", "39"]);
});

Deno.test("no two items get the same key", () => {
  const shown = [text("kept-1", 4), text("kept-0", 5)];
  const read = [text("kept-0", 3), text("kept-1", 4), text("kept-2", 5)];
  assertEquals(kept(shown, read), ["kept-0+", "kept-1", "kept-0"]);
});
