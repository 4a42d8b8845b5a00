import { assert, assertEquals } from "@std/assert";
import { lookAt, partsByRuns } from "../base/looks.ts";
import { redrawn } from "../base/redraw.ts";
import { Screen } from "./screen.ts";
import { ShownOutput } from "./shown_output.ts";

const encoder = new TextEncoder();

/** The output with the number of each look in front of its text. */
function shown(...pieces: string[]): string {
  const output = new ShownOutput();
  for (const piece of pieces) output.push(encoder.encode(piece));
  const text = output.text();
  return partsByRuns(text, output.runs).map(({ text, look }) =>
    look === 0 ? text : `<${look}:${text}>`
  )
    .join("");
}

Deno.test("colours stay beside a text that has none of their sequences", () => {
  assertEquals(
    shown("\x1b[31merror\x1b[0m: \x1b[1;32mgood\x1b[m\nplain\n"),
    "<1:error>: <10:good>\nplain\n",
  );
  assertEquals(shown("before\n\x1b[33mlate"), "before\n<3:late>");
});

Deno.test("a sequence that is cut between two pieces is neither lost nor shown", () => {
  const text = "\x1b[31mred\x1b[0m and \x1b[38;5;33mblue\x1b[0m";
  for (let cut = 0; cut <= text.length; cut++) {
    assertEquals(shown(text.slice(0, cut), text.slice(cut)), "<1:red> and <4:blue>", `${cut}`);
  }
});

Deno.test("a progress bar is its last state, in its colours", () => {
  assertEquals(
    shown("\x1b[33m10%\x1b[0m\r\x1b[33m50%\x1b[0m\r\x1b[32m100%\x1b[0m done\n"),
    "<2:100%> done\n",
  );
  assertEquals(shown("\x1b[31mabc\x1b[0m\x1b[2D\x1b[Kx"), "<1:a>x");
});

Deno.test("hostile output: nothing but colours is left of its sequences", () => {
  const text = "\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b]8;;https://evil\x1b\\a\x1b]8;;\x1b\\" +
    "\x1b[8mhidden\x1b[0m\x1b[30;40mblack\x1b[0m\x1b[?1049h\x1b[?1049l\x1b[5mb\x1b[0m\x9b31mc\x1bP+q\x1b\\";
  const said = shown(text);
  for (const part of ["a", "hidden", "black", "b"]) assert(said.includes(part), said);
  // deno-lint-ignore no-control-regex -- they are what is looked for
  assert(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(said), JSON.stringify(said));
  for (const part of ["title", "aGk", "evil"]) assert(!said.includes(part), said);
});

Deno.test("the looks stay in step with the text, whatever is drawn", () => {
  const parts = [
    ...["word ", "x", "\n", "\r", "\b", "\t", "👍", "\x1b[A", "\x1b[2K", "\x1b[3C", "\x1b[2P"],
    ...["\x1b[31m", "\x1b[0m", "\x1b[H", "\x1b[J", "\x1b[5L", "\x1b[M", "\x1b7", "\x1b8", "\x1bM"],
    ...["\x1b[?1049h", "\x1b[?1049l", "\x1b[4@", "\x1b[3X", "\x1b", "[1;3", "2m", "many\nlines\n"],
    ...["line\n".repeat(40), "long".repeat(9_000)],
  ];
  let random = 7;
  const next = (max: number) => (random = random * 1_103_515_245 + 12_345 & 0x7fffffff) % max;
  for (let run = 0; run < 60; run++) {
    let text = "";
    let looks = "";
    const screen = new Screen((scrolled, own) => {
      if (own !== "") looks = looks.padEnd(text.length, "\u0100") + own;
      text += scrolled;
      if (own !== "") assertEquals(looks.length, text.length);
    });
    for (let n = 0; n < 200; n++) screen.write(parts[next(parts.length)]);
    screen.end();
    if (looks === "") continue;
    assertEquals(looks.length, text.length);
    for (let at = 0; at < text.length; at++) {
      if (text[at] === "\n") assertEquals([looks[at], lookAt(looks, at)], ["\n", 0]);
    }
  }
});

Deno.test("a preview has the colours of each of its pieces", async () => {
  let said = "";
  let seen = "";
  const output = new ShownOutput(undefined, undefined, (text, redraws, runs) => {
    said = redrawn(said, text, redraws);
    seen += partsByRuns(text, runs).filter(({ look }) => look > 0)
      .map(({ text, look }) => `${look}:${text} `).join("");
  });
  output.push(encoder.encode("start\n\x1b[31mred\x1b[0m then\n"));
  await new Promise((done) => setTimeout(done, 150));
  output.push(encoder.encode("x\n".repeat(300) + "\x1b[32mgreen\x1b[0m\n"));
  output.close();
  assertEquals(seen, "1:red 2:green ");
  assertEquals(said.startsWith("start\nred then\nx\n") && said.endsWith("green\n"), true);
});
