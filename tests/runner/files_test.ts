import { assert, assertEquals } from "@std/assert";
import { everything, keyOf, listed, longestFirst, named, partOf, USUAL } from "./files.ts";

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

Deno.test("a file whose time is known from the start is there", async () => {
  const paths = new Set((await everything(true)).files.map(({ path }) => path));
  for (const [path] of USUAL) assert(!path.endsWith("_test.ts") || paths.has(path), path);
});

Deno.test("unit tests that ignore nothing may only read", async () => {
  const of = async (path: string) => (await named([path], false)).map((it) => it.reads_only);
  assertEquals(await of("src/base/semaphore_test.ts"), [true]);
  assertEquals(await of("src/jail/command_test.ts"), [false]);
  assertEquals(await of("tests/runner/files_test.ts"), [false]);
});

Deno.test("long files run with --all only, and each file is in one of the parts", async () => {
  assertEquals(listed("# why\ntests/a_test.ts\n\n  tests/b_test.ts # 90 s\n"), [
    "tests/a_test.ts",
    "tests/b_test.ts",
  ]);
  const [short, all] = [await everything(false), await everything(true)];
  assert(short.left_out > 0);
  assertEquals(all.left_out, 0);
  const keys = all.files.map(keyOf).sort();
  assertEquals(
    keys.filter((key) => short.files.some((it) => keyOf(it) === key)).length,
    short.files.length,
  );
  const parts = [1, 2, 3].map((part) => partOf(all.files, [part, 3]));
  assertEquals(parts.flat().map(keyOf).sort(), keys);
  assert(parts.every(({ length }) => Math.abs(length - keys.length / 3) < 1));
});
