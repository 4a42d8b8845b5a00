import { assert, assertEquals } from "@std/assert";
import { exact, exactLine, visible, visibleJson, visibleLine } from "./visible.ts";

const PROPERTIES = ["C", "Zl", "Zp", "Default_Ignorable_Code_Point"] as const;
const NOTHING_TO_SEE = new RegExp(
  `[${PROPERTIES.map((it) => `\\p{${it}}`).join("")}\u2800\ufffc]`,
  "u",
);

/** One character of each general category of Unicode: how a conversation and a question show it. */
const CATEGORIES: Record<string, readonly [char: string, talk: string, question: string]> = {
  Lu: ["É", "É", "É"],
  Ll: ["ß", "ß", "ß"],
  Lt: ["ǅ", "ǅ", "ǅ"],
  Lm: ["ʰ", "ʰ", "ʰ"],
  Lo: ["語", "語", "語"],
  Mn: ["\u0301", "\u0301", "\\u{301}"],
  Mc: ["\u093e", "\u093e", "\\u{93e}"],
  Me: ["\u20dd", "\u20dd", "\\u{20dd}"],
  Nd: ["٣", "٣", "٣"],
  Nl: ["Ⅷ", "Ⅷ", "Ⅷ"],
  No: ["½", "½", "½"],
  Pc: ["‿", "‿", "‿"],
  Pd: ["—", "—", "—"],
  Ps: ["「", "「", "「"],
  Pe: ["」", "」", "」"],
  Pi: ["«", "«", "«"],
  Pf: ["»", "»", "»"],
  Po: ["¿", "¿", "¿"],
  Sm: ["≠", "≠", "≠"],
  Sc: ["€", "€", "€"],
  Sk: ["´", "´", "´"],
  So: ["☃", "☃", "☃"],
  Zs: ["\u00a0", "\u00a0", "\\u{a0}"],
  Zl: ["\u2028", "\\u{2028}", "\\u{2028}"],
  Zp: ["\u2029", "\\u{2029}", "\\u{2029}"],
  Cc: ["\x1b", "\\u{1b}", "\\u{1b}"],
  Cf: ["\u202e", "\\u{202e}", "\\u{202e}"],
  Cs: ["\ud800", "\\u{d800}", "\\u{d800}"],
  Co: ["\ue000", "\\u{e000}", "\\u{e000}"],
  Cn: ["\u0378", "\\u{378}", "\\u{378}"],
};

for (const [category, [char, talk, question]] of Object.entries(CATEGORIES)) {
  Deno.test(`a character of category ${category}`, () => {
    assert(new RegExp(`^\\p{${category}}$`, "u").test(char));
    assertEquals(visible(char), talk);
    assertEquals(exact(char), question);
  });
}

/** What an attack writes, and how it is shown in a conversation and in a question. */
const ATTACKS: Record<string, readonly [text: string, talk: string, question?: string]> = {
  "the clipboard (OSC 52)": ["\x1b]52;c;eA==\x07", "\\u{1b}]52;c;eA==\\u{7}"],
  "a C1 sequence": ["\x9b2J", "\\u{9b}2J"],
  "a link (OSC 8)": ["\x1b]8;;http://x\x1b\\y", "\\u{1b}]8;;http://x\\u{1b}\\y"],
  "a return to the line's beginning": ["rm -rf ~\rls", "rm -rf ~\\u{d}ls"],
  "an erased character": ["a\bb\x7f", "a\\u{8}b\\u{7f}"],
  "an override of direction": ["x\u202egnp.exe", "x\\u{202e}gnp.exe"],
  "isolates": ["\u2066a\u2069", "\\u{2066}a\\u{2069}"],
  "nothing wide": ["r\u200bm\u2060\ufeff", "r\\u{200b}m\\u{2060}\\u{feff}"],
  "a soft hyphen": ["r\u00adm", "r\\u{ad}m"],
  "a variation selector": ["a\ufe0fb\u{e0100}", "a\\u{fe0f}b\\u{e0100}"],
  "tags": ["a\u{e0041}\u{e007f}", "a\\u{e0041}\\u{e007f}"],
  "interlinear annotation": ["\ufff9a\ufffab\ufffb", "\\u{fff9}a\\u{fffa}b\\u{fffb}"],
  "private use": ["\uf8ff\u{10fffd}", "\\u{f8ff}\\u{10fffd}"],
  "separators": ["a\u2028b\u2029\x85", "a\\u{2028}b\\u{2029}\\u{85}"],
  "letters that are blank": ["\u3164\u115f\uffa0\u2800", "\\u{3164}\\u{115f}\\u{ffa0}\\u{2800}"],
  "a joiner between Latin letters": ["r\u200dm", "r\\u{200d}m"],
  "half a character": ["a\udc00", "a\\u{dc00}"],
  "unusual blanks": ["a\u2003b\u3000c", "a\u2003b\u3000c", "a\\u{2003}b\\u{3000}c"],
  "two ways to write é": ["é e\u0301", "é e\u0301", "é e\\u{301}"],
  "two ways to write 가": ["가 \u1100\u1161", "가 \u1100\u1161", "가 \u1100\\u{1161}"],
  "a sign that is another": ["\u212b\u2126", "\u212b\u2126", "\\u{212b}\\u{2126}"],
  "a line struck out": ["r\u0336m\u0336", "r\u0336m\u0336", "r\\u{336}m\\u{336}"],
  "what looks written out": ["\\u{202e}", "\\u{202e}", "\\u{5c}u{202e}"],
  "letters that change places": ["rm א /b 1", "rm א /b 1", "rm \\u{5d0} /b 1"],
  "marks that pile up": [
    `a${"\u0301".repeat(10)}`,
    `a${"\u0301".repeat(8)}\\u{301}\\u{301}`,
    `a${"\\u{301}".repeat(10)}`,
  ],
};

