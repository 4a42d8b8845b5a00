import { assert, assertEquals } from "@std/assert";
import * as z from "zod";
import { type Verb, verbsOf } from "../../verbs/define.ts";
import { VERBS as ALL_VERBS } from "../../features/registry.ts";
import { CAPS } from "../../protocol/schemas/mcp.ts";
import { Catalog, type CatalogOptions, Catalogs } from "./catalog.ts";

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

const ALL: CatalogOptions = { caps: "all", toolset: "all", safe_names: false };

function names(caps: typeof CAPS[number], safe_names = false): string[] {
  return new Catalog(VERBS, { caps, toolset: "all", safe_names }).tools.map(({ name }) => name);
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
  const catalog = new Catalog(VERBS, { caps: "read", toolset: "all", safe_names: false });
  assertEquals(catalog.verb("svc.thing.end")?.name, "thing.end");
  assertEquals(catalog.verb("thing.end"), undefined);
  assertEquals(catalog.verb("svc.thing.secret_handshake"), undefined);
});

Deno.test("hints tell what a tool does to what is there", () => {
  const { tools } = new Catalog(VERBS, ALL);
  assertEquals(tools.map(({ annotations }) => annotations), [
    { readOnlyHint: true },
    { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
    { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  ]);
});

Deno.test("an output schema is the envelope around the verb's own, a legacy one the bare thing", () => {
  const { tools } = new Catalog(VERBS, ALL);
  const properties = tools.map(({ outputSchema }) => Object.keys(outputSchema!.properties!));
  assertEquals(properties[0], ["ok", "data", "error_code", "error_message", "links"]);
  assertEquals(properties[3], ["done"]);
  assert(tools.every(({ inputSchema }) => inputSchema.type === "object"));
});

Deno.test("calls take both spellings of a name, whichever is listed", () => {
  for (const safe_names of [false, true]) {
    const catalog = new Catalog(VERBS, { ...ALL, safe_names });
    for (const name of ["svc.thing.end", "svc_thing_end"]) {
      assertEquals(catalog.verb(name)?.name, "thing.end");
    }
    assertEquals(catalog.verb("svc_change")?.name, "svc_change");
    assertEquals(catalog.verb("svc_thing_secret_handshake"), undefined);
    assertEquals(catalog.tool("thing.end"), safe_names ? "svc_thing_end" : "svc.thing.end");
  }
});

Deno.test("clients that refuse dots get none, unless they choose", () => {
  const catalogs = new Catalogs(new Map(VERBS.map((it) => [it.name, it])));
  const choice = { caps: "all", toolset: "all" } as const;
  const first = (client: string | undefined, safe_names?: boolean) =>
    catalogs.for({ ...choice, safe_names }, client).tools[0].name;
  for (const client of ["ai-sdk-mcp-client", "@langchain/mcp-adapters", "mcp", "claude-ai"]) {
    assertEquals(first(client), "svc_thing_look");
    assertEquals(first(client, false), "svc.thing.look");
  }
  for (const client of [undefined, "", "claude-code", "MCP", "toString"]) {
    assertEquals(first(client), "svc.thing.look");
    assertEquals(first(client, true), "svc_thing_look");
  }
});

Deno.test("every tool and every parameter has a title and a description", () => {
  for (const { name, title, description, inputSchema } of new Catalog(ALL_VERBS, ALL).tools) {
    assert(title && description, name);
    const properties = Object.entries(inputSchema.properties ?? {});
    for (const [parameter, schema] of properties) {
      const { title, description } = schema as { title?: string; description?: string };
      assert(title && description, `${name} ${parameter}: describe it in the schema of its verb`);
    }
  }
});

/** What a model is given of a tool. */
const shown = ({ name, description, inputSchema }: Catalog["tools"][number]) =>
  JSON.stringify({ name, description, input_schema: inputSchema });

Deno.test("the core is small enough for every call of a model, and leads to all the rest", () => {
  const catalog = new Catalog(ALL_VERBS, { ...ALL, toolset: "core", safe_names: true });
  assert(catalog.tools.length <= 16);
  // Four characters of JSON are about one token.
  const tokens = catalog.tools.map(shown).join().length / 4;
  assert(tokens <= 2_600, `${tokens} tokens`);
  for (const { name } of catalog.tools) assert(/^[a-zA-Z0-9_-]{1,64}$/.test(name), name);
  assertEquals(catalog.verb("svc.mission.create")?.name, "mission.create");
  const read = new Catalog(ALL_VERBS, { ...ALL, toolset: "core", caps: "read" });
  assert(read.tools.every(({ annotations }) => annotations!.readOnlyHint));
});
