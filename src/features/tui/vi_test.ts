import { assertEquals } from "@std/assert";
import { keysOn, pasteOn, shownText, typed } from "./input_bench.ts";
import type { Model } from "./model.ts";
import { useVi } from "./vi.ts";

/** A message with the cursor at the bar, in the command mode. */
function normal(marked: string): Model {
  const model = typed("");
  const [before, after] = marked.split("|");
  useVi(model, true);
  pasteOn(model, before + after);
  model.input.cursor = before.length;
  model.vi!.mode = "normal";
  return model;
}

/** What keys make of a message: `<` begins the name of a key. */
function after(marked: string, keys: string): string {
  const model = normal(marked);
  keysOn(model, ...keys.match(/<[^>]+>|[^]/g)!.map((it) => it.replace(/^<(.+)>$/, "$1")));
  return shownText(model);
}

Deno.test("commands of vi do what they do in vi", () => {
  const cases: [before: string, keys: string, after: string][] = [
    ["one two| three", "h", "one tw|o three"],
    ["|one two", "3l", "one| two"],
    ["|one, two", "w", "one|, two"],
    ["|one, two", "2w", "one, |two"],
    ["one, tw|o", "b", "one, |two"],
    ["one, tw|o", "3b", "|one, two"],
    ["|one two", "e", "on|e two"],
    ["on|e two", "e", "one tw|o"],
    ["  one t|wo", "0", "|  one two"],
    ["  one t|wo", "^", "  |one two"],
    ["o|ne\ntwo", "$", "on|e\ntwo"],
    ["on|e\ntwo", "j", "one\ntw|o"],
    ["one\ntw|o", "k", "on|e\ntwo"],
    ["|one", "x", "|ne"],
    ["|one two", "4x", "|two"],
    ["on|e", "x", "o|n"],
    ["|one", "rx", "|xne"],
    ["|one", "2rx", "x|xe"],
    ["|one", "iX<escape>", "|Xone"],
    ["|one", "aX<escape>", "o|Xne"],
    ["  o|ne", "IX<escape>", "  |Xone"],
    ["|one\ntwo", "AX<escape>", "one|X\ntwo"],
    ["|one\ntwo", "oX<escape>", "one\n|X\ntwo"],
    ["one\n|two", "OX<escape>", "one\n|X\ntwo"],
    ["one| two", "D", "on|e"],
    ["one| two", "CX<escape>", "one|X"],
    ["one\nt|wo\nthree", "dd", "one\n|three"],
    ["one\nt|wo", "dd", "|one"],
    ["o|ne", "dd", "|"],
    ["|1\n2\n3", "2dd", "|3"],
    ["|one two three", "dw", "|two three"],
    ["|one two three", "2dw", "|three"],
    ["|one two three", "d2w", "|three"],
    ["one |two\nthree", "dw", "one| \nthree"],
    ["|one two", "d$", "|"],
    ["one t|wo", "d0", "|wo"],
    ["one tw|o", "db", "one |o"],
    ["|one two", "de", "| two"],
    ["|one two", "cwX<escape>", "|X two"],
    ["|a b", "cwX<escape>", "|X b"],
    ["one\nt|wo\nthree", "ccX<escape>", "one\n|X\nthree"],
    ["|one\ntwo", "yyp", "one\n|one\ntwo"],
    ["|one\ntwo", "yyjp", "one\ntwo\n|one"],
    ["|one two", "dwp", "tone| wo"],
    ["|one two", "dwP", "one| two"],
    ["|one two", "ywP", "one| one two"],
    ["|one two", "dwdwu", "|two"],
    ["|one two", "dwdwuu<ctrl-r>", "|two"],
    ["|one", "d<escape>x", "|ne"],
    ["|one", "zx", "|ne"],
    ["|日本 語", "wx", "日本| "],
  ];
  for (const [before, keys, expected] of cases) {
    assertEquals(after(before, keys), expected, `${before} ${keys}`);
  }
});

Deno.test("a chip is a word and a character of vi too", () => {
  const long = "x\n".repeat(20);
  const model = normal("a |");
  pasteOn(model, long);
  keysOn(model, "0", "w", "x");
  assertEquals(shownText(model), "a| ");
  keysOn(model, "p");
  assertEquals(shownText(model), "a |[Pasted text #1: 20 lines]");
});

Deno.test("Esc leaves the writing, then goes back as ever; a sent message is followed by writing", () => {
  const model = typed("");
  useVi(model, true);
  model.session.turn = true;
  keysOn(model, "h", "i");
  assertEquals(keysOn(model, "escape"), []);
  assertEquals([model.vi!.mode, shownText(model)], ["normal", "h|i"]);
  assertEquals(keysOn(model, "escape"), [{ type: "cancel" }]);
  keysOn(model, "enter");
  assertEquals(model.vi!.mode, "insert");
  useVi(model, false);
  assertEquals(keysOn(model, "escape"), [{ type: "cancel" }]);
});

Deno.test("any keys leave a message whose cursor stands in it", () => {
  const keys = "hjklwbe0^$xXrasSiIAoODCdcyYpPuGg12359";
  let seed = 7;
  const next = (n: number) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n;
  const model = normal("one, two\n|three 日本 👍🏽\n\nfour");
  for (let n = 0; n < 5_000; n++) {
    keysOn(model, next(9) === 0 ? "escape" : keys[next(keys.length)]);
    const { text, cursor } = model.input;
    assertEquals(cursor >= 0 && cursor <= text.length, true);
    if (text.length > 5_000) keysOn(model, "ctrl-c");
    model.help = false;
    model.focus = "input";
  }
});
