import { assert, assertEquals } from "@std/assert";
import type { Screen } from "../features/tui/render.ts";
import { line } from "../features/tui/text.ts";
import { themed } from "./theme.ts";
import { encode, Painter } from "./terminal_painter.ts";

/** A painter of what `show` was last given; keeps what is written. */
class Bench {
  readonly written: string[] = [];
  #screen: Screen = { lines: [] };
  #painted = Promise.withResolvers<void>();
  readonly painter = new Painter({
    draw: () => this.#screen,
    write: (text) => {
      this.written.push(text);
      return Promise.resolve();
    },
    paint: () => themed({ name: "text", depth: "16" }),
    onPainted: () => this.#painted.resolve(),
  });

  /** Shows lines and waits for their frame. */
  async show(...lines: string[]): Promise<string> {
    this.#screen = { lines: lines.map((text) => line(text)) };
    this.#painted = Promise.withResolvers();
    this.painter.request();
    await this.#painted.promise;
    return this.written.at(-1) ?? "";
  }
}

Deno.test("only rows that changed are painted, also after nothing did", async () => {
  const bench = new Bench();
  assert((await bench.show("one", "two")).includes("\x1b[2J"));
  const second = await bench.show("one", "2");
  assert(!second.includes("one") && second.includes("\x1b[2;1H\x1b[0m\x1b[K2"));
  await bench.show("one", "2");
  assertEquals(bench.written.length, 2);
  assert((await bench.show("1", "2")).includes("\x1b[1;1H"));
  bench.painter.forget();
  assert((await bench.show("1", "2")).includes("\x1b[2J"));
  bench.painter.close();
});

Deno.test("however often it is asked, one frame shows it all", async () => {
  const bench = new Bench();
  await bench.show("0");
  for (let n = 0; n < 1000; n++) bench.painter.request();
  await bench.show("last");
  assertEquals(bench.written.length, 2);
  bench.painter.close();
});

Deno.test("a control character that got into a line does not get to the terminal", () => {
  assertEquals(
    encode([{ text: "a\x1b[2J\x07", style: "plain" }], themed({ name: "dark", depth: "true" })),
    "a\ufffd[2J\ufffd",
  );
  assertEquals(encode([{ text: "b", style: "bold" }], themed({ name: "text", depth: "16" })), "b");
});
