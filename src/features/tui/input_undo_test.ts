import { assertEquals } from "@std/assert";
import { keysOn, shownText, typed } from "./input_bench.ts";

Deno.test("undo takes back words, and redo makes them again until something else is typed", () => {
  const it = typed("one two  three");
  keysOn(it, "ctrl-_");
  assertEquals(shownText(it), "one two  |");
  keysOn(it, "ctrl-x", "ctrl-u");
  assertEquals(shownText(it), "one |");
  keysOn(it, "alt-_");
  assertEquals(shownText(it), "one two  |");
  keysOn(it, "x", "ctrl-shift-z");
  assertEquals([shownText(it), it.notice], ["one two  x|", "nothing to redo in the message"]);
  keysOn(it, "ctrl-_", "ctrl-_", "ctrl-_", "ctrl-_");
  assertEquals([shownText(it), it.notice], ["|", "nothing to undo in the message"]);
});

Deno.test("each kind of edit is a step of its own, and the cursor goes back with it", () => {
  const it = typed("abc def");
  keysOn(it, "backspace", "backspace", "home", "delete", "delete", "ctrl-k");
  assertEquals(shownText(it), "|");
  const steps = ["|c d", "|abc d", "abc def|", "abc |", "|"];
  for (const step of steps) {
    keysOn(it, "ctrl-_");
    assertEquals(shownText(it), step);
  }
  for (const step of steps.toReversed().slice(1)) {
    keysOn(it, "alt-_");
    assertEquals(shownText(it).replace("|", ""), step.replace("|", ""));
  }
});

Deno.test("what Ctrl-C clears comes back with undo and with Up", () => {
  const it = typed("half a message");
  keysOn(it, "ctrl-c");
  assertEquals(shownText(it), "|");
  keysOn(it, "ctrl-_");
  assertEquals(shownText(it), "half a message|");
  keysOn(it, "ctrl-c", "up");
  assertEquals(shownText(it), "half a message|");
});

Deno.test("a message that was sent is not undone into the next one", () => {
  const it = typed("sent");
  keysOn(it, "enter", "ctrl-_");
  assertEquals(shownText(it), "|");
});

Deno.test("what was killed comes back with Ctrl-Y, in a row as one text, and older with Alt-Y", () => {
  const it = typed("one two three");
  keysOn(it, "ctrl-w", "ctrl-w", "left", "right", "ctrl-y");
  assertEquals(shownText(it), "one two three|");
  keysOn(it, "home", "alt-d", "end", "ctrl-y");
  assertEquals(shownText(it), " two threeone|");
  keysOn(it, "alt-y");
  assertEquals(shownText(it), " two threetwo three|");
  keysOn(it, "ctrl-_", "ctrl-_");
  assertEquals(shownText(it), " two three|");
  keysOn(it, "a", "alt-y");
  assertEquals(it.notice, "Alt-Y follows Ctrl-Y");
});
