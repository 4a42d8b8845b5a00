import { assertEquals } from "@std/assert";
import { keyOf, longestFirst, named } from "./files.ts";

Deno.test("the longest files start first, new ones by what is usual for their folder", () => {
  const file = (path: string, on_binary = false) => ({ path, on_binary });
  const files = [
    file("src/a_test.ts"),
    file("src/slow_test.ts"),
    file("tests/integration/a_test.ts", true),
    file("tests/integration/a_test.ts"),
    file("tests/web/new_test.ts", true),
  ];
  const seconds = {
    "src/slow_test.ts": 100,
    "tests/integration/a_test.ts": 2,
    "tests/integration/a_test.ts (binary)": 50,
  };
  assertEquals(longestFirst(files, seconds).map(keyOf), [
    "src/slow_test.ts",
    "tests/integration/a_test.ts (binary)",
    "tests/web/new_test.ts (binary)",
    "tests/integration/a_test.ts",
    "src/a_test.ts",
  ]);
});

Deno.test("unit tests that ignore nothing may only read", async () => {
  const of = async (path: string) => (await named([path], false)).map((it) => it.reads_only);
  assertEquals(await of("src/base/semaphore_test.ts"), [true]);
  assertEquals(await of("src/jail/command_test.ts"), [false]);
  assertEquals(await of("tests/runner/files_test.ts"), [false]);
});
