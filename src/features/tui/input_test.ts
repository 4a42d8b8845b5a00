import { assertEquals } from "@std/assert";
import { erase, insert, move, moveLine, recall } from "./input.ts";
import { emptyInput, type Input } from "./input_state.ts";
import { emptyModel } from "./model.ts";

/** An input whose cursor stands at the bar. */
function input(marked: string): Input {
  return { ...emptyInput(), text: marked.replace("|", ""), cursor: marked.indexOf("|") };
}

function marked({ text, cursor }: Input): string {
  return `${text.slice(0, cursor)}|${text.slice(cursor)}`;
}

Deno.test("the cursor moves and deletes by what a person takes for a character", () => {
  const it = input("a👨‍👩‍👧e\u0301|z");
  move(it, "left");
  assertEquals(marked(it), "a👨‍👩‍👧|e\u0301z");
  erase(it, "left");
  assertEquals(marked(it), "a|e\u0301z");
  erase(it, "right");
  assertEquals(marked(it), "a|z");
  move(it, "right");
  move(it, "right");
  assertEquals(marked(it), "az|");
});

Deno.test("lines and words are edited as in a shell", () => {
  const cases: [string, (it: Input) => void, string][] = [
    ["one two|", (it) => erase(it, "blank_left"), "one |"],
    ["one two  |x", (it) => erase(it, "blank_left"), "one |x"],
    ["a\nb c|d", (it) => erase(it, "line_start"), "a\n|d"],
    ["a\nb |c\nd", (it) => erase(it, "line_end"), "a\nb |\nd"],
    ["|one two", (it) => move(it, "word_right"), "one| two"],
    ["one two|", (it) => move(it, "word_left"), "one |two"],
    ["|\nx", (it) => move(it, "line_start"), "|\nx"],
    ["a|b", (it) => move(it, "line_end"), "ab|"],
    ["|", (it) => erase(it, "left"), "|"],
  ];
  for (const [before, edit, after] of cases) {
    const it = input(before);
    edit(it);
    assertEquals(marked(it), after, before);
  }
});

Deno.test("the cursor goes to the same place in the line above and below", () => {
  const it = input("one\nlon|ger\nx");
  assertEquals(moveLine(it, -1), true);
  assertEquals(marked(it), "one|\nlonger\nx");
  assertEquals(moveLine(it, -1), false);
  moveLine(it, 1);
  moveLine(it, 1);
  assertEquals(marked(it), "one\nlonger\nx|");
  assertEquals(moveLine(it, 1), false);
});

Deno.test("what is typed or pasted has no control characters but tabs and line ends", () => {
  const it = input("|");
  insert(it, "a\tb\r\nc\rd\x1b[31m\x00\x9b");
  assertEquals(it.text, "a\tb\nc\nd[31m");
});

Deno.test("the history comes back, and after it what was being typed", () => {
  const model = emptyModel("sess_00000000000000000000000000");
  model.history = ["first", "second"];
  insert(model.input, "new");
  recall(model, -1);
  recall(model, -1);
  recall(model, -1);
  assertEquals(marked(model.input), "first|");
  recall(model, 1);
  recall(model, 1);
  assertEquals(marked(model.input), "new|");
  recall(model, 1);
  assertEquals(marked(model.input), "new|");
});
