import { assertEquals } from "@std/assert";
import { TestReport, type TestSummary } from "./test_report.ts";
import { goText } from "./runners_other.ts";

function summaryOf(text: string): TestSummary | undefined {
  const report = new TestReport();
  for (const line of text.split("\n")) report.read(line);
  return report.summary();
}

/** What the runners wrote (testdata), and what is in it. */
const WRITTEN: Record<string, [passed: number, failed: number, failing: string[]]> = {
  "deno": [2, 2, ["adds three => ./sum_test.ts:2:6", "has steps ... second => ./sum_test.ts:6:11"]],
  "node_tap": [2, 1, ["a group > adds three"]],
  "node_spec": [2, 1, ["adds three (sum.test.mjs:5:3)"]],
  "jest": [1, 1, [
    "a group › inner › adds three",
    "jest/broken.test.js: Test suite failed to run",
  ]],
  "vitest": [1, 1, [
    "vitest/broken.test.ts",
    "vitest/sum.test.ts > a group > inner > adds three",
  ]],
  "mocha": [1, 2, ["adds four", "a group > inner > adds three"]],
  "cargo": [2, 1, ["tests::adds_three"]],
  "go": [0, 2, ["example.org/sums.TestTable/three", "example.org/sums/broken"]],
  "go_v": [2, 2, ["example.org/sums.TestTable/three", "example.org/sums/broken"]],
  "go_json": [2, 2, ["example.org/sums.TestTable/three", "example.org/sums/broken"]],
  "pytest": [2, 3, [
    "test_sums.py::test_adds_three",
    "test_sums.py::test_small[2]",
    "test_sums.py::SumTest::test_method",
  ]],
  "pytest_q": [2, 3, [
    "test_sums.py::test_adds_three",
    "test_sums.py::test_small[2]",
    "test_sums.py::SumTest::test_method",
  ]],
  "pytest_broken": [0, 1, ["test_broken.py"]],
  "unittest": [1, 2, [
    "test_error (test_unit.Sums.test_error)",
    "test_three (test_unit.Sums.test_three)",
  ]],
  "unittest_v": [1, 2, [
    "test_error (test_unit.Sums.test_error)",
    "test_three (test_unit.Sums.test_three)",
  ]],
};

for (const [runner, [passed, failed, failing]] of Object.entries(WRITTEN)) {
  Deno.test(`the figures and the failing tests of ${runner} are read`, () => {
    const text = Deno.readTextFileSync(new URL(`testdata/${runner}.txt`, import.meta.url));
    assertEquals(summaryOf(text), { passed, failed, failing });
  });
}

Deno.test("where everything passes nothing is failing", () => {
  for (
    const [text, passed] of [
      ["ok | 12 passed (3 steps) | 0 failed | 1 ignored (2s)", 12],
      ["# tests 3\n# pass 3\n# fail 0\n# cancelled 0", 3],
      ["Test Suites: 1 passed, 1 total\nTests:       4 passed, 4 total", 4],
      ["      Tests  5 passed (5)", 5],
      ["  6 passing (12ms)", 6],
      ["test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", 7],
      ["=== 8 passed, 1 warning in 61.20s (0:01:01) ===", 8],
      ["Ran 9 tests in 0.1s\n\nOK", 9],
    ] as const
  ) assertEquals(summaryOf(text), { passed, failed: 0, failing: [] }, text);
});

Deno.test("the summaries of several runs are added", () => {
  const run = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
  assertEquals(summaryOf(`${run}\n${run}\n  3 passing (1ms)`)?.passed, 7);
});

Deno.test("output that is not of a test runner has no summary", () => {
  const texts = ["", "building…\nok\nFAIL\nOK\n12 passed\nerror: 3 failed", '{"Action":1}', "{"];
  for (const text of texts) assertEquals(summaryOf(text), undefined, text);
});

Deno.test("many failing tests are counted, the first of them named, each once", () => {
  const names = Array.from({ length: 500 }, (_, n) => `FAILED t.py::${"x".repeat(400)}${n}`);
  const summary = summaryOf([...names, "=== 500 failed in 1.0s ==="].join("\n"))!;
  assertEquals([summary.failed, summary.failing.length], [500, 1]);
  const short = names.map((name) => name.replaceAll("x", ""));
  assertEquals(
    summaryOf([...short, ...short, "500 failed in 1.0s"].join("\n"))!.failing.length,
    200,
  );
});

Deno.test("an event of go test -json is shown as its text", () => {
  const events = [
    '{"Action":"run","Package":"p","Test":"T"}',
    '{"Action":"output","Package":"p","Output":"--- PASS: T (0.00s)\\n"}',
    "# a line beside",
  ];
  assertEquals(events.map(goText).join(""), "--- PASS: T (0.00s)\n# a line beside\n");
});
