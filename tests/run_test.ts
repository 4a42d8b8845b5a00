import { assertEquals } from "@std/assert";
import { Ignored } from "./run.ts";

Deno.test("what was not run is counted by what is missing", () => {
  const ignored = new Ignored();
  for (
    const line of [
      "./tests/a_test.ts => one ... ignored (0ms)",
      "\x1b[90m./tests/a_test.ts => \x1b[0mtwo ... \x1b[33mignored\x1b[0m (0ms)",
      "./tests/a_test.ts => three ... ok (1s)",
      "./tests/b_test.ts => four ... ignored (0ms)",
      "./src/d_test.ts => five ... ignored (0ms)",
      "running 2 tests from ./src/e_test.ts",
      "six ... ignored (0ms)",
      "seven ... ok (0ms)",
      "ok | 2 passed | 0 failed | 5 ignored (1s)",
    ]
  ) ignored.take(line);
  const file = (path: string) => new URL(`../${path}`, import.meta.url).href;
  const lacking = [
    `${file("tests/a_test.ts")}\tchromium`,
    `${file("tests/b_test.ts")}\tchromium`,
    `${file("src/c_test.ts")}\ttmux`,
    `${file("src/e_test.ts")}\tstrace`,
    `${file("src/e_test.ts")}\tflock`,
    `${file("src/e_test.ts")}\tstrace`,
    "",
  ].join("\n");
  assertEquals(ignored.byReason(lacking), [
    "chromium: 3",
    "flock or strace: 1",
    "for another system, user or build: 1",
  ]);
  assertEquals(new Ignored().byReason(lacking), []);
});
