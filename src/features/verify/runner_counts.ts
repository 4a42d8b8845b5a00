export interface TestCounts {
  passed: number;
  failed: number;
}

/** Adds up a runner's summaries. */
export class Counts {
  #sum: TestCounts | undefined;

  /** A missing number counts as 0. */
  add(passed: string | number | undefined, failed: string | number | undefined): void {
    this.#sum ??= { passed: 0, failed: 0 };
    this.#sum.passed += Number(passed ?? 0);
    this.#sum.failed += Number(failed ?? 0);
  }

  get sum(): TestCounts | undefined {
    return this.#sum;
  }
}

/** Returns the number before a word, as in `1 failed, 2 passed`. */
export function numberOf(text: string, word: string): number {
  return Number(text.match(new RegExp(`(\\d+) ${word}\\b`))?.[1] ?? 0);
}
