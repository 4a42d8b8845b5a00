import { assertEquals } from "@std/assert";
import { LineOutput } from "./line_output.ts";

/** A clock that goes on when it is told to. */
class Clock {
  #now = 0;
  #last = 0;
  readonly #due = new Map<number, { at: number; action: () => void }>();

  set(action: () => void, ms: number): number {
    this.#due.set(++this.#last, { at: this.#now + ms, action });
    return this.#last;
  }

  clear(timer: number | undefined): void {
    this.#due.delete(timer ?? 0);
  }

  tick(ms: number): void {
    this.#now += ms;
    for (const [timer, { at, action }] of this.#due) {
      if (at > this.#now) continue;
      this.#due.delete(timer);
      action();
    }
  }
}

function lines() {
  const time = new Clock();
  const seen = { text: "", typed: "", prompts: 0 };
  const output = new LineOutput({
    write: (text) => void (seen.text += text),
    typing: () => seen.typed !== "",
    leave: () => {
      if (seen.typed !== "") seen.text += "\n";
    },
    onPrinted: () => void seen.prompts++,
  }, time);
  return { seen, output, time };
}

Deno.test("text is printed by whole lines, and a line whose rest is late as far as it is there", () => {
  const { seen, output, time } = lines();
  output.text("one ");
  output.text("line\nand ");
  assertEquals(seen.text, "one line\n");
  time.tick(2_000);
  assertEquals(seen.text, "one line\nand ");
  output.text("more");
  output.say("Done.");
  assertEquals(seen.text, "one line\nand more\nDone.\n");
  time.tick(2_000);
  assertEquals(seen.prompts, 2);
  output.close();
});

Deno.test("nothing comes between the letters of what is typed, until the person rests", () => {
  const { seen, output, time } = lines();
  seen.typed = "hel";
  output.say("one");
  for (let n = 0; n < 5; n++) {
    time.tick(1_000);
    output.typed();
  }
  assertEquals(seen.text, "");
  output.text("two\nth");
  time.tick(2_000);
  assertEquals(seen.text, "\none\ntwo\n");
  seen.typed = "";
  output.typed();
  output.endText();
  assertEquals(seen.text, "\none\ntwo\nth\n");
  output.close();
});
