import { assertEquals } from "@std/assert";
import { lookAfter, lookAt, lookOf, looksLike, partsByRuns, runsOf } from "./looks.ts";

const after = (...sequences: string[]) => sequences.reduce(lookAfter, 0);

Deno.test("colours of terminals become one of a few, whatever their kind", () => {
  assertEquals(
    ["31", "92", "1;33", "38;5;4", "38;5;196", "38;2;200;20;200", "38:2:0:200:200", "90"]
      .map((it) => after(it)),
    [1, 2, 3 + 8, 4, 1, 5, 6, 7],
  );
  assertEquals(after("31", "39"), 0);
  assertEquals(after("31;1;4", "22", "3"), 1 + 32 + 16);
  assertEquals(after("31;1", ""), 0);
  assertEquals(lookOf(1 + 8 + 64), {
    colour: 1,
    bold: true,
    italic: false,
    underline: false,
    inverse: true,
  });
});

Deno.test("nothing can hide text: no background, no concealed text, no black and no white", () => {
  for (const it of ["8", "30", "37", "97", "40;30", "48;5;0;38;5;0", "48;2;1;2;3", "38;2;0;0;0"]) {
    assertEquals(after(it), 0, it);
  }
  // Its numbers are those of the colour behind the text.
  assertEquals(after("48;5;31"), 0);
});

Deno.test("odd sequences change nothing, or end at what is known", () => {
  for (const it of ["x", "999", "38", "38;5", "38;9;9", "NaN;-1", "1e9", ";;;"]) {
    assertEquals(after(it) >= 0 && after(it) < 128, true, it);
  }
});

Deno.test("a text is divided by its runs; runs that do not fit are left out", () => {
  const looks = `${looksLike("ab")}${looksLike("cd", 1)}\n${looksLike("e", 1)}`;
  assertEquals(runsOf(looks), [2, 2, 1, 5, 1, 1]);
  assertEquals([lookAt(looks, 2), lookAt(looks, 4)], [1, 0]);
  assertEquals(partsByRuns("abcd\ne", runsOf(looks)), [
    { text: "ab", look: 0 },
    { text: "cd", look: 1 },
    { text: "\n", look: 0 },
    { text: "e", look: 1 },
  ]);
  const odd = [-1, 2, 1, 1, 99, 1, 0, 2, 500, NaN, 1, 1, 2, 1, 3, 1, 1, 4, 3];
  assertEquals(partsByRuns("abcd", odd), [
    { text: "ab", look: 0 },
    { text: "c", look: 3 },
    { text: "d", look: 0 },
  ]);
  assertEquals(partsByRuns("", [0, 1, 1]), []);
});

Deno.test("very many runs are bounded", () => {
  const looks = Array.from({ length: 4_000 }, (_, n) => looksLike("x", n % 2)).join("");
  assertEquals(runsOf(looks)!.length, 1_500);
});
