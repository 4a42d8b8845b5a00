import { assert, assertEquals } from "@std/assert";
import { pieces } from "./pieces.ts";

Deno.test("a text is cut where a line ends, or else a word, or else where there is no more room", () => {
  assertEquals(pieces("", 10), [""]);
  assertEquals(pieces("one\ntwo three", 20), ["one\ntwo three"]);
  assertEquals(pieces("one\ntwo three four", 10), ["one\n", "two three ", "four"]);
  assertEquals(pieces("123456789012", 10), ["1234567890", "12"]);
  assertEquals(pieces("123456789😀12", 10), ["123456789", "😀12"]);
});

Deno.test("of a text that grows only the last piece changes", () => {
  const words = Array.from({ length: 400 }, (_, n) => n % 7 === 0 ? `w${n}\n` : `w${n} `);
  let [text, before] = ["", [""]];
  for (const word of words) {
    text += word;
    const now = pieces(text, 100);
    assertEquals(now.slice(0, before.length - 1), before.slice(0, -1));
    before = now;
  }
  assertEquals(before.join(""), text);
  assert(before.every(({ length }) => length > 0 && length <= 100));
});
