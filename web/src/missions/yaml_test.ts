import { assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { toYaml } from "./yaml.ts";

/** Texts that YAML would read as something else, if they stood as they are. */
const TEXTS = [
  ..."true null ~ yes 1 1.5 .5 .inf 0x1f 1_000 2001-01-01 - -a ? : # @ ` % & * ! | > { [ ]".split(
    " ",
  ),
  "a: b",
  "a #b",
  "a:",
  " a",
  "a ",
  "",
  "\n",
  "a\nb",
  "a\n\nb: c\n  d",
  "a\n",
  "  a\nb",
  "a \nb",
  "a\r\nb",
  "a\n\tb",
  "a\n---\nb",
  "---\nb",
  "é ß 日本",
  "\x00\x07\x1b\x7f\x85\u2028\ufeff",
  "a\n\x85b",
  "'\"\\",
  "<<",
  "=",
  "😀",
  ".1e3",
  "._5",
  "\ud83d",
];

Deno.test("whatever a text is, YAML reads it as it was", () => {
  for (const text of TEXTS) {
    for (const value of [{ text }, { items: [text, "x"] }, { items: [{ text, more: text }] }]) {
      assertEquals([text, parse(toYaml(value))], [text, value]);
    }
    if (text !== "<<") assertEquals(parse(toYaml({ [text]: "x" })), { [text]: "x" });
  }
});

Deno.test("simple texts stand as they are, long ones as blocks", () => {
  assertEquals(
    toYaml({
      id: "a-b",
      list: ["one", "two"],
      tasks: [{ text: "Do it.\n\nNow 😀", sub: { file: "x/y" } }],
    }),
    "id: a-b\nlist: [one, two]\ntasks:\n  - text: |-\n      Do it.\n\n      Now 😀\n    sub:\n      file: x/y\n",
  );
});
