/** Readers for JavaScript test runners. */
import { Counts, numberOf } from "./runner_counts.ts";
import type { OnFailing, Runner } from "./test_report.ts";

/** `deno test`: failing tests are listed under FAILURES, before the summary. */
export function deno(onFailing: OnFailing): Runner {
  const counts = new Counts();
  let in_failures = false;
  return {
    read(line) {
      if (line === " FAILURES ") in_failures = true;
      const found = line.match(
        /^(?:ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed/,
      );
      if (found !== null) {
        in_failures = false;
        counts.add(found[1], found[2]);
      } else if (in_failures && line.trim() !== "" && line !== " FAILURES ") {
        onFailing(line.trim());
      }
    },
    counts: () => counts.sum,
  };
}

/** TAP of `node --test`: subtests are indented, and a diagnosis follows its line. */
export function nodeTap(onFailing: OnFailing): Runner {
  const counts = new Counts();
  const path: string[] = [];
  let failed: string | undefined;
  const settle = () => {
    if (failed !== undefined) onFailing(failed);
    failed = undefined;
  };
  return {
    read(line) {
      const [, indent, text] = line.match(/^( *)(.*)$/)!;
      const depth = indent.length / 4;
      const subtest = text.match(/^# Subtest: (.*)$/);
      const bad = text.match(/^not ok \d+ - (.*)$/);
      // A suite fails because of its subtests, which are already listed.
      if (/^failureType: '?subtestsFailed/.test(text)) failed = undefined;
      if (subtest !== null) {
        path.splice(depth, Infinity, subtest[1]);
      } else if (bad !== null && !/# (?:TODO|SKIP)\b/.test(bad[1])) {
        settle();
        failed = [...path.slice(0, depth), bad[1]].join(" > ");
      } else if (text === "...") {
        settle();
      }
      const total = line.match(/^# (pass|fail|cancelled) +(\d+)$/);
      if (total === null) return;
      settle();
      if (total[1] === "pass") counts.add(total[2], 0);
      else counts.add(0, total[2]);
    },
    counts: () => counts.sum,
  };
}

/** The `spec` reporter of `node --test`. */
export function nodeSpec(onFailing: OnFailing): Runner {
  const counts = new Counts();
  let in_failing = false;
  let location = "";
  return {
    read(line) {
      const total = line.match(/^ℹ (pass|fail|cancelled) (\d+)$/);
      if (total?.[1] === "pass") counts.add(total[2], 0);
      else if (total !== null) counts.add(0, total[2]);
      if (line === "✖ failing tests:") in_failing = true;
      if (!in_failing) return;
      location = line.match(/^test at (.+)$/)?.[1] ?? location;
      const name = line.match(/^✖ (.+) \([\d.]+ms\)$/)?.[1];
      if (name !== undefined) onFailing(location === "" ? name : `${name} (${location})`);
    },
    counts: () => counts.sum,
  };
}

export function jest(onFailing: OnFailing): Runner {
  const counts = new Counts();
  let file = "";
  return {
    read(line) {
      file = line.match(/^FAIL (\S+)/)?.[1] ?? file;
      const name = line.match(/^ {2}● (.+)$/)?.[1];
      if (name === "Test suite failed to run") onFailing(`${file}: ${name}`);
      else if (name !== undefined && name !== "Console") onFailing(name);
      const total = line.match(/^Tests: +(.*\d+ total)$/)?.[1];
      if (total !== undefined) counts.add(numberOf(total, "passed"), numberOf(total, "failed"));
    },
    counts: () => counts.sum,
  };
}

export function vitest(onFailing: OnFailing): Runner {
  const counts = new Counts();
  return {
    read(line) {
      const name = line.match(/^ FAIL {2}(.+)$/)?.[1];
      // A file that fails to load is listed twice.
      if (name !== undefined) onFailing(name.replace(/ \[ .* \]$/, ""));
      const total = line.match(/^ {6}Tests {2}(.*\(\d+\))$/)?.[1];
      if (total !== undefined) counts.add(numberOf(total, "passed"), numberOf(total, "failed"));
    },
    counts: () => counts.sum,
  };
}

/** Mocha: failing tests follow the counts, each with its groups on lines of their own. */
export function mocha(onFailing: OnFailing): Runner {
  const counts = new Counts();
  let in_failing = false;
  let path: string[] | undefined;
  return {
    read(line) {
      const total = line.match(/^ {2}(\d+) (passing \(.*\)|failing)$/);
      if (total?.[2] === "failing") {
        in_failing = true;
        counts.add(0, total[1]);
      } else if (total !== null) {
        in_failing = false;
        counts.add(total[1], 0);
      }
      if (!in_failing) return;
      const first = line.match(/^ {2}\d+\) (.*)$/)?.[1];
      if (first !== undefined) path = [first];
      else if (/^ {7}\S/.test(line) || /^ {8,}\S/.test(line)) path?.push(line.trim());
      if (path?.at(-1)?.endsWith(":")) {
        onFailing(path.join(" > ").slice(0, -1));
        path = undefined;
      }
    },
    counts: () => counts.sum,
  };
}
