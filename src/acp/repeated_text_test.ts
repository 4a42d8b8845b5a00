import { assertEquals } from "@std/assert";
import { RepeatedText } from "./repeated_text.ts";

const TEXTS: [what: string, told: string, again: string[], fresh: string][] = [
  ["nothing was void", "", ["One ", "two"], "One two"],
  ["the same and more, in other pieces", "One two ", ["On", "e two three", "."], "three."],
  ["the same", "One two", ["One ", "two"], ""],
  ["only a part of it", "One two", ["One"], ""],
  ["other words", "One two", ["One ", "more", "."], "\n\nOne more."],
];

for (const [what, told, again, fresh] of TEXTS) {
  Deno.test(`of text that is said again, only what is new is told: ${what}`, () => {
    const repeated = new RepeatedText();
    repeated.expect(told);
    repeated.begin();
    assertEquals(again.map((text) => repeated.take(text)).join(""), fresh);
    // The text after it is another one, whatever it begins with.
    repeated.begin();
    assertEquals(repeated.take("One"), "One");
  });
}

Deno.test("a text that is cut off twice is told once, also when it was shorter the second time", () => {
  const repeated = new RepeatedText();
  assertEquals(repeated.take("One two"), "One two");
  repeated.expect("One two");
  repeated.begin();
  assertEquals(repeated.take("One"), "");
  repeated.expect("One");
  repeated.begin();
  assertEquals(repeated.take("One two three."), " three.");
});
