/** What both runs of a file together say about its tests. */
import type { Case } from "../support/junit.ts";
import type { FileRun } from "./file_run.ts";
import type { TestFile } from "./files.ts";

/** A test that did not pass, or a whole file. */
export interface Failure {
  file: TestFile;
  /** The test; undefined for the file as a whole. */
  name?: string;
  /** Why, in full. */
  error: string;
}

/** How a file ended. */
export interface Outcome {
  passed: number;
  ignored: number;
  failed: Failure[];
  /** Failed in one run and passed in the other, with the error of the failure. */
  flaky: Failure[];
}

/**
 * Judges a file by its runs.
 *
 * @param again its second run, alone; undefined if the first passed or the run was stopped.
 */
export function judge(first: FileRun, again?: FileRun): Outcome {
  if (again === undefined) return judgeOnce(first);
  const { file } = first;
  const outcome: Outcome = { passed: 0, ignored: 0, failed: [], flaky: [] };
  const before = byName(first.cases);
  const after = byName(again.cases);
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [a, b] = [before.get(key), after.get(key)];
    const broken = [a, b].find((it) => it?.outcome === "FAILED");
    // A test that one of the runs did not get to has passed only if the other shows it.
    const well = [a, b].find((it) => it?.outcome === "ok");
    if (broken === undefined) {
      if (well === undefined) outcome.ignored++;
      else outcome.passed++;
    } else if (well === undefined) outcome.failed.push(failureOf(file, broken));
    else {
      outcome.passed++;
      outcome.flaky.push(failureOf(file, broken));
    }
  }
  const trouble = first.trouble ?? again.trouble;
  if (first.trouble && again.trouble) outcome.failed.push(wholeFile(again));
  else if (trouble !== undefined) {
    outcome.flaky.push(wholeFile(first.trouble ? first : again));
  }
  return outcome;
}

function judgeOnce(run: FileRun): Outcome {
  const of = (outcome: Case["outcome"]) => run.cases.filter((it) => it.outcome === outcome);
  const failed = of("FAILED").map((it) => failureOf(run.file, it));
  if (run.trouble) failed.push(wholeFile(run));
  return { passed: of("ok").length, ignored: of("ignored").length, failed, flaky: [] };
}

function failureOf(file: TestFile, { name, error }: Case): Failure {
  return { file, name, error: error ?? "" };
}

function wholeFile({ file, trouble }: FileRun): Failure {
  return { file, error: `${trouble!.reason}\n${trouble!.error}` };
}

/** The cases of a run by their names; a name that comes again is counted. */
function byName(cases: readonly Case[]): Map<string, Case> {
  const found = new Map<string, Case>();
  for (const it of cases) {
    let key = it.name;
    for (let n = 2; found.has(key); n++) key = `${it.name} (${n})`;
    found.set(key, it);
  }
  return found;
}
