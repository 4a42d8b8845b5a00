import { assertEquals, assertRejects } from "@std/assert";
import { settle } from "../../tests/support/clock.ts";
import { Semaphore } from "./semaphore.ts";

const never = new AbortController().signal;

Deno.test("no more work runs at once than there are slots, in the order of arrival", async () => {
  const slots = new Semaphore(2);
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

Deno.test("a caller that stops waiting takes no slot", async () => {
  const slots = new Semaphore(1);
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

Deno.test("a raised limit lets waiting work start; free waits without taking a slot", async () => {
  const slots = new Semaphore(0);
  assertEquals(slots.tryTake(), false);
  let free = false;
  const waits = slots.free(never).then(() => free = true);
  const second = slots.take(never);
  await settle();
  assertEquals(free, false);
  slots.limit = 1;
  await waits;
  const release = await second;
  assertEquals(slots.tryTake(), false);
  release();
  assertEquals(slots.tryTake(), true);
  slots.release();
  const stop = new AbortController();
  slots.limit = 0;
  const stopped = slots.free(stop.signal);
  stop.abort(new Error("enough"));
  await assertRejects(() => stopped, Error, "enough");
});
