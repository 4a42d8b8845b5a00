import { assert, assertEquals, assertThrows } from "@std/assert";
import { acceptableSchema, originalNames } from "./acceptable_schema.ts";

const any = {};

/** A tool's parameters, and what providers are given for them. Each has at least one public report. */
const CASES: Record<string, [given: unknown, schema: Record<string, unknown>]> = {
  "no schema, or one that allows anything": [undefined, {}],
  "an empty schema: zereight/gitlab-mcp#286": [{}, {}],
  "booleans for any value: anomalyco/opencode#49464": [
    { type: "object", properties: { raw_input: true, never: false }, required: null },
    { properties: { raw_input: any, never: any } },
  ],
  "a type that is missing or capital": [
    { properties: { a: { type: "STRING" }, b: { type: "any" }, c: { properties: { d: {} } } } },
    {
      properties: {
        a: { type: "string" },
        b: any,
        c: { type: "object", properties: { d: any } },
      },
    },
  ],
  "required names among the properties: mastra-ai/mastra#23731": [
    { type: "object", properties: { coin: { type: "string" }, required: ["coin"] } },
    { properties: { coin: { type: "string" } }, required: ["coin"] },
  ],
  "required beside each property, and names without a property": [
    { type: "object", properties: { a: { type: "string", required: true } }, required: ["b"] },
    { properties: { a: { type: "string" }, b: any }, required: ["b", "a"] },
  ],
  "lists of types: github/copilot-cli#4623": [
    {
      type: ["object", "null"],
      properties: {
        rows: {
          type: ["array", "null"],
          items: { type: ["object", "null"], properties: { value: true } },
        },
      },
    },
    {
      properties: {
        rows: {
          anyOf: [{
            type: "array",
            items: {
              anyOf: [{ type: "object", properties: { value: any } }, { type: "null" }],
            },
          }, { type: "null" }],
        },
      },
    },
  ],
  "values of another type: can1357/oh-my-pi#2652": [
    {
      type: "object",
      properties: {
        mode: { anyOf: [{ type: "string", enum: ["A", "B"] }, { type: "null", enum: ["A", "B"] }] },
        steps: { type: "array", enum: [0, 1], items: { type: "integer" } },
        level: { enum: ["low", null] },
        kind: { const: "x" },
      },
    },
    {
      properties: {
        mode: { anyOf: [{ type: "string", enum: ["A", "B"] }, { type: "null" }] },
        steps: { type: "array", items: { type: "integer" } },
        level: { anyOf: [{ type: "string", enum: ["low"] }, { type: "null" }] },
        kind: { type: "string", enum: ["x"] },
      },
    },
  ],
  "arrays without items, and tuples: router-for-me/CLIProxyAPI#5292": [
    {
      type: "object",
      properties: {
        values: { type: "array" },
        pair: { type: "array", items: [{ type: "string" }, { type: "number" }] },
        point: { prefixItems: [{ type: "number" }, true] },
      },
    },
    {
      properties: {
        values: { type: "array", items: any },
        pair: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
        point: { type: "array", items: any },
      },
    },
  ],
  "limits of older drafts: google-gemini/gemini-cli#4920": [
    {
      type: "object",
      properties: {
        pages: { type: "integer", minimum: 0, exclusiveMinimum: true, maximum: "9" },
        at: { type: "string", pattern: "(?=x)y", minLength: null, format: "date" },
        id: { type: "string", pattern: "^[a-z]+$" },
      },
    },
    {
      properties: {
        pages: { type: "integer", exclusiveMinimum: 0 },
        at: { type: "string", format: "date" },
        id: { type: "string", pattern: "^[a-z]+$" },
      },
    },
  ],
  "references: agent-infra/sandbox#83": [
    {
      type: "object",
      $defs: {
        Language: { type: "string", enum: ["js", "py"] },
        Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } },
        "a/b": { type: "integer" },
      },
      properties: {
        language: { $ref: "#/$defs/Language", description: "Which" },
        node: { $ref: "#/$defs/Node" },
        number: { $ref: "#/$defs/a~1b" },
        elsewhere: { $ref: "https://schemas.example/x.json" },
        nowhere: { $ref: "#/$defs/None" },
      },
    },
    {
      properties: {
        language: { description: "Which", type: "string", enum: ["js", "py"] },
        node: { type: "object", properties: { next: any } },
        number: { type: "integer" },
        elsewhere: any,
        nowhere: any,
      },
    },
  ],
  "parts that must all hold": [
    {
      allOf: [
        { properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false },
        { properties: { b: { type: "integer" } } },
      ],
    },
    { properties: { a: { type: "string" }, b: { type: "integer" } }, required: ["a"] },
  ],
  "patterns of names, which are not said": [
    {
      type: "object",
      properties: {},
      patternProperties: { "^x": {} },
      additionalProperties: false,
    },
    {},
  ],
  "more of other kinds": [
    { type: "object", additionalProperties: { type: "string", $comment: "any" }, if: {}, $id: "x" },
    { additionalProperties: { type: "string" } },
  ],
};

