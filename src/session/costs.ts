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

/** Sums costs by bucket. */
export class CostBuckets {
  readonly #bucket: Bucket;
  readonly #from: string;
  readonly #sums = new Map<string, HourCost>();
  readonly total = nothingSpent();

  /** @param since RFC 3339; earlier costs are left out */
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

  /** Whether an hour may have costs in the range. */
  covers({ at }: Pick<HourCost, "at">): boolean {
    return hourOf(at) >= hourOf(this.#from);
  }

  /** Buckets with costs, oldest first. */
  get buckets(): HourCost[] {
    return [...this.#sums.values()].sort((a, b) => a.at < b.at ? -1 : 1);
  }
}

/** A session's costs, as finely as known: what retention rewrote is known by the hour. */
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
