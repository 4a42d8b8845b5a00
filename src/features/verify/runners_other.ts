/** Readers for the test runners of Rust, Go and Python. */
import { Counts, numberOf } from "./runner_counts.ts";
import type { OnFailing, Runner } from "./test_report.ts";

/** `cargo test`: for each test binary the failing tests, then a summary. */
export function cargo(onFailing: OnFailing): Runner {
  const counts = new Counts();
  let in_failures = false;
  return {
    read(line) {
      const total = line.match(/^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed;/);
      if (total !== null) counts.add(total[1], total[2]);
      const name = line.match(/^ {4}(\S.*)$/)?.[1];
      if (in_failures && name !== undefined) onFailing(name);
      else in_failures = line === "failures:";
    },
    counts: () => counts.sum,
  };
}

/** See `go doc test2json`. */
interface GoEvent {
  Action: string;
  Package?: string;
  Test?: string;
  Output?: string;
}

/** Limits the memory for endless output. */
const GO_TESTS_MAX = 100_000;

/** `go test` as text or with `-json`, which also counts passed tests. */
export function go(onFailing: OnFailing): Runner {
  const ended = new Map<string, "pass" | "fail">();
  const failed_packages = new Set<string>();
  let found = false;
  let package_tests: [how: string, name: string][] = [];
  const end = (name: string, how: string) => {
    if (ended.size >= GO_TESTS_MAX) return;
    if (how === "pass" || how === "fail") ended.set(name, how);
  };
  const readEvent = ({ Action, Package = "", Test }: GoEvent) => {
    found = true;
    if (Test !== undefined) end(`${Package}.${Test}`, Action);
    else if (Action === "fail") failed_packages.add(Package);
  };
  const readText = (line: string) => {
    const test = line.match(/^ *--- (PASS|FAIL): (\S+) \(/);
    if (test !== null && package_tests.length < GO_TESTS_MAX) {
      package_tests.push([test[1].toLowerCase(), test[2]]);
    }
    const of = line.match(/^(ok {2}|FAIL)\t(\S+)(?:\s|$)/);
    if (of === null) return;
    found = true;
    if (of[1] === "FAIL") failed_packages.add(of[2]);
    for (const [how, name] of package_tests) end(`${of[2]}.${name}`, how);
    package_tests = [];
  };
  return {
    read(line) {
      const event = goEvent(line);
      if (event === undefined) readText(line);
      else readEvent(event);
    },
    counts() {
      if (!found) return undefined;
      // A test with subtests counts as these.
      const groups = new Set([...ended.keys()].map((name) => name.replace(/\/[^/]*$/, "")));
      const leaves = [...ended].filter(([name]) => !groups.has(name) || !hasSubtest(ended, name));
      const failing = leaves.filter(([, how]) => how === "fail").map(([name]) => name);
      // A package that failed to build ran no test.
      const unbuilt = [...failed_packages]
        .filter((name) => !failing.some((test) => test.startsWith(`${name}.`)));
      for (const name of [...failing, ...unbuilt]) onFailing(name);
      return { passed: leaves.length - failing.length, failed: failing.length + unbuilt.length };
    },
  };
}

function hasSubtest(ended: ReadonlyMap<string, unknown>, name: string): boolean {
  return ended.keys().some((other) => other.startsWith(`${name}/`));
}

function goEvent(line: string): GoEvent | undefined {
  if (!line.startsWith('{"')) return undefined;
  try {
    const event = JSON.parse(line);
    return typeof event.Action === "string" ? event : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the text form of a line of `go test -json`; other lines are unchanged. */
export function goText(line: string): string {
  const event = goEvent(line);
  return event === undefined ? `${line}\n` : event.Output ?? "";
}

/** pytest: the short summary lists the failing tests. */
export function pytest(onFailing: OnFailing): Runner {
  const counts = new Counts();
  return {
    read(line) {
      const name = line.match(/^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$/)?.[1];
      if (name !== undefined) onFailing(name);
      const total = line.match(
        /^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$/,
      )?.[1];
      if (total === undefined) return;
      const failed = numberOf(total, "failed") + numberOf(total, "errors?");
      counts.add(numberOf(total, "passed"), failed);
    },
    counts: () => counts.sum,
  };
}

/** `python -m unittest`: a block for each failing test, then the counts. */
export function unittest(onFailing: OnFailing): Runner {
  const counts = new Counts();
  let before = "";
  let ran = 0;
  return {
    read(line) {
      const name = line.match(/^(?:FAIL|ERROR): (.+)$/)?.[1];
      if (name !== undefined && /^={70}$/.test(before)) onFailing(name);
      before = line;
      ran = Number(line.match(/^Ran (\d+) tests? in /)?.[1] ?? ran);
      const total = line.match(/^(?:OK|FAILED)(?: \((.*)\))?$/);
      if (total === null || ran === 0) return;
      const of = (kind: string) =>
        Number(total[1]?.match(new RegExp(`(?:^|, )${kind}=(\\d+)`))?.[1] ?? 0);
      const failed = of("failures") + of("errors") + of("unexpected successes");
      counts.add(ran - failed - of("skipped") - of("expected failures"), failed);
      ran = 0;
    },
    counts: () => counts.sum,
  };
}
