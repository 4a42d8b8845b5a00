import { assert, assertEquals } from "@std/assert";
import { amountTicks, timeTicks } from "./axes.ts";

Deno.test("amounts are round, begin with nothing and reach above the largest", () => {
  assertEquals(amountTicks(0), [0, 0.5, 1]);
  assertEquals(amountTicks(7), [0, 2, 4, 6, 8]);
  assertEquals(amountTicks(40_000), [0, 10_000, 20_000, 30_000, 40_000]);
  for (const max of [1e-9, 0.0021, 0.3, 1, 9.99, 123, 5e8]) {
    const ticks = amountTicks(max);
    assert(ticks.length >= 3 && ticks.length <= 6, `${max}: ${ticks}`);
    assert(ticks.at(-1)! >= max);
  }
});

const HOUR_S = 3_600;
const hours = (count: number) =>
  Array.from({ length: count }, (_, n) => Date.UTC(2026, 10, 1) / 1000 + n * HOUR_S);

Deno.test("a day is named by its hours, a week by its days; never more than there is room for", () => {
  const day = timeTicks(hours(24), 6);
  assertEquals(day.map(({ index }) => index), [0, 4, 8, 12, 16, 20]);
  assert(day.every(({ word }) => /\d:\d\d/.test(word)), JSON.stringify(day));
  const week = timeTicks(hours(7 * 24), 7);
  assert(week.length >= 6 && week.length <= 7);
  assertEquals(new Set(week.map(({ word }) => word)).size, week.length);
  assertEquals(timeTicks(hours(7 * 24), 3).length, 3);
  assertEquals(timeTicks(hours(1), 5).length, 1);
});

Deno.test("buckets of a day have the names of days where the person is, also when there are two", () => {
  const days = Array.from({ length: 40 }, (_, n) => +new Date(2026, 9, 20 + n) / 1000);
  const named = new Intl.DateTimeFormat(undefined, {
    day: "numeric",
    month: "short",
  });
  for (const count of [2, 3, 40]) {
    assertEquals(
      timeTicks(days.slice(0, count), 100),
      days.slice(0, count).map((time, index) => ({ index, word: named.format(time * 1000) })),
    );
  }
});
