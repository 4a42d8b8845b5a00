import { assertEquals } from "@std/assert";
import { ATTACHED_BYTES_MAX } from "../../protocol/attachments.ts";
import { attachPasted, fileChip, type FoundFile } from "./files.ts";
import { keysOn, pasteOn, shownText, typed } from "./input_bench.ts";
import type { Model } from "./model.ts";

function fileAt(path: string, bytes = 10): FoundFile {
  if (path.includes("gone")) return { problem: "gone.png: there is none" };
  const name = path.split("/").at(-1)!;
  return { chip: fileChip({ key: path, name, media_type: "image/png", bytes, path }) };
}

function drop(model: Model, text: string, bytes?: number): void {
  const [effect] = pasteOn(model, text);
  if (effect?.type !== "attach") throw new Error("nothing to attach");
  attachPasted(model, effect.pasted, (path) => fileAt(path, bytes));
}

Deno.test("dropped files are chips in their order, and are sent once each", () => {
  const it = typed("look: ");
  drop(it, "/a/1.png\n/a/gone.png /a/2.png\n");
  assertEquals(shownText(it), "look: [Image #1: 1.png] /a/gone.png [Image #2: 2.png]|");
  assertEquals(it.notice, "not attached: gone.png: there is none");
  drop(it, "/a/1.png");
  const [sent] = keysOn(it, "enter");
  assertEquals(sent, {
    type: "send",
    text: "look: [Image #1: 1.png] /a/gone.png [Image #2: 2.png][Image #3: 1.png]",
    client_message_id: "id",
    files: ["/a/1.png", "/a/2.png"],
  });
  keysOn(it, "up");
  const [again] = keysOn(it, "backspace", "enter");
  assertEquals(again.type === "send" && again.files, ["/a/1.png", "/a/2.png"]);
});

Deno.test("more than a message takes stays text, and undo brings the paths back", () => {
  const it = typed("");
  drop(it, "/a/1.png /a/2.png", ATTACHED_BYTES_MAX - 5);
  assertEquals(shownText(it), "[Image #1: 1.png] /a/2.png|");
  assertEquals(it.notice?.startsWith("not attached: the files have more than"), true);
  keysOn(it, "ctrl-_");
  assertEquals(shownText(it), "/a/1.png /a/2.png|");
});
