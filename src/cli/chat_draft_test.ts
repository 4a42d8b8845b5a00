import { assertEquals } from "@std/assert";
import type { RpcClient } from "../client/rpc.ts";
import { ChatDraft } from "./chat_draft.ts";

/** A draft that the daemon gives once it is told to, and what then stands where. */
async function opened(draft: string, typed: string, later = "") {
  const { promise, resolve } = Promise.withResolvers<{ text: string }>();
  const seen = { text: typed, kept: undefined as string | undefined, saved: [] as string[] };
  const chat = new ChatDraft("s", {
    read: () => seen.text,
    show: (text) => void (seen.text = text),
    keep: (text) => void (seen.kept = text),
  });
  const call = (verb: string, { text }: { text?: string }) => {
    if (verb === "draft.follow") return promise;
    seen.saved.push(text!);
    return Promise.resolve({});
  };
  const opening = chat.open({ call } as unknown as RpcClient);
  seen.text += later;
  resolve({ text: draft });
  await opening;
  await chat.close();
  return seen;
}

Deno.test("a draft is shown where nothing was typed", async () => {
  assertEquals(await opened("left here", ""), { text: "left here", kept: undefined, saved: [] });
});

Deno.test("a draft that comes late is kept for later and never mixed with what was typed", async () => {
  const typed = { text: "/vi off", kept: "left here", saved: ["/vi off"] };
  assertEquals(await opened("left here", "/vi", " off"), typed);
  assertEquals(await opened("left here", "", "/vi off"), typed);
  assertEquals(await opened("", "", "new"), { text: "new", kept: undefined, saved: ["new"] });
  assertEquals(await opened("same", "same"), { text: "same", kept: undefined, saved: [] });
});
