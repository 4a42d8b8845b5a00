import { assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { LineWriter } from "./line_writer.ts";

const LONG = 300 * 1024;

/** A reader that takes nothing until it is told to, and may go away. */
class Reader {
  readonly #decoder = new TextDecoder();
  #free = Promise.withResolvers<void>();
  text = "";

  async write(bytes: Uint8Array): Promise<number> {
    await this.#free.promise;
    this.text += this.#decoder.decode(bytes, { stream: true });
    return bytes.length;
  }

  read(): void {
    this.#free.resolve();
  }

  leave(): void {
    this.#free.reject(new Deno.errors.BrokenPipe());
  }
}

/** Whether a sender may go on. */
async function mayGoOn(writing: void | Promise<void>): Promise<boolean> {
  let done = writing === undefined;
  writing?.then(() => done = true);
  await delay(0);
  return done;
}

Deno.test("who sends a long line waits until that line is read, also if it is the first", async () => {
  const reader = new Reader();
  const writer = new LineWriter(reader, () => {});
  const first = writer.write("a".repeat(LONG));
  const second = writer.write(["b".repeat(LONG), "é"]);
  assertEquals([await mayGoOn(first), await mayGoOn(second)], [false, false]);
  reader.read();
  await Promise.all([first, second]);
  await writer.idle();
  assertEquals(reader.text === `${"a".repeat(LONG)}\n${"b".repeat(LONG)}é\n`, true);
});

Deno.test("short lines do not wait, and go out together and in order", async () => {
  const reader = new Reader();
  const writer = new LineWriter(reader, () => {});
  const lines = Array.from({ length: 100 }, (_, n) => `line ${n}`);
  for (const line of lines) assertEquals(writer.write(line), undefined);
  reader.read();
  await writer.idle();
  assertEquals(reader.text, lines.map((line) => `${line}\n`).join(""));
});

Deno.test("nobody waits for a reader that has gone", async () => {
  const reader = new Reader();
  let broken = 0;
  const writer = new LineWriter(reader, () => broken++);
  const waiting = [writer.write("a".repeat(LONG)), writer.write("b".repeat(LONG))];
  reader.leave();
  await Promise.all(waiting);
  await writer.idle();
  assertEquals([broken, reader.text, writer.waiting], [1, "", 0]);
});
