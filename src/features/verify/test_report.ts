/** Counts the tests in the output of test runners, and lists failing ones. */
import type { TestCounts } from "./runner_counts.ts";
import { deno, jest, mocha, nodeSpec, nodeTap, vitest } from "./runners_javascript.ts";
import { cargo, go, pytest, unittest } from "./runners_other.ts";

export interface Runner {
  /** Takes a line without its end and without escape sequences. */
  read(line: string): void;
  /** Undefined until there is a summary. */
  counts(): TestCounts | undefined;
}

/** Takes the runner's name of a failing test. */
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

const FAILING_MAX = 200;
const NAME_MAX = 300;

export interface TestSummary extends TestCounts {
  /** The first failing tests, without duplicates. */
  failing: string[];
}

/**
 * Reads the output of any test runner. Several summaries, as for the packages of a workspace, are
 * added.
 */
export class TestReport {
  readonly #readers: { runner: Runner; failing: Set<string> }[] = RUNNERS.map((make) => {
    const failing = new Set<string>();
    const runner = make((name) => {
      if (failing.size < FAILING_MAX) failing.add(name.slice(0, NAME_MAX));
    });
    return { runner, failing };
  });

  read(line: string): void {
    for (const { runner } of this.#readers) runner.read(line);
  }

  /** Undefined without any summary. */
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
