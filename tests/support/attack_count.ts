/** Counts the attacks among tests: attempts, their controls, and how many succeeded. */
import type { Case } from "./junit.ts";

/** Between the attacker and the attack in the name of a test of `tests/attack`. */
export const SEPARATOR = " | ";

/** How the error of an attack that succeeded begins; any other failure is one of its control. */
export const SUCCEEDED = "the attack succeeded";

/** The folder of the attacks. */
export const FOLDER = "tests/attack/";

/** Numbers of attacks. */
export interface AttackCount {
  /** Attacks that were tried. */
  attempts: number;
  /** Controls that worked: the probe of each of these attempts sees success where there is one. */
  controls: number;
  succeeded: number;
  /** Attacks that this machine cannot try. */
  not_run: number;
}

/** Counts the attacks in the tests of one or more files; each checks its control before its attempt. */
export function countAttacks(cases: readonly Pick<Case, "outcome" | "error">[]): AttackCount {
  const count: AttackCount = { attempts: 0, controls: 0, succeeded: 0, not_run: 0 };
  for (const { outcome, error = "" } of cases) {
    if (outcome === "ignored") count.not_run++;
    else {
      const succeeded = outcome === "FAILED" && error.includes(SUCCEEDED);
      count.attempts++;
      count.controls += outcome === "ok" || succeeded ? 1 : 0;
      count.succeeded += succeeded ? 1 : 0;
    }
  }
  return count;
}

/** Writes a count in a line. */
export function countLine({ attempts, controls, succeeded, not_run }: AttackCount): string {
  return `${attempts} attempts, ${controls} controls that worked, ${succeeded} succeeded, ` +
    `${not_run} not run`;
}

/** Writes a count as cells of a table. */
export function cells({ attempts, controls, succeeded, not_run }: AttackCount): string {
  return [attempts, controls, succeeded, not_run].join(" | ");
}
