/** What the output of test runners says: how many tests passed and failed, and which failed. */
import type { TestCounts } from "./runner_counts.ts";
import { deno, jest, mocha, nodeSpec, nodeTap, vitest } from "./runners_javascript.ts";
import { cargo, go, pytest, unittest } from "./runners_other.ts";

/** Reads the output of one test runner. */
export interface Runner {
  /** Takes a line, without its end and without escape sequences. */
  read(line: string): void;
  /** What its summaries said; undefined while there was none. */
  counts(): TestCounts | undefined;
}

/** Takes the name of a test that failed, as its runner calls it. */
export type OnFailing = (name: string) => void;

const RUNNERS: readonly ((onFailing: OnFailing) => Runner)[] = [
  deno,
  nodeTap,
  nodeSpec,
  jest,
  vitest,
  mocha,
  cargo,
  go,
  pytest,
  unittest,
];

/** Failing tests that are named. */
const FAILING_MAX = 200;
const NAME_MAX = 300;

export interface TestSummary extends TestCounts {
  /** The first of the failing tests, each once. */
  failing: string[];
}

/**
 * Reads the output of a command that runs tests, whichever runner it calls; of several summaries,
 * as of the packages of a workspace, the figures are added.
 */
export class TestReport {
  readonly #readers: { runner: Runner; failing: Set<string> }[] = RUNNERS.map((make) => {
    const failing = new Set<string>();
    const runner = make((name) => {
      if (failing.size < FAILING_MAX) failing.add(name.slice(0, NAME_MAX));
    });
    return { runner, failing };
  });

  /** Takes the next line. */
  read(line: string): void {
    for (const { runner } of this.#readers) runner.read(line);
  }

  /** What was read; undefined when no runner said how its tests went. */
  summary(): TestSummary | undefined {
    let summary: TestSummary | undefined;
    for (const { runner, failing } of this.#readers) {
      const counts = runner.counts();
      if (counts === undefined) continue;
      summary ??= { passed: 0, failed: 0, failing: [] };
      summary.passed += counts.passed;
      summary.failed += counts.failed;
      summary.failing.push(...failing);
    }
    return summary;
  }
}
