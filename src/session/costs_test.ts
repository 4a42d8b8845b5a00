import { assertEquals } from "@std/assert";
import { type Bucket, CostBuckets } from "./costs.ts";

const at = (time: string) => {
  return {
    at: `2026-03-01T${time}:00.000Z`,
    usd: 1,
    tokens_in: 2,
    tokens_out: 3,
    tokens_cached: 1,
  };
};

function starts(bucket: Bucket, since: string | undefined): string[] {
  const sums = new CostBuckets(bucket, since);
  for (const time of ["00:00", "12:00", "12:31", "12:31", "12:59"]) sums.add(at(time));
  return sums.buckets.map(({ at, usd }) => `${at.slice(5, 16)} ${usd}`);
}

Deno.test("costs are added up by the bucket they fall into, from a time on", () => {
  assertEquals(starts("day", undefined), ["03-01T00:00 5"]);
  assertEquals(starts("hour", "2026-03-01T12:30:00Z"), ["03-01T12:00 3"]);
  assertEquals(starts("minute", "2026-03-01T14:31:30+02:00"), ["03-01T12:59 1"]);
  assertEquals(starts("day", "2026-03-02T00:00:00Z"), []);
});

Deno.test("the total is that of the buckets, and an hour before them is not looked at", () => {
  const sums = new CostBuckets("minute", "2026-03-01T12:31:00.000Z");
  for (const time of ["12:30", "12:31", "13:00"]) sums.add(at(time));
  assertEquals(sums.total, { usd: 2, tokens_in: 4, tokens_out: 6, tokens_cached: 2 });
  assertEquals([at("11:00"), at("12:00"), at("13:00")].map((hour) => sums.covers(hour)), [
    false,
    true,
    true,
  ]);
  assertEquals(new CostBuckets("day", undefined).covers(at("00:00")), true);
});
