import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { pause } from "./clock.ts";

Deno.test("a pause ends with its time or with the signal, and waits for nothing once it has fired", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const ended: string[] = [];
  const pauses = [1_000, 5_000].map(async (ms) => {
    await pause(clock, ms, stop.signal);
    ended.push(`${ms}`);
  });
  await clock.advance(999);
  assertEquals(ended, []);
  await clock.advance(1);
  assertEquals(ended, ["1000"]);
  stop.abort();
  await Promise.all(pauses);
  assertEquals([ended, clock.waiting], [["1000", "5000"], 0]);
  await pause(clock, 1_000, stop.signal);
  assertEquals(clock.waiting, 0);
});
