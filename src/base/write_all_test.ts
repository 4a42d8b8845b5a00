import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { writeAll, writeAllSync } from "./write_all.ts";

const BYTES = new Uint8Array([1, 2, 3, 4, 5, 6, 7]);

/** Takes three bytes at once, and nothing more after `limit`. */
class Slow {
  readonly taken: number[] = [];
  readonly #limit: number;

  constructor(limit = Infinity) {
    this.#limit = limit;
  }

  writeSync(bytes: Uint8Array): number {
    if (this.taken.length >= this.#limit) throw new Error("full");
    const some = bytes.subarray(0, 3);
    this.taken.push(...some);
    return some.length;
  }

  write(bytes: Uint8Array): Promise<number> {
    return Promise.try(() => this.writeSync(bytes));
  }
}

Deno.test("what is taken piece by piece is written whole and in order", async () => {
  const [one, two] = [new Slow(), new Slow()];
  await writeAll(one, BYTES);
  writeAllSync(two, BYTES);
  assertEquals([one.taken, two.taken], [[...BYTES], [...BYTES]]);
});

Deno.test("a sink that takes no more is told of", async () => {
  await assertRejects(() => writeAll(new Slow(6), BYTES), Error, "full");
  assertThrows(() => writeAllSync(new Slow(6), BYTES), Error, "full");
});

Deno.test("nothing to write is not given to the sink", async () => {
  const full = new Slow(0);
  await writeAll(full, new Uint8Array());
  writeAllSync(full, new Uint8Array());
  assertEquals(full.taken, []);
});
