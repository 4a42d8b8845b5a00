import { assertEquals } from "@std/assert";
import { type Bucket, bucketsOf, CostBuckets } from "./costs.ts";

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
  const sums = new CostBuckets(bucketsOf(bucket), since);
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
  const sums = new CostBuckets(bucketsOf("minute"), "2026-03-01T12:31:00.000Z");
  for (const time of ["12:30", "12:31", "13:00"]) sums.add(at(time));
  assertEquals(sums.total, { usd: 2, tokens_in: 4, tokens_out: 6, tokens_cached: 2 });
  assertEquals([at("11:00"), at("12:00"), at("13:00")].map((hour) => sums.covers(hour)), [
    false,
    true,
    true,
  ]);
  assertEquals(new CostBuckets(bucketsOf("day"), undefined).covers(at("00:00")), true);
});

Deno.test("days and hours are those of a time zone, also when its clock is changed", () => {
  const startsIn = (zone: string, bucket: Bucket, ...times: string[]) =>
    times.map(bucketsOf(bucket, zone));
  assertEquals(
    startsIn("Asia/Kolkata", "day", "2026-03-01T18:15:00.000Z", "2026-03-01T18:30:00.000Z"),
    ["2026-02-28T18:30:00.000Z", "2026-03-01T18:30:00.000Z"],
  );
  assertEquals(
    startsIn("Asia/Kathmandu", "day", "2026-03-01T18:00:00.000Z", "2026-03-01T18:15:00.000Z"),
    ["2026-02-28T18:15:00.000Z", "2026-03-01T18:15:00.000Z"],
  );
  assertEquals(
    startsIn("Asia/Kathmandu", "hour", "2026-03-01T18:00:00.000Z", "2026-03-01T18:15:00.000Z"),
    ["2026-03-01T17:15:00.000Z", "2026-03-01T18:15:00.000Z"],
  );
  // 2 October, whose clock is put forward on the 4th; and back on 5 April.
  assertEquals(
    startsIn("Australia/Adelaide", "day", "2026-10-03T14:30:00.000Z", "2026-10-04T13:30:00.000Z"),
    ["2026-10-03T14:30:00.000Z", "2026-10-04T13:30:00.000Z"],
  );
  assertEquals(
    startsIn("Australia/Adelaide", "day", "2026-04-04T13:30:00.000Z", "2026-04-05T14:15:00.000Z"),
    ["2026-04-04T13:30:00.000Z", "2026-04-04T13:30:00.000Z"],
  );
  // Days that begin at one, and a day that was never there.
  assertEquals(
    startsIn("Africa/Cairo", "day", "2026-04-23T22:15:00.000Z", "2026-04-24T20:45:00.000Z"),
    ["2026-04-23T22:00:00.000Z", "2026-04-23T22:00:00.000Z"],
  );
  assertEquals(
    startsIn("Pacific/Apia", "day", "2011-12-30T09:45:00.000Z", "2011-12-30T10:00:00.000Z"),
    ["2011-12-29T10:00:00.000Z", "2011-12-30T10:00:00.000Z"],
  );
  // An hour that is there twice is two hours.
  assertEquals(
    startsIn("America/St_Johns", "hour", "2026-11-01T04:00:00.000Z", "2026-11-01T05:00:00.000Z"),
    ["2026-11-01T03:30:00.000Z", "2026-11-01T04:30:00.000Z"],
  );
});
