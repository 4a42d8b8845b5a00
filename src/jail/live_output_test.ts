import { assert, assertEquals, assertLessOrEqual, assertStringIncludes } from "@std/assert";
import { redrawn } from "../base/redraw.ts";
import { LiveOutput, type LiveOutputOptions } from "./live_output.ts";
import { onScreen, Screen } from "./screen.ts";

/** A screen whose preview is put together again. */
class Preview {
  /** What was passed on, and what a consumer makes of it. */
  readonly calls: string[] = [];
  seen = "";
  readonly #live: LiveOutput;
  readonly #screen = new Screen((text) => this.#live.scrolled(text));

  constructor(options: LiveOutputOptions) {
    const take = (text: string, redraws?: number) => {
      this.calls.push(text);
      this.seen = redrawn(this.seen, text, redraws);
    };
    this.#live = new LiveOutput(take, this.#screen, options);
  }

  write(text: string): void {
    this.#screen.write(text);
    this.#live.drawn();
  }

  close(): void {
    this.#live.close();
  }
}

/** Whatever is written, and wherever it is cut into pieces: the preview has what is on the screen. */
const WRITTEN: Record<string, string> = {
  "plain lines": "one\ntwo\nthree",
  "a progress bar": "load\na 1%\ra 50%\ra 100%\ndone\n",
  "a line that is erased": "half a line\r\x1b[2Kshort\n",
  "two bars": "a 0\nb 0\n\x1b[2A\x1b[2Ka 1\n\x1b[2Kb 1\n\x1b[2Aa 2\nb 2\nend\n",
  "colours and a title": "\x1b[31mred\x1b[0m \x1b]0;title\x07plain\n",
  "an alternate screen": "before\n\x1b[?1049h\x1b[Hmenu\x1b[?1049lafter\n",
  "lines that go": "a\nb\nc\n\x1b[3A\x1b[Jx\n",
  "backspaces": "wait /\b-\b\\\b|\bdone\n",
  "many lines": Array.from({ length: 500 }, (_, n) => `line ${n}\n`).join(""),
};

for (const [what, text] of Object.entries(WRITTEN)) {
  Deno.test(`the preview of ${what} is what a person sees`, () => {
    for (const size of [1, 3, 17, text.length]) {
      const preview = new Preview({ interval_ms: 0 });
      for (let at = 0; at < text.length; at += size) preview.write(text.slice(at, at + size));
      preview.close();
      assertEquals(preview.seen, onScreen(text), `${size} at once`);
    }
  });
}

Deno.test("a preview comes at once, then when its time has come", async () => {
  // Its clock stands still: however long this machine takes, the time has not come by itself.
  const { now } = performance;
  performance.now = () => 0;
  try {
    const preview = new Preview({ interval_ms: 300 });
    preview.write("first");
    assertEquals(preview.calls, ["first"]);
    preview.write(" se");
    preview.write("cond");
    assertEquals(preview.calls, ["first"]);
    while (preview.calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    preview.write("third");
    preview.write(" last");
    preview.close();
    assertEquals(preview.calls, ["first", " second", "third last"]);
  } finally {
    performance.now = now;
  }
});

Deno.test("a bar that is drawn a thousand times is passed on once in its time, as it is then", () => {
  const preview = new Preview({ interval_ms: 100_000 });
  for (let n = 0; n <= 1_000; n++) preview.write(`\r${n} of 1000`);
  assertEquals(preview.calls.length, 1);
  preview.close();
  assertEquals(preview.calls.slice(1), ["1000 of 1000"]);
  assertEquals(preview.seen, "1000 of 1000");
});

Deno.test("what no consumer could keep up with is left out, and that is said", () => {
  const preview = new Preview({ interval_ms: 100_000, max_chars: 2_048 });
  preview.write("x");
  for (let n = 0; n < 1_000; n++) preview.write(`${"🙂".repeat(100)}\n`);
  preview.write("the end\n");
  preview.close();
  const [, said] = preview.calls;
  assertEquals(preview.calls.length, 2);
  assertLessOrEqual(said.length, 2_048);
  assertStringIncludes(said, " bytes left out …]\n");
  assert(said.endsWith("the end\n") && said.isWellFormed());
});
