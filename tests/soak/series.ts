/** Figures over time: delays by their frequency, samples, a fitted line, CSV. */

const BUCKETS = 60_000;

/** Whole milliseconds by how often they came; as large after an hour as at its start. */
export class Delays {
  readonly #counts = new Map<number, number>();
  #count = 0;

  add(ms: number): void {
    const bucket = Math.min(BUCKETS, Math.max(0, Math.round(ms)));
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
    this.#count++;
  }

  get count(): number {
    return this.#count;
  }

  /** The value that this share of them does not exceed; undefined when there are none. */
  percentile(share: number): number | undefined {
    let left = Math.max(1, Math.ceil(share * this.#count));
    for (const [ms, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) return ms;
    }
    return undefined;
  }

  clear(): void {
    this.#counts.clear();
    this.#count = 0;
  }
}

/** What was measured at one moment, and since the moment before. */
export interface Sample {
  /** Since the start of the load. */
  seconds: number;
  messages: number;
  events: number;
  delay_p50_ms?: number;
  delay_p99_ms?: number;
  rss_mb: number;
  heap_mb: number;
  /** Open file descriptors, without the next. */
  fds: number;
  /** Descriptors of the event loop: each worker that runs has some. */
  polls: number;
  threads: number;
}

const COLUMNS = [
  "seconds",
  "messages",
  "events",
  "delay_p50_ms",
  "delay_p99_ms",
  "rss_mb",
  "heap_mb",
  "fds",
  "polls",
  "threads",
] as const;

export function toCsv(samples: readonly Sample[]): string {
  const rows = samples.map((sample) => COLUMNS.map((name) => sample[name] ?? "").join(","));
  return [COLUMNS.join(","), ...rows, ""].join("\n");
}

/** A value's course behind the warm-up. */
export interface Trend {
  mean: number;
  /** How much the fitted line rises from its start to its end. */
  growth: number;
}

/** The line with the least squares through the last two thirds of the samples. */
export function trend(
  samples: readonly Sample[],
  name: "rss_mb" | "heap_mb" | "fds" | "polls" | "threads",
): Trend {
  const warm = samples.slice(Math.floor(samples.length / 3));
  const mean = warm.reduce((sum, it) => sum + it[name], 0) / warm.length;
  const middle = warm.reduce((sum, it) => sum + it.seconds, 0) / warm.length;
  let above = 0;
  let below = 0;
  for (const it of warm) {
    above += (it.seconds - middle) * (it[name] - mean);
    below += (it.seconds - middle) ** 2;
  }
  const span = warm.at(-1)!.seconds - warm[0].seconds;
  return { mean, growth: below === 0 ? 0 : above / below * span };
}
