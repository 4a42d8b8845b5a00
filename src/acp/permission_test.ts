import { assertEquals } from "@std/assert";
import { formAnswer, personForm } from "./permission.ts";

const asked = {
  question: "Which\u202e one?",
  options: [{ label: "A", description: "first" }, { label: "B" }],
  multiple: false,
  free_text: true,
};

Deno.test("a question is a form where editors have them", () => {
  const form = personForm("s", "c", asked) as Record<string, unknown>;
  assertEquals(form.message, "Which\\u{202e} one?");
  assertEquals(form.requestedSchema, {
    type: "object",
    properties: {
      choice: {
        type: "string",
        title: "Options",
        oneOf: [{ const: "A", title: "A (first)" }, { const: "B", title: "B" }],
      },
      text: { type: "string", title: "Your own words" },
    },
    required: [],
  });
  const only = personForm("s", "c", { ...asked, multiple: true, free_text: false }) as {
    requestedSchema: { properties: Record<string, { type: string }>; required: string[] };
  };
  assertEquals(only.requestedSchema.required, ["choice"]);
  assertEquals(Object.keys(only.requestedSchema.properties), ["choice"]);
  assertEquals(only.requestedSchema.properties.choice.type, "array");
});

Deno.test("what a form was filled with is the answer; an empty or declined one skips", () => {
  const accept = (content: Record<string, string | string[]>) =>
    formAnswer({ action: "accept", content });
  assertEquals(accept({ choice: "B" }), { chosen: ["B"] });
  assertEquals(accept({ choice: ["A", "B"], text: "why" }), { chosen: ["A", "B"], text: "why" });
  assertEquals(accept({ text: "  " }), undefined);
  assertEquals(accept({}), undefined);
  assertEquals(formAnswer({ action: "decline" }), undefined);
});
