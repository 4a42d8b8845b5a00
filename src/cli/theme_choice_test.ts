import { assertEquals } from "@std/assert";
import { answerIn, backgroundOf, depthOf, themeFor } from "./theme_choice.ts";
import { KeyDecoder } from "./terminal_keys.ts";

const env = (vars: Record<string, string>) => (name: string) => vars[name];
const SCREEN = { isTerminal: () => true };

Deno.test("a terminal's depth of colour, as its variables say it", () => {
  assertEquals(depthOf(env({ TERM: "xterm-256color", COLORTERM: "truecolor" })), "true");
  assertEquals(depthOf(env({ TERM: "tmux-256color" })), "256");
  assertEquals(depthOf(env({ TERM: "xterm" })), "16");
});

Deno.test("COLORFGBG tells the background where the terminal does not", () => {
  const told = ["15;0", "0;15", "0;default;7", "15;8", "default", "", "1;99", undefined];
  assertEquals(told.map(backgroundOf), [
    ...["dark", "light", "light", "dark"] as const,
    ...[undefined, undefined, undefined, undefined],
  ]);
});

Deno.test("neither colours nor attributes for a pipe and for a dumb terminal", () => {
  const pipe = { isTerminal: () => false };
  assertEquals(themeFor(pipe, "dark", env({ TERM: "xterm" })).name, "text");
  assertEquals(themeFor(SCREEN, "dark", env({ TERM: "dumb" })).name, "text");
  assertEquals(themeFor(SCREEN, "dark", env({})).name, "text");
});

Deno.test("the answer of a terminal tells whether its background is dark", () => {
  const said = (text: string) => answerIn(text)?.background;
  assertEquals(said("\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"), "dark");
  assertEquals(said("\x1b]11;rgb:ff/ff/ff\x07"), "light");
  assertEquals(said("\x1b]11;rgba:fdfd/f6f6/e3e3/ffff\x1b\\"), "light");
  assertEquals(answerIn("\x1b]11;other\x07"), { length: 11 });
  for (const other of ["\x1b]", "\x1b]2;x", "]11", "]1", "11;", "\x1b[A", "", "\x1b"]) {
    assertEquals(answerIn(other), undefined, JSON.stringify(other));
  }
});

Deno.test("an answer is never typed, however late it comes and wherever it is cut", () => {
  const answer = "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\";
  const encoder = new TextEncoder();
  for (let cut = 0; cut <= answer.length; cut++) {
    const told: unknown[] = [];
    const decoder = new KeyDecoder((background) => told.push(background));
    const keys = [answer.slice(0, cut), `${answer.slice(cut)}x`]
      .flatMap((text) => [...decoder.feed(encoder.encode(text)), ...decoder.flush()]);
    // An Esc or an Alt-] that came alone for too long is that key.
    const typed = keys.filter(({ type }) => type === "character");
    assertEquals([typed, told], [[{ type: "character", text: "x" }], ["dark"]], `cut at ${cut}`);
  }
});
