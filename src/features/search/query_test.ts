import { assertEquals, assertThrows } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import { termsOf } from "./query.ts";

const shown = (query: string) =>
  termsOf(query).map(({ words, prefix }) => words.join(" ") + (prefix ? "*" : ""));

Deno.test("words, phrases and prefixes become terms that must all match", () => {
  assertEquals(shown('grey  "night heron" nest*'), ["grey", "night heron", "nest*"]);
  assertEquals(shown("foo-bar.ts"), ["foo bar ts"]);
  assertEquals(shown('an "open phrase'), ["an", "open phrase"]);
});

Deno.test("nothing of the query language of the index gets through", () => {
  assertEquals(shown('a") OR (b NEAR(c text:d ^e -f'), ["a", "OR b NEAR c text d e f"]);
  assertEquals(shown("OR AND NOT"), ["OR", "AND", "NOT"]);
  assertEquals(shown("x\u0000y\u0002"), ["x y"]);
});

Deno.test("a query without words, or with too many, is refused", () => {
  const star_words = Array.from({ length: 32 }, (_, n) => `lo${n}*`).join(" ");
  const phrase = `"${"a ".repeat(160)}"`;
  for (
    const query of [
      "",
      "?! *",
      '""',
      "l*",
      star_words,
      "aa* bb* cc* dd* ee*",
      phrase,
      "a ".repeat(17),
    ]
  ) {
    assertThrows(() => termsOf(query), SvcError);
  }
});
