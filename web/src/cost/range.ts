/** The spans of time that costs are shown over. */
import type { Params, Result } from "../rpc/api.ts";

export type Breakdown = Result<"cost.breakdown">;
export type Group = Breakdown["groups"][number];
type Bucket = NonNullable<Params<"cost.breakdown">["bucket"]>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface Range {
  word: string;
  bucket: Bucket;
  bucket_ms: number;
  /** Undefined for all there is. */
  span_ms?: number;
}

export const RANGES = {
  hour: { word: "Last hour", bucket: "minute", bucket_ms: MINUTE_MS, span_ms: HOUR_MS },
  day: { word: "Last day", bucket: "hour", bucket_ms: HOUR_MS, span_ms: DAY_MS },
  week: { word: "Last week", bucket: "hour", bucket_ms: HOUR_MS, span_ms: 7 * DAY_MS },
  month: { word: "Last 30 days", bucket: "day", bucket_ms: DAY_MS, span_ms: 30 * DAY_MS },
  all: { word: "All time", bucket: "day", bucket_ms: DAY_MS },
} as const satisfies Record<string, Range>;

export type RangeName = keyof typeof RANGES;

/** When the bar begins that a time is in: days and hours are those of where the person is. */
export function startOf({ bucket_ms }: Range, time: number): number {
  const date = new Date(time);
  if (bucket_ms === DAY_MS) return date.setHours(0, 0, 0, 0);
  // Not set: an hour that is there twice would be the earlier one.
  return time - time % MINUTE_MS - date.getMinutes() * MINUTE_MS % bucket_ms;
}

/** The time zone of the person, where it is known. */
export function timeZone(): string | undefined {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return timeZone === "Etc/Unknown" ? undefined : timeZone;
}

/** When a range begins, as `cost.breakdown` takes it. */
export function sinceOf(range: Range, now: number): string | undefined {
  const { span_ms } = range;
  return span_ms === undefined ? undefined : new Date(startOf(range, now - span_ms)).toISOString();
}

/** What is shown of a bucket. */
export type Metric = "usd" | "tokens";

/** A bucket in this metric. */
export function amountOf(
  { usd, tokens_in, tokens_out }: { usd: number; tokens_in: number; tokens_out: number },
  metric: Metric,
): number {
  return metric === "usd" ? usd : tokens_in + tokens_out;
}

/** Bars over the same times: what each group spent in each bucket, nothing included. */
export interface Series {
  /** When the buckets begin, in seconds. */
  times: number[];
  /** By group, then by time. */
  values: number[][];
  /** Whether an amount lacks calls of unknown price; as the values. */
  unknown: boolean[][];
}

/**
 * The bars of groups over a range.
 *
 * @param now in milliseconds, where the last bucket is.
 */
export function seriesOf(
  groups: readonly Group[],
  range: Range,
  metric: Metric,
  now: number,
): Series {
  const starts = groups.flatMap(({ buckets }) => buckets.map(({ at }) => Date.parse(at)));
  const { bucket_ms, span_ms } = range;
  let start = startOf(range, starts.reduce((a, b) => Math.min(a, b), now));
  if (span_ms !== undefined) start = startOf(range, now - span_ms);
  const places = new Map<number, number>();
  while (start <= now) {
    places.set(start, places.size);
    // A day has 23 to 25 hours.
    start = startOf(range, start + (bucket_ms === DAY_MS ? 36 * HOUR_MS : bucket_ms));
  }
  const count = places.size;
  const times = [...places.keys()].map((time) => time / 1000);
  const unknown = groups.map(() => new Array<boolean>(count).fill(false));
  const values = groups.map(({ buckets }, group) => {
    const line = new Array<number>(count).fill(0);
    for (const bucket of buckets) {
      // Older versions kept what retention has rewritten by the hour; it stands where that begins.
      const n = places.get(startOf(range, Date.parse(bucket.at)));
      if (n === undefined) continue;
      line[n] += amountOf(bucket, metric);
      unknown[group][n] ||= metric === "usd" && bucket.unpriced === true;
    }
    return line;
  });
  return { times, values, unknown };
}