for (const [name, [given, schema]] of Object.entries(CASES)) {
  Deno.test(`a schema is as every provider accepts it: ${name}`, () => {
    assertEquals(acceptableSchema(given).schema, { type: "object", properties: {}, ...schema });
  });
}

Deno.test("alternatives at the top are united, and told in words", () => {
  // makenotion/notion-mcp-server#340, anthropics/claude-code#88049
  const { schema, hint } = acceptableSchema({
    type: "object",
    properties: { to: { type: "string" } },
    required: ["to"],
    oneOf: [
      { properties: { file: { type: "string" } }, required: ["file"] },
      { properties: { text: { type: "string" }, to: { type: "integer" } }, required: ["text"] },
    ],
  });
  assertEquals(schema, {
    type: "object",
    properties: {
      to: { anyOf: [{ type: "string" }, { type: "integer" }] },
      file: { type: "string" },
      text: { type: "string" },
    },
    required: ["to"],
  });
  assertEquals(hint, "Give file, or text.");
});

Deno.test("names of properties that a provider refuses are changed, and restored in calls", () => {
  // anthropics/claude-code#34771, twilio-labs/mcp#56
  const { schema, renamed } = acceptableSchema({
    type: "object",
    properties: {
      $filter: { type: "string" },
      _filter: { type: "string" },
      "StartTime<": { type: "string" },
      "StartTime>": { type: "string" },
      body: { type: "object", properties: { "größe in cm": { type: "number" } } },
    },
    required: ["$filter"],
  });
  const names = Object.keys(schema.properties as object);
  assert(names.every((name) => /^[a-zA-Z0-9_.-]{1,64}$/.test(name)));
  assertEquals([new Set(names).size, schema.required], [5, [names[0]]]);
  const inner = Object.keys(
    (schema.properties as Record<string, { properties: object }>).body.properties,
  );
  const args = {
    [names[0]]: "a",
    _filter: "b",
    [names[2]]: 1,
    [names[3]]: 2,
    body: { [inner[0]]: [1] },
  };
  assertEquals(originalNames(args, renamed), {
    $filter: "a",
    _filter: "b",
    "StartTime<": 1,
    "StartTime>": 2,
    body: { "größe in cm": [1] },
  });
});

Deno.test("a schema for something else than an object is refused", () => {
  // sandialabs/atlas-ui-3#727
  assertThrows(
    () => acceptableSchema({ type: "string" }),
    Error,
    "its schema is for string instead of an object",
  );
  assertThrows(() => acceptableSchema([]), Error, "its schema is not an object");
});

Deno.test("deep, wide and endless schemas stay small", () => {
  let deep: unknown = { type: "string" };
  for (let n = 0; n < 100_000; n++) deep = { type: "object", properties: { a: deep } };
  assert(JSON.stringify(acceptableSchema(deep).schema).length < 2_000);
  const doubled: Record<string, unknown> = { l0: { type: "string", description: "x".repeat(50) } };
  for (let n = 1; n < 40; n++) {
    const ref = { $ref: `#/$defs/l${n - 1}` };
    doubled[`l${n}`] = { type: "object", properties: { a: ref, b: ref } };
  }
  const { schema } = acceptableSchema({ $defs: doubled, $ref: "#/$defs/l39" }, 64_000);
  assert(JSON.stringify(schema).length <= 64_000);
  const wide = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, n) => [`p${n}`, { type: "string" }]),
  );
  assertThrows(() => acceptableSchema({ properties: wide }, 64_000), Error, "too long for a model");
});

Deno.test("alternatives are united by the names of their own properties", () => {
  const branch = { type: "object", properties: { constructor: { type: "string" } } };
  const { schema } = acceptableSchema({ anyOf: [branch, branch] });
  assertEquals(schema.properties, { constructor: { type: "string" } });
});