for (const [name, [text, talk, question = talk]] of Object.entries(ATTACKS)) {
  Deno.test(`attack: ${name}`, () => {
    assertEquals(visible(text), talk);
    assertEquals(exact(text), question);
  });
}

/** What people write stays as it is. */
const READABLE = [
  "naïve café, NFD: e\u0301\n\tindented — “quoted”",
  "日本語、한국어, ไทย แก้ไข, हिन्दी, தமிழ்",
  "שלום עולם. مرحبا بالعالم 123",
  "می\u200cخواهم क्\u200dष",
  "👨‍👩‍👧‍👦 👍🏽 ❤️ 1️⃣ 🏳️‍🌈 🇩🇪 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
  "Bonjour\u202f! 10\u00a0000 €",
];

Deno.test("a conversation stays readable in all scripts", () => {
  for (const text of READABLE) assertEquals(visible(text), text);
});

Deno.test("a question in one script stays readable", () => {
  for (const text of ["naïve café", "日本語", "ไทย แก้ไข", "हिन्दी", "שלום עולם.", "Привет", "👍🏽"]) {
    assertEquals(exact(text), text);
  }
});

Deno.test("no character is hidden, and in a question no two look the same", () => {
  const seen = new Set<string>();
  for (let code = 0; code <= 0x10ffff; code += mostly(code)) {
    const char = String.fromCodePoint(code);
    for (const text of [visibleLine(char), exactLine(char)]) {
      if (NOTHING_TO_SEE.test(text)) assert(false, `U+${code.toString(16)} is hidden`);
    }
    const question = exactLine(char);
    if (/[^ -~]/.test(question)) {
      assert(!/\p{Z}/u.test(question), `U+${code.toString(16)} is blank`);
      assertEquals(question.normalize(), question);
    }
    assert(!seen.has(question));
    seen.add(question);
  }
});

Deno.test("text that comes in pieces is shown as the whole", () => {
  const whole = "👨‍👩‍👧 ❤️ e\u0301 می\u200cخواهم x\u202e\ufe0f";
  for (let at = 1; at < whole.length; at++) {
    const [before, rest] = [whole.slice(0, at), whole.slice(at)];
    // A character that is cut in two is not one.
    if (!before.isWellFormed()) continue;
    const pieces = visible(before) + visible(rest, { before });
    assertEquals(pieces, visible(whole));
  }
});

Deno.test("on one line, ends of lines and tabs are written out", () => {
  assertEquals(visibleLine("a\nb\tc\r\n"), "a\\u{a}b\\u{9}c\\u{a}");
  assertEquals(exactLine("a\nb\tc\r\n"), "a\\u{a}b\\u{9}c\\u{d}\\u{a}");
  assertEquals(visible("a\r\nb"), "a\nb");
});

Deno.test("JSON for a terminal means the same", () => {
  const value = { "\u202e": ["\x9b31m", "\u{e0041}\u2028", "é 日本 👍🏽 \n\t"], plain: true };
  const shown = visibleJson(JSON.stringify(value, null, 2));
  assertEquals(JSON.parse(shown), value);
  assert(!NOTHING_TO_SEE.test(shown.replaceAll("\n", "")));
});

/** Planes with nothing in them, and those for private use, are looked at here and there. */
function mostly(code: number): number {
  return code < 0x20000 || (code >= 0xe0000 && code < 0xe1000) ? 1 : 97;
}
