import { assertEquals } from "@std/assert";
import { looseArgs } from "./loose_args.ts";

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1 },
    content: { type: "string" },
    offset: { type: "integer" },
    ratio: { type: "number" },
    all: { type: "boolean" },
    names: { type: "array", items: { type: "string" } },
    edits: {
      type: "array",
      minItems: 1,
      items: { type: "object", properties: { old_text: { type: "string" } } },
    },
    mode: { enum: ["read", "all"] },
    size: { anyOf: [{ type: "integer" }, { type: "null" }] },
    more: { type: "object", properties: { deep: { type: ["boolean", "null"] } } },
  },
  required: ["path"],
  additionalProperties: false,
};

/** Each with the report of it, as far as there is one. */
const READ: Record<string, [given: unknown, read: unknown]> = {
  "a list as text (Kilo-Org/kilocode#10421)": [
    { path: "a", edits: '[{"old_text":"x"}]' },
    { path: "a", edits: [{ old_text: "x" }] },
  ],
  "items as text": [
    { path: "a", edits: ['{"old_text":"x"}'] },
    { path: "a", edits: [{ old_text: "x" }] },
  ],
  "a list that is encoded twice (anthropics/claude-code#76906)": [
    { path: "a", names: '"[\\"x\\"]"' },
    { path: "a", names: ["x"] },
  ],
  "a single item for a list (Avick3110/houseCARL#39)": [
    { path: "a", names: "[x", edits: { old_text: "y" } },
    { path: "a", names: ["[x"], edits: [{ old_text: "y" }] },
  ],
  "numbers as text (AtomicBot-ai/atomic-agent#182)": [
    { path: "a", offset: " 2", ratio: "-0.5", size: "7" },
    { path: "a", offset: 2, ratio: -0.5, size: 7 },
  ],
  "booleans as text (nteract/nteract#1680)": [
    { path: "a", all: "True", more: { deep: "false" } },
    { path: "a", all: true, more: { deep: false } },
  ],
  "an object as text": [{ path: "a", more: '{"deep":true}' }, { path: "a", more: { deep: true } }],
  "null for what is absent": [
    { path: "a", offset: null, names: null, size: null },
    { path: "a", size: null },
  ],
  "empty text and an empty list for what is absent": [
    { path: "a", offset: "", edits: [], content: "" },
    { path: "a", content: "" },
  ],
  "another agent's names (cortexkit/aft#148, LibreChat-AI/agents#250)": [
    { filePath: "a", Contents: "x" },
    { path: "a", content: "x" },
  ],
  "all of it encoded twice": [JSON.stringify(JSON.stringify({ path: "a" })), { path: "a" }],
  "all of it in a list of one": [[{ path: "a" }], { path: "a" }],
  "no arguments": [null, {}],
  "a choice in other letters": [{ path: "a", mode: "READ" }, { path: "a", mode: "read" }],
  "a number for text": [{ path: 7 }, { path: "7" }],
};

Deno.test("arguments in another notation are read as what they mean, and it is said", async (t) => {
  for (const [name, [given, read]] of Object.entries(READ)) {
    await t.step(name, () => {
      const { args, taken } = looseArgs(given, SCHEMA, { own: true });
      assertEquals(args, read);
      assertEquals(taken.length > 0, true);
    });
  }
});

Deno.test("what is right, or not clear, stays as it is", () => {
  const same = [
    // Text is text, whatever it looks like (epam/dm.ai#461).
    { path: "[a]", content: '["a", "b"]', names: ['{"old_text":1}', "true", "3"] },
    { path: "a", content: "null" },
    { path: "a", offset: "two" },
    { path: "a", offset: "1e3" },
    { path: "a", offset: "2.5" },
    { path: "a", all: "yes" },
    { path: "a", all: 1 },
    { path: "a", all: "constructor" },
    { path: "a", content: { not: "text" } },
    { path: "a", content: ["not", "text"] },
    { path: "a", mode: "write" },
    { path: "a", more: "{broken" },
    { path: null },
    // Two of them could be meant.
    { file: "a", filename: "b" },
    { path: "a", file: "b" },
    "not an object",
    [{ path: "a" }, { path: "b" }],
  ];
  for (const args of same) {
    assertEquals(looseArgs(args, SCHEMA, { own: true }), { args, taken: [] });
  }
});

Deno.test("the names of foreign parameters stay, their values are read by their schema", () => {
  const { args } = looseArgs({ filePath: "a", offset: "2" }, SCHEMA, { own: false });
  assertEquals(args, { filePath: "a", offset: 2 });
});

Deno.test("a schema that is not understood changes nothing", () => {
  for (const schema of [{}, { $ref: "#/x" }, { properties: { a: true } }, { properties: 3 }]) {
    const args = { a: "1", b: null };
    assertEquals(looseArgs(args, schema, { own: true }).args, args);
  }
});
