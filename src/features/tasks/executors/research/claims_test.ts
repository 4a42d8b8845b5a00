import { assert, assertEquals } from "@std/assert";
import { extractClaims, sentencesOf } from "./claims.ts";
import { quoteFinder, type Source } from "./source.ts";

function source(address: string, text: string): Source {
  return { ref: { kind: "page", url: address, named: true }, address, title: address, text };
}

Deno.test("sentences are those that can stand alone", () => {
  const text = `# A heading without an end
Herons are wading
birds of the family Ardeidae. They eat fish (and frogs) all day long! Short one.

| a table | of things | in rows |
- A list's item that is a whole sentence too.

Is this the very last sentence of it? Imprint and contact and more`;
  assertEquals(
    sentencesOf(text),
    [
      "Herons are wading birds of the family Ardeidae.",
      "They eat fish (and frogs) all day long!",
      "A list's item that is a whole sentence too.",
      "Is this the very last sentence of it?",
    ].slice(0, 4),
  );
});

Deno.test("claims are the sentences about the question, each once, quoted from their source", () => {
  const sources = [
    source("a", "Storks clatter with their bills. Herons eat fish and frogs, mostly at dawn."),
    source("b", "Herons eat fish and frogs, mostly at dawn, it says. Nests are built of sticks."),
  ];
  const claims = extractClaims("What do herons eat?", sources, 2);
  assertEquals(claims.length, 1, "the same again says nothing");
  assertEquals(claims[0].quote, "Herons eat fish and frogs, mostly at dawn.");
  assertEquals(claims[0].source.address, "a");
  const beginning = extractClaims("Who plays the piano?", sources, 1);
  assertEquals(beginning[0].quote, "Storks clatter with their bills.");
  for (const { quote, source } of [...claims, ...beginning]) {
    assert(quoteFinder(source.text)(quote));
  }
  assertEquals(extractClaims("anything", [], 3), []);
});

Deno.test("a quote is found however its lines are broken, and only word for word", () => {
  const text = "It eats\n  fish,\u00a0frogs and caf\u00e9 crumbs.";
  const hasQuote = quoteFinder(text);
  assert(hasQuote("eats fish, frogs"));
  assert(hasQuote("cafe\u0301 crumbs"));
  for (const quote of ["eats frogs", "It eats fish frogs", "", " "]) assert(!hasQuote(quote));
});
