/** Costs of sessions over time, from their journals and checkpoints. */
import type { Session } from "./session.ts";
import type { HourCost } from "./session_state.ts";

export type Bucket = "minute" | "hour" | "day";

/** `tokens_cached` are part of `tokens_in`. */
export type Spent = Omit<HourCost, "at" | "model">;

/** Length of the RFC 3339 prefix that names a bucket, and the rest of its timestamp. */
const CUTS: Record<Bucket, [number, string]> = {
  minute: [16, ":00.000Z"],
  hour: [13, ":00:00.000Z"],
  day: [10, "T00:00:00.000Z"],
};

export function nothingSpent(): Spent {
  return { usd: 0, tokens_in: 0, tokens_out: 0, tokens_cached: 0 };
}

export function addSpent(sum: Spent, more: Spent): void {
  sum.usd += more.usd;
  sum.tokens_in += more.tokens_in;
  sum.tokens_out += more.tokens_out;
  sum.tokens_cached += more.tokens_cached;
  if (more.unpriced) sum.unpriced = true;
}

/** When the bucket of a time starts; both as `toISOString` writes them. */
export type StartOf = (at: string) => string;

/** Returns what finds the bucket of a time. @param zone whose days and hours they are; UTC by default */
export function bucketsOf(bucket: Bucket, zone?: string): StartOf {
  const [length, rest] = CUTS[bucket];
  // Each time zone has the minutes of UTC.
  if (zone === undefined || bucket === "minute") return (at) => at.slice(0, length) + rest;
  /** By the day or the hour of UTC: all that start in it, and the one before. */
  const known = new Map<string, string[]>();
  return (at) => {
    const key = at.slice(0, length) + rest;
    let starts = known.get(key);
    if (starts === undefined) {
      starts = startsAround(Temporal.Instant.from(key).toZonedDateTimeISO(zone), bucket);
      known.set(key, starts);
    }
    return starts.findLast((start) => start <= at)!;
  };
}

/** What starts in the day or the hour after a time, and what has begun by then. A time zone is slow to ask. */
function startsAround(time: Temporal.ZonedDateTime, bucket: "hour" | "day"): string[] {
  const starts = bucket === "day"
    ? [0, 1, 2].map((days) => time.add({ days }).startOfDay())
    : [0, 15, 30, 45].map((minutes) =>
      time.add({ minutes }).round({ smallestUnit: bucket, roundingMode: "floor" })
    );
  return starts.map(({ epochMilliseconds }) => new Date(epochMilliseconds).toISOString());
}

/** Sums costs by bucket. */
export class CostBuckets {
  readonly #startOf: StartOf;
  readonly #from: string;
  readonly #sums = new Map<string, HourCost>();
  readonly total = nothingSpent();

  /** @param since RFC 3339; earlier costs are left out */
  constructor(startOf: StartOf, since: string | undefined) {
    this.#startOf = startOf;
    this.#from = since === undefined ? "" : new Date(since).toISOString();
  }

  add({ at, ...spent }: HourCost): void {
    if (at < this.#from) return;
    const start = this.#startOf(at);
    const sum = this.#sums.get(start) ?? { at: start, ...nothingSpent() };
    addSpent(sum, spent);
    addSpent(this.total, spent);
    this.#sums.set(start, sum);
  }

  /** Whether an hour may have costs in the range. */
  covers({ at }: Pick<HourCost, "at">): boolean {
    return hourOf(at) >= hourOf(this.#from);
  }

  /** Buckets with costs, oldest first. */
  get buckets(): HourCost[] {
    return [...this.#sums.values()].sort((a, b) => a.at < b.at ? -1 : 1);
  }
}

/** A session's costs, as finely as known: what retention rewrote is known by quarters of an hour. */
export async function* costsOf(session: Session, bucket: Bucket): AsyncGenerator<HourCost> {
  if (bucket !== "minute") return yield* session.state.cost_hours;
  const { oldest_at, trimmed_seq } = session.journal;
  for (const hour of session.state.cost_hours) {
    if (
      trimmed_seq > 0 && (oldest_at === undefined || hourOf(hour.at) < hourOf(oldest_at))
    ) {
      yield hour;
    }
  }
  for await (const { type, at, data } of session.journal.read(trimmed_seq)) {
    if (type !== "cost.tick") continue;
    const { usd_delta: usd, tokens_in, tokens_out, tokens_cached, model, unpriced } = data;
    yield { at, usd, tokens_in, tokens_out, tokens_cached, model, unpriced };
  }
}

function hourOf(at: string): string {
  return at.slice(0, 13);
}
