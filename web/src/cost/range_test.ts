import { assertEquals } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { type Group, RANGES, seriesOf } from "./range.ts";

/** Half past twelve, wherever the tests run: hours are those of where the person is. */
const NOW = +new Date(2026, 2, 1, 12, 34, 56);

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
  const at = (day: number, hour: number) => new Date(2026, 2, day, hour).toISOString();
  const dear = group([at(1, 12), 2, 10], [at(0, 13), 1, 5]);
  const cheap = group([at(1, 11), 0.5, 3]);
  const { times, values } = seriesOf([dear, cheap], RANGES.day, "usd", NOW);
  assertEquals(times.length, 25);
  assertEquals(new Date(times[0] * 1000).toISOString(), at(0, 12));
  assertEquals(new Date(times[24] * 1000).toISOString(), at(1, 12));
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

/** Counts a year of a cent each quarter of an hour, and names each bar that is wrong. */
const BY_DAYS = `
  const { RANGES, seriesOf, sinceOf, startOf, timeZone } = await import(PAGE);
  const { bucketsOf, CostBuckets } = await import(DAEMON);
  const wrong = [];
  const quarter = 9e5;
  const from = Date.UTC(2026, 0, 1);
  const spent = { usd: 1, tokens_in: 0, tokens_out: 0, tokens_cached: 0 };
  const check = (now, range) => {
    const counted = new CostBuckets(bucketsOf(range.bucket, timeZone()), sinceOf(range, now));
    const expected = new Map();
    for (let at = now - now % quarter - 35 * 864e5; at <= now; at += quarter) {
      counted.add({ at: new Date(at).toISOString(), ...spent });
      const day = new Date(at).toDateString();
      expected.set(day, (expected.get(day) ?? 0) + 1);
    }
    const { times, values: [values] } = seriesOf([counted], range, "usd", now);
    const sum = values.reduce((a, b) => a + b, 0);
    if (sum !== counted.total.usd) wrong.push("lost", range.word, counted.total.usd - sum, now);
    if (times.some((it, n) => n > 0 && it <= times[n - 1])) wrong.push("order", range.word, now);
    if (range.bucket !== "day") return;
    const days = times.map((it) => new Date(it * 1000).toDateString());
    if (new Set(days).size !== days.length) wrong.push("twice", now);
    if (days.at(-1) !== new Date(now).toDateString()) wrong.push("last", now);
    for (const [n, quarters] of values.entries()) {
      if (quarters !== expected.get(days[n])) wrong.push(days[n], quarters, expected.get(days[n]));
    }
  };
  for (let now = from + 40 * 864e5; now < from + 400 * 864e5; now += 864e5 * 13.3) {
    check(now, RANGES.month);
    check(now, RANGES.week);
  }
  console.log(JSON.stringify(wrong.slice(0, 9)));
`;

Deno.test({
  name: "days are those of where the person is: at each change of the clock, and by half hours",
  ignore: !granted("run", "read"),
  async fn() {
    const place = (path: string) => JSON.stringify(import.meta.resolve(path));
    const code = BY_DAYS.replace("PAGE", place("./range.ts"))
      .replace("DAEMON", place("../../../src/session/costs.ts"));
    for (
      const zone of [
        "UTC",
        "America/New_York",
        // Midnight is there twice, or not at all.
        "America/Havana",
        "Africa/Cairo",
        "Asia/Kolkata",
        "Asia/Kathmandu",
        "Australia/Adelaide",
        "America/St_Johns",
        // The clock is changed by half an hour.
        "Australia/Lord_Howe",
        "Pacific/Apia",
      ]
    ) {
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["eval", "--no-check", code],
        env: { TZ: zone },
      }).output();
      const text = new TextDecoder();
      assertEquals([zone, text.decode(stdout).trim(), text.decode(stderr)], [zone, "[]", ""]);
    }
  },
});
