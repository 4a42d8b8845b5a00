import { assertEquals } from "@std/assert";
import type { CallVerb } from "../features/verb_types.ts";
import { LineHistory } from "./line_history.ts";

Deno.test("Ctrl-R goes from the newest message with the typed text to older ones", async () => {
  const said = ["fix the parser", "run it", "two\nlines", "fix the lexer", "run it"];
  const pages = [said.slice(0, 2), said.slice(2)].map((texts, n) => ({
    events: texts.map((text) => ({ type: "user.message", data: { text } })),
    last_seq: n + 1,
    more: n === 0,
  }));
  let asked = 0;
  const call = (() => Promise.resolve(pages[asked++ % 2])) as unknown as CallVerb;
  const history = new LineHistory(call, "s");
  assertEquals(await history.older("FIX"), "fix the lexer");
  assertEquals(await history.older("fix the lexer"), "fix the parser");
  assertEquals(await history.older("fix the parser"), undefined);
  assertEquals(await history.older(""), "run it");
  assertEquals(await history.older("run it"), "fix the lexer");
  assertEquals(asked, 2);
  history.changed();
  assertEquals(await history.older("parser"), "fix the parser");
  assertEquals(asked, 4);
});
