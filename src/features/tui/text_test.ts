import { assert, assertEquals } from "@std/assert";
import * as columns from "./columns.ts";
import { clean, cut, cutLine, line, lineText, loadColumns, width, wrap } from "./text.ts";

await loadColumns();

const PIECES = [
  "a",
  " ",
  "word",
  "日本",
  "👍🏽",
  "é",
  "❤️",
  "👨‍👩‍👧",
  "-",
  "🇩🇪",
  "x".repeat(9),
  "ก็",
  "\u0301",
];

/** Texts of random pieces, the same in every run. */
function* texts(count: number): Generator<string> {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 0x7fffffff) % below;
  for (let at = 0; at < count; at++) {
    yield Array.from({ length: random(40) }, () => PIECES[random(PIECES.length)]).join("");
  }
}

Deno.test("columns are counted as terminals show them", () => {
  const widths: [string, number][] = [
    ["abc", 3],
    ["日本", 4],
    ["👍🏽", 2],
    ["👨‍👩‍👧", 2],
    ["e\u0301", 1],
    ["🇩🇪", 2],
    ["ｱ", 1],
    ["", 0],
  ];
  for (const [text, columns] of widths) assertEquals(width(text), columns, text);
});

Deno.test("text of plain characters is measured as all other text is", () => {
  // By 16 characters: one that is not plain has them all measured by the same means.
  for (let code = 0x20; code < 0x3000; code += 16) {
    const chars = Array.from({ length: 16 }, (_, n) => String.fromCodePoint(code + n));
    for (const text of [...chars, chars.join(""), chars.join("a")]) {
      if (width(text) !== columns.width(text)) assertEquals(text, "", code.toString(16));
    }
    const text = clean(chars.join("a"));
    assertEquals(wrap(text, 40), columns.wrap(text, 40), code.toString(16));
  }
});

Deno.test("no escape sequence and no control character gets through", () => {
  assertEquals(clean("\x1b]0;title\x07\x9b2J"), "\\u{1b}]0;title\\u{7}\\u{9b}2J");
  assertEquals(clean("a\tb\r\nc\rd"), "a    b\nc\\u{d}d");
  assertEquals(clean("\ufe0f", "❤"), "\ufe0f");
  let every = "";
  for (let code = 0; code < 0x300; code++) every += String.fromCharCode(code);
  // deno-lint-ignore no-control-regex -- they are what is looked for
  assert(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(clean(every)));
});

Deno.test("wrapped rows fit, and joined they are the text again", () => {
  for (const text of texts(600)) {
    const plain = clean(text);
    for (const cols of [2, 3, 7, 20]) {
      const rows = wrap(plain, cols);
      assertEquals(rows.join(""), plain);
      for (const row of rows) assert(width(row) <= cols, `${JSON.stringify(row)} in ${cols}`);
    }
  }
});

Deno.test("what is cut fits and tells so", () => {
  assertEquals(cut("abcdef", 4), "abc…");
  assertEquals(cut("日本語", 4), "日…");
  assertEquals(cut("abc", 3), "abc");
  assertEquals(cut("abc", 0), "");
  // Only as much of it is looked at as columns can have.
  assertEquals(cut("a" + "\u0301".repeat(100_000), 4).length, 4 * 32 + 1);
  for (const text of texts(300)) {
    for (const cols of [0, 1, 2, 5, 17]) {
      const plain = clean(text);
      assert(width(cut(plain, cols)) <= cols);
      const spans = [...line(plain, "bold"), ...line(plain)];
      assert(width(lineText(cutLine(spans, cols))) <= cols);
    }
  }
});
