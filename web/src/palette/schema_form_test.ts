import { assertEquals, assertThrows } from "@std/assert";
import * as z from "zod";
import { VERBS } from "../../../src/features/registry.ts";
import { fieldsOf, type JsonSchema, paramsOf, wordsOf } from "./schema_form.ts";

const schema = z.toJSONSchema(
  z.object({
    note: z.string().optional().describe("What it says"),
    session_id: z.string(),
    limit: z.int().default(20),
    state: z.enum(["running", "ended"]).optional(),
    full: z.boolean().optional(),
    tags: z.array(z.string()).optional(),
    sizes: z.array(z.int()).optional(),
  }),
  { io: "input" },
) as JsonSchema;

Deno.test("a schema's properties become fields of their kinds, required ones first", () => {
  assertEquals(fieldsOf(schema).map(({ name, kind, required }) => [name, kind, required]), [
    ["session_id", "text", true],
    ["note", "text", false],
    ["limit", "number", false],
    ["state", "choice", false],
    ["full", "flag", false],
    ["tags", "lines", false],
    ["sizes", "json", false],
  ]);
});

Deno.test("inputs become parameters; what is empty is left out", () => {
  const fields = fieldsOf(schema);
  assertEquals(
    paramsOf(fields, {
      session_id: "s",
      limit: "5",
      full: "false",
      tags: "a\n\n b ",
      sizes: "[1]",
    }),
    { session_id: "s", limit: 5, full: false, tags: ["a", "b"], sizes: [1] },
  );
  assertThrows(() => paramsOf(fields, { limit: "x" }), Error, "Limit must be a number");
  assertThrows(() => paramsOf(fields, { sizes: "[" }), Error, "Sizes must be JSON");
});

Deno.test("every verb's parameters have a form", () => {
  for (const { name, input } of VERBS) {
    const json = z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as JsonSchema;
    const { properties = {} } = json;
    assertEquals(fieldsOf(json).length, Object.keys(properties).length, name);
  }
});

Deno.test("names of fields are words, with their units", () => {
  const names = ["session_id", "workdir", "since_seq", "budget_usd", "timeout_ms", "grace_s", "x"];
  assertEquals([...names, "urls"].map(wordsOf), [
    "Session",
    "Directory",
    "Since position",
    "Budget in USD",
    "Timeout in ms",
    "Grace in seconds",
    "X",
    "URLs",
  ]);
});
