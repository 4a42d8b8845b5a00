import { assertEquals, assertRejects } from "@std/assert";
import * as z from "zod";
import { InvalidParams } from "../protocol/errors.ts";
import { bind, Dispatcher, verbsOf } from "./define.ts";
import type { Caller } from "./verb.ts";

const keep = verbsOf<undefined>()({
  name: "notes.keep",
  summary: "Keeps notes",
  access: "write",
  input: () => z.object({ tags: z.array(z.string()).max(1000), key: z.string() }),
  output: () => z.object({}),
  handle: () => ({}),
});

Deno.test("of each parameter the first problem is named, of many a few, and no value", async () => {
  const dispatcher = new Dispatcher(bind([keep], undefined));
  const refused = async (params: unknown) => {
    const { signal } = new AbortController();
    const running = dispatcher.run(keep, params, { via: "socket" } as Caller, { signal });
    const { message, details } = await assertRejects(() => running, InvalidParams);
    return { message, issues: details!.issues as unknown[] };
  };
  const one = await refused({ tags: "a long text".repeat(100), key: 4711 });
  assertEquals(
    one.message,
    "notes.keep: tags: must be a list, not text; key: must be text, not a number",
  );
  assertEquals(one.issues.length, 2);
  const many = await refused({ tags: Array(500).fill(4711) });
  assertEquals(many.message.split("; ").slice(9), [
    "tags.9: must be text, not a number",
    "and 491 more",
  ]);
});
