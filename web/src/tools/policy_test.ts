import { assertEquals } from "@std/assert";
import { looksSecret, referenceFor, rowFault } from "./policy.ts";

Deno.test("what looks like a key is told from what does not", () => {
  for (
    const [name, value, secret] of [
      ["LEVEL", "debug", false],
      ["ROOT", "/home/you/project-2026-09-01", false],
      ["API_KEY", "x", true],
      ["API_KEY", "${MINE}", false],
      ["API_KEY", "", false],
      ["API_KEY", null, false],
      ["X", "sk-0123456789abcdef", true],
      ["authorization", "Bearer abc", true],
      ["NOTE", "a long sentence with 16 words", false],
    ] as const
  ) assertEquals([name, value, looksSecret({ name, value })], [name, value, secret]);
});

Deno.test("a reference names a variable, and keeps the scheme", () => {
  const of = (name: string, value: string) => referenceFor({ name, value }, "my docs");
  assertEquals(of("API_KEY", "x"), "${API_KEY}");
  assertEquals(of("X-Api-Key", "x"), "${X_API_KEY}");
  assertEquals(of("Authorization", "Bearer x"), "Bearer ${MY_DOCS_TOKEN}");
  assertEquals(of("1", "x"), "${_1}");
  assertEquals(of("", "x"), "${SECRET}");
});

Deno.test("a value without a name and a name that is there twice are faults", () => {
  const fault = (...names: string[]) => rowFault(names.map((name) => ({ name, value: "x" })));
  assertEquals(fault("A", "a", "B"), undefined);
  assertEquals(fault("A", " "), "A value has no name.");
  assertEquals(fault("A", "B", "A "), "A is there twice.");
  assertEquals(rowFault([{ name: "", value: "" }, { name: "", value: "" }]), undefined);
});
