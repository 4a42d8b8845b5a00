import { assertEquals } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
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

/** Counts a year of one cent an hour by days, and names each day that is wrong. */
const BY_DAYS = `
  const { RANGES, seriesOf } = await import(MODULE);
  const wrong = [];
  const from = Date.UTC(2026, 0, 1);
  for (let now = from + 40 * 864e5; now < from + 400 * 864e5; now += 864e5 * 1.5) {
    const buckets = [];
    for (let at = now - 35 * 864e5; at <= now; at += 36e5) {
      buckets.push({ at: new Date(at).toISOString(), usd: 1, tokens_in: 0, tokens_out: 0 });
    }
    const { times, values: [values] } = seriesOf([{ buckets }], RANGES.month, "usd", now);
    const days = times.map((it) => new Date(it * 1000).toDateString());
    if (new Set(days).size !== days.length) wrong.push("twice", now);
    if (days.at(-1) !== new Date(now).toDateString()) wrong.push("last", now);
    if (days.length < 31 || days.length > 32) wrong.push("days", days.length, now);
    // The last day has only begun.
    for (const [n, hours] of values.slice(0, -1).entries()) {
      if (hours < 23 || hours > 25) wrong.push(days[n], hours);
    }
  }
  console.log(JSON.stringify(wrong.slice(0, 9)));
`;

Deno.test({
  name: "days are those of where the person is: at each change of the clock, and by half hours",
  ignore: !granted("run", "read"),
  async fn() {
    for (
      const zone of [
        "UTC",
        "America/New_York",
        // Midnight is there twice, or not at all.
        "America/Havana",
        "Africa/Cairo",
        "Asia/Kolkata",
        // The clock is changed by half an hour.
        "Australia/Lord_Howe",
        "Pacific/Apia",
      ]
    ) {
      const { stdout } = await new Deno.Command(Deno.execPath(), {
        args: [
          "eval",
          "--no-check",
          BY_DAYS.replace("MODULE", JSON.stringify(import.meta.resolve("./range.ts"))),
        ],
        env: { TZ: zone },
      }).output();
      assertEquals([zone, new TextDecoder().decode(stdout).trim()], [zone, "[]"]);
    }
  },
});
