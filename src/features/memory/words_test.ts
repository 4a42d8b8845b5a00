import { assertEquals } from "@std/assert";
import { searchTerms, wordsOf } from "./words.ts";

Deno.test("words are taken out of any script, also of those that write no spaces", () => {
  assertEquals(wordsOf("Run `make ship` in src/app.ts!"), [
    "run",
    "make",
    "ship",
    "in",
    "src",
    "app",
    "ts",
  ]);
  assertEquals(wordsOf("我们在北京部署应用"), ["我们", "在", "北京", "部署", "应用"]);
  assertEquals(wordsOf('" * ( ^ \u0000 \ud800'), []);
});

Deno.test("every word is quoted, and long ones are looked for by their beginning too", () => {
  assertEquals(searchTerms("Deploying NEAR a port"), [
    '"deploying"',
    '"deplo"*',
    '"near"',
    '"port"',
  ]);
  assertEquals(searchTerms("deploying deployed Deploying"), [
    '"deploying"',
    '"deplo"*',
    '"deployed"',
  ]);
});

Deno.test("a text of nothing but common words and signs is looked up nowhere", () => {
  assertEquals(searchTerms("What is it, and why?"), []);
  assertEquals(searchTerms('"*"'), []);
  assertEquals(searchTerms(""), []);
});

Deno.test("of a pasted text only the first words are looked up", () => {
  const pasted = Array.from({ length: 5_000 }, (_, n) => `w${n}`).join(" ");
  assertEquals(searchTerms(pasted).length, 32);
  assertEquals(searchTerms(`${" ".repeat(8_000_000)}late`), []);
});
