import { assertEquals } from "@std/assert";
import { fuzzyScore } from "./fuzzy.ts";

function ranked(typed: string, texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => {
      const score = fuzzyScore(text, typed);
      return score === undefined ? [] : [{ text, score }];
    })
    .sort((a, b) => b.score - a.score)
    .map(({ text }) => text);
}

Deno.test("a name comes before a name that contains it, and that before a path", () => {
  assertEquals(
    ranked("main", ["src/mainly/x.ts", "src/domain.ts", "web/main.ts", "main"]),
    ["main", "web/main.ts", "src/domain.ts", "src/mainly/x.ts"],
  );
});

Deno.test("the characters may be apart, and starts of words count more", () => {
  assertEquals(ranked("sv", ["src/session/view.ts", "mossy/have.ts"])[0], "src/session/view.ts");
  assertEquals(ranked("xyz", ["src/session/view.ts"]), []);
});

Deno.test("a start of a word further on does not make a text unfit", () => {
  assertEquals(ranked("acb", ["ac_b", "acb_c", "a_cb"]).length, 3);
  // A later word's letter is not taken where the rest would then be missing.
  assertEquals(ranked("bc", ["abxc_b", "abc"]), ["abc", "abxc_b"]);
});

Deno.test("nothing typed: short texts first", () => {
  assertEquals(ranked("", ["src/a.ts", "b"]), ["b", "src/a.ts"]);
});
