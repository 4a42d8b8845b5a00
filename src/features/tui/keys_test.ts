import { assertEquals, assertThrows } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import { parseKey } from "./keys.ts";

Deno.test("keys are known by their usual names, however they are written", () => {
  const names: Record<string, string> = {
    "Enter": "enter",
    "RETURN": "enter",
    "Ctrl+C": "ctrl-c",
    "shift-ctrl-x": "ctrl-shift-x",
    "Alt-Enter": "alt-enter",
    "PageUp": "pageup",
    "ArrowLeft": "left",
    "ctrl--": "ctrl--",
  };
  for (const [text, name] of Object.entries(names)) {
    assertEquals(parseKey(text), { type: "named", name }, text);
  }
  for (const text of ["a", "A", "?", "-", "👍🏽", " "]) {
    assertEquals(parseKey(text), { type: "character", text });
  }
  assertEquals(parseKey("space"), { type: "character", text: " " });
});

Deno.test("a name that is no key is refused with the nearest that is", () => {
  const error = assertThrows(() => parseKey("entre"), SvcError, 'there is no key "entre"');
  assertEquals(error.hint, 'did you mean "enter"?');
  for (const text of ["constructor", "hyper-x", "ab", "ctrl-", "\n"]) {
    assertThrows(() => parseKey(text), SvcError, "there is no key");
  }
});
