import { assertEquals } from "@std/assert";
import type { Item, ToolItem } from "../../../src/session/view.ts";
import { failuresText, isReading, readsText } from "./reads.ts";
import { revisionOf, RowMaker, rowText } from "./rows.ts";

const OK = { ok: true, output: "found", truncated: false };

function call(tool: string, more: Partial<ToolItem> = {}): ToolItem {
  const call_id = crypto.randomUUID();
  const shown = { key: call_id, seq: 1, at: "", revision: 0 };
  return { ...shown, kind: "tool", call_id, tool, args: {}, outcome: OK, ...more };
}

Deno.test("calls that read are counted by what they do", () => {
  const calls = ["read_file", "grep", "read_file", "glob", "list_dir"].map((it) => call(it));
  assertEquals(readsText(calls), "Read 2 files, searched 2 times, listed 1 directory");
  assertEquals(readsText([call("grep")]), "Searched once");
  assertEquals(
    failuresText([...calls, call("grep", { outcome: { ...OK, ok: false } })]),
    "1 failed",
  );
});

Deno.test("a call that asked, changes something or returned a picture is shown by itself", () => {
  assertEquals(isReading(call("read_file")), true);
  assertEquals(isReading(call("run_command")), false);
  assertEquals(isReading(call("fetch_url", { asked: { approval_id: "a", waits: true } })), false);
  assertEquals(isReading(call("read_file", { outcome: { ...OK, attachments: [] } })), false);
});

Deno.test("runs of two and more are one row, which changes with each of its calls", () => {
  const items: Item[] = ["read_file", "grep", "run_command", "grep"].map((it) => call(it));
  const maker = new RowMaker();
  const rows = maker.rows(items);
  assertEquals(rows.map(({ kind }) => kind), ["reads", "item", "item"]);
  assertEquals(rowText(rows[0]).includes("found"), true);
  const before = revisionOf(rows[0]);
  items[1].revision++;
  assertEquals(revisionOf(maker.rows(items)[0]), before + 1);
  // The key stays while the run grows.
  items.splice(2, 0, call("list_dir"));
  assertEquals(maker.rows(items)[0].key, rows[0].key);
});
