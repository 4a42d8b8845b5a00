import { assertEquals } from "@std/assert";
import type { Case, Outcome } from "../support/junit.ts";
import { split } from "./together.ts";

const FILES = ["src/a_test.ts", "src/b_test.ts"].map((path) => ({ path, on_binary: false }));
const BEGINNINGS = FILES.map(({ path }) => `the tests of ${path}`);

/** Splits tests, each with how it ended and the module that the report names for it. */
function splitTests(tests: readonly [name: string, outcome: Outcome, module: string][]) {
  const cases: Case[] = tests.map(([name, outcome, file]) => {
    return { name, outcome, file, seconds: 1, error: outcome === "FAILED" ? "broken" : undefined };
  });
  // A report has the tests of a module together.
  const reported = Object.values(Object.groupBy(cases, ({ file }) => file)).flatMap((it) => it!);
  return split(FILES, { ended: cases }, reported);
}

Deno.test("the tests of files in one process are told apart, by whatever module declares them", () => {
  const runs = splitTests([
    [BEGINNINGS[0], "ignored", "together"],
    ["one", "ok", "kit"],
    ["two", "ignored", "a"],
    [BEGINNINGS[1], "ignored", "together"],
    ["one", "FAILED", "kit"],
    ["two", "ok", "b"],
  ]);
  assertEquals(
    runs?.map(({ file, cases, seconds, errors }) => [
      file.path,
      cases.map(({ name, outcome, file }) => `${name} of ${file}: ${outcome}`),
      seconds,
      errors,
    ]),
    [
      ["src/a_test.ts", ["one of kit: ok", "two of a: ignored"], 2, ""],
      ["src/b_test.ts", ["one of kit: FAILED", "two of b: ok"], 2, "one\nbroken\n"],
    ],
  );
});

Deno.test("what cannot be told apart is not guessed", () => {
  const begun: [string, Outcome, string] = [BEGINNINGS[0], "ignored", "together"];
  assertEquals(splitTests([begun]), undefined, "a file has not begun");
  assertEquals(splitTests([["one", "ok", "a"], begun]), undefined, "a test before the first file");
  const ended = FILES.map(({ path }) => {
    return { name: `the tests of ${path}`, outcome: "ignored" as const, file: "", seconds: 0 };
  });
  const more: Case = { name: "silent", outcome: "ok", file: "a", seconds: 0 };
  assertEquals(
    split(FILES, { ended }, [...ended, more]),
    undefined,
    "a test whose end is not seen",
  );
  assertEquals(split(FILES, { ended }, ended)?.map(({ cases }) => cases), [[], []]);
});
