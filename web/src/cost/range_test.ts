import { assertEquals } from "@std/assert";
import { type Group, RANGES, seriesOf } from "./range.ts";

const NOW = Date.parse("2026-03-01T12:34:56.000Z");

function group(...buckets: [at: string, usd: number, tokens_in: number][]): Group {
  const none = { tokens_out: 1, tokens_cached: 0 };
  return {
    key: "k",
    usd: 0,
    tokens_in: 0,
    ...none,
    buckets: buckets.map(([at, usd, tokens_in]) => ({ at, usd, tokens_in, ...none })),
  };
}

Deno.test("every bucket of the range has a place, those without cost too", () => {
  const dear = group(["2026-03-01T12:00:00.000Z", 2, 10], ["2026-02-28T13:00:00.000Z", 1, 5]);
  const cheap = group(["2026-03-01T11:00:00.000Z", 0.5, 3]);
  const { times, values } = seriesOf([dear, cheap], RANGES.day, "usd", NOW);
  assertEquals(times.length, 25);
  assertEquals(new Date(times[0] * 1000).toISOString(), "2026-02-28T12:00:00.000Z");
  assertEquals(new Date(times[24] * 1000).toISOString(), "2026-03-01T12:00:00.000Z");
  assertEquals([values[0][24], values[0][1], values[0][2]], [2, 1, 0]);
  assertEquals([values[1][23], values[1][24]], [0.5, 0]);
  assertEquals(seriesOf([dear], RANGES.day, "tokens", NOW).values[0][24], 11);
});

Deno.test("all time begins with the first cost; without any it is today", () => {
  const at = (day: number, hour: number) => new Date(2026, 1, day, hour).toISOString();
  const old = group([at(26, 0), 3, 1], [at(26, 23), 1, 1], [at(27, 0), 5, 1]);
  const now = +new Date(2026, 2, 1, 12);
  const { times, values } = seriesOf([old], RANGES.all, "usd", now);
  assertEquals([times.length, values[0]], [4, [4, 5, 0, 0]]);
  assertEquals(times[1], +new Date(2026, 1, 27) / 1000);
  assertEquals(seriesOf([], RANGES.all, "usd", NOW).times.length, 1);
});
