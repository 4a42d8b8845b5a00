/** What sessions cost over time, from their journals and what retention has left of them. */
import type { Session } from "./session.ts";
import type { HourCost } from "./session_state.ts";

/** How long a time is summed up. */
export type Bucket = "minute" | "hour" | "day";

/** What was spent; `tokens_cached` are some of `tokens_in`. */
export type Spent = Omit<HourCost, "at" | "model">;

/** Length of the RFC 3339 prefix that names a bucket, and what completes it to a timestamp. */
const CUTS: Record<Bucket, [number, string]> = {
  minute: [16, ":00.000Z"],
  hour: [13, ":00:00.000Z"],
  day: [10, "T00:00:00.000Z"],
};

/** Nothing spent. */
export function nothingSpent(): Spent {
  return { usd: 0, tokens_in: 0, tokens_out: 0, tokens_cached: 0 };
}

/** Adds what was spent to a sum. */
export function addSpent(sum: Spent, more: Spent): void {
  sum.usd += more.usd;
  sum.tokens_in += more.tokens_in;
  sum.tokens_out += more.tokens_out;
  sum.tokens_cached += more.tokens_cached;
}

/** Sums by the bucket they fall into. */
export class CostBuckets {
  readonly #bucket: Bucket;
  readonly #from: string;
  readonly #sums = new Map<string, HourCost>();
  readonly total = nothingSpent();

  /** @param since RFC 3339; what was spent before is left out. */
  constructor(bucket: Bucket, since: string | undefined) {
    this.#bucket = bucket;
    this.#from = since === undefined ? "" : new Date(since).toISOString();
  }

  add({ at, ...spent }: HourCost): void {
    if (at < this.#from) return;
    const [length, rest] = CUTS[this.#bucket];
    const start = at.slice(0, length) + rest;
    const sum = this.#sums.get(start) ?? { at: start, ...nothingSpent() };
    addSpent(sum, spent);
    addSpent(this.total, spent);
    this.#sums.set(start, sum);
  }

  /** Whether something of an hour may belong here. */
  covers({ at }: Pick<HourCost, "at">): boolean {
    return hourOf(at) >= hourOf(this.#from);
  }

  /** The buckets in which something was spent, the oldest first. */
  get buckets(): HourCost[] {
    return [...this.#sums.values()].sort((a, b) => a.at < b.at ? -1 : 1);
  }
}

/** The costs of a session, as finely as they are known: what retention has rewritten, by the hour. */
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
    const { usd_delta: usd, ...spent } = data;
    yield { at, usd, ...spent };
  }
}

/** The part of a timestamp that names its hour. */
function hourOf(at: string): string {
  return at.slice(0, 13);
}
