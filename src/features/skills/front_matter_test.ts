import { assertEquals, assertThrows } from "@std/assert";
import { BadMarkdown, parseMarkdown, textField } from "./front_matter.ts";

/** Front matter as it is published, and the description in it. */
const PUBLISHED: Record<string, [head: string, description: string]> = {
  "plain": ["description: What it does", "What it does"],
  // jaredrhod/ai-marketing-skills#3, BuilderIO/skills#38, tanweai/pua#147
  "a colon": ["description: Use for work: writing, 'x: y'", "Use for work: writing, 'x: y'"],
  "a colon at the end": ["description: Use it for:", "Use it for:"],
  "an at sign": ["description: @file is read", "@file is read"],
  "a number sign": ["description: Fixes issue #12 of C#", "Fixes issue #12 of C#"],
  "a backtick, a star, a percent": ["description: `x` *y* %z", "`x` *y* %z"],
  "a list": ["description: [draft] does it", "[draft] does it"],
  "a list that is YAML": ["description: [a, b]", "[a, b]"],
  "a number": ["description: 42", "42"],
  "quotes": ['description: "It says: \\"hello\\" # here"', 'It says: "hello" # here'],
  "single quotes": ["description: 'It''s: fine'", "It's: fine"],
  "a block": ["description: >-\n  One: two\n  three", "One: two three"],
  // open-octo/octo-agent#1417
  "the next lines": ["description:\n  One: two\n  three: four, five", "One: two three: four, five"],
  "tabs": ["description:\tWith: tabs\nmetadata:\n\tversion: 1", "With: tabs"],
  "another field that is not YAML": ["tools: @a: b\ndescription: Does it", "Does it"],
};

for (const [name, [head, description]] of Object.entries(PUBLISHED)) {
  Deno.test(`front matter is read as it is published: ${name}`, () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      for (const begin of ["", "\ufeff", "\n"]) {
        const text = `${begin}---\nname: it\n${head}\n---\n\nBody: x\n`.replaceAll("\n", end);
        const file = parseMarkdown(text);
        assertEquals([textField(file, "name", 64), textField(file, "description", 1_024)], [
          "it",
          description,
        ]);
        assertEquals(file.body, "Body: x");
      }
    }
  });
}

Deno.test("a comment after a name is not part of it", () => {
  const file = parseMarkdown("---\nname: it # a comment\ndescription: x\n---\n");
  assertEquals(textField(file, "name", 64), "it");
});

Deno.test("front matter that says nothing, or does not end, is refused", () => {
  assertThrows(() => parseMarkdown("---\n- a\n- b\n---\nx"), BadMarkdown, "lines such as");
  assertThrows(() => parseMarkdown("---\nname: x\n"), BadMarkdown, "no closing line");
});
