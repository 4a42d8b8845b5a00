import { assertEquals, assertRejects } from "@std/assert";
import { settle } from "../../tests/support/clock.ts";
import { Slots } from "./slots.ts";

const never = new AbortController().signal;

Deno.test("no more work at once than there are slots, first come first served", async () => {
  const slots = new Slots(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = [1, 2, 3, 4].map(async (n) => {
    const release = await slots.take(never);
    begun.push(n);
    ends.push(release);
  });
  await settle();
  assertEquals(begun, [1, 2]);
  ends[1]();
  ends[1]();
  await settle();
  assertEquals(begun, [1, 2, 3]);
  for (const end of [...ends]) end();
  await Promise.all(work);
  assertEquals(begun, [1, 2, 3, 4]);
});

Deno.test("who gives up waiting loses its place and takes no slot", async () => {
  const slots = new Slots(1);
  const release = await slots.take(never);
  const stop = new AbortController();
  const second = slots.take(stop.signal);
  const third = slots.take(never);
  stop.abort(new Error("enough"));
  await assertRejects(() => second, Error, "enough");
  await assertRejects(() => slots.take(stop.signal), Error, "enough");
  release();
  (await third)();
  (await slots.take(never))();
});
