import { assert, assertEquals } from "@std/assert";
import * as z from "zod";
import { type Verb, verbsOf } from "../../verbs/define.ts";
import { CAPS, Catalog } from "./catalog.ts";

function verb(name: string, more: Partial<Verb> = {}): Verb {
  return {
    ...verbsOf<unknown>()({
      name,
      summary: `Does ${name}.`,
      access: more.access ?? "read",
      input: () => z.object({ id: z.string().optional() }),
      output: () => z.object({ done: z.boolean() }),
      handle: () => ({ done: true }),
    }),
    ...more,
  };
}

const VERBS = [
  verb("thing.look"),
  verb("thing.change", { access: "write", idempotent: true, replaces: "svc_change" }),
  verb("thing.end", { access: "write", destructive: true }),
  verb("svc_change", { access: "write", legacy: true }),
  verb("thing.secret_handshake", { internal: true }),
];

function names(caps: typeof CAPS[number], safe_names = false): string[] {
  return new Catalog(VERBS, { caps, safe_names }).tools.map(({ name }) => name);
}

Deno.test("tools have one prefix, the legacy ones their own name, internal verbs are none", () => {
  assertEquals(names("all"), ["svc.thing.look", "svc.thing.change", "svc.thing.end", "svc_change"]);
});

Deno.test("safe names have underscores in place of dots", () => {
  assertEquals(names("all", true), [
    "svc_thing_look",
    "svc_thing_change",
    "svc_thing_end",
    "svc_change",
  ]);
});

Deno.test("caps leave out what changes, or what destroys", () => {
  assertEquals(names("read"), ["svc.thing.look"]);
  assertEquals(names("write"), ["svc.thing.look", "svc.thing.change", "svc_change"]);
});

Deno.test("a tool that is not offered still leads to its verb", () => {
  const catalog = new Catalog(VERBS, { caps: "read", safe_names: false });
  assertEquals(catalog.verb("svc.thing.end")?.name, "thing.end");
  assertEquals(catalog.verb("thing.end"), undefined);
  assertEquals(catalog.verb("svc.thing.secret_handshake"), undefined);
});

Deno.test("hints tell what a tool does to what is there", () => {
  const { tools } = new Catalog(VERBS, { caps: "all", safe_names: false });
  assertEquals(tools.map(({ annotations }) => annotations), [
    { readOnlyHint: true },
    { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
    { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  ]);
});

Deno.test("an output schema is the envelope around the verb's own, a legacy one the bare thing", () => {
  const { tools } = new Catalog(VERBS, { caps: "all", safe_names: false });
  const properties = tools.map(({ outputSchema }) => Object.keys(outputSchema!.properties!));
  assertEquals(properties[0], ["ok", "data", "error_code", "error_message", "links"]);
  assertEquals(properties[3], ["done"]);
  assert(tools.every(({ inputSchema }) => inputSchema.type === "object"));
});
