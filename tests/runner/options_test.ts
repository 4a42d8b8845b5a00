import { assertEquals, assertThrows } from "@std/assert";
import { readOptions } from "./options.ts";

function read(args: string[], env: Record<string, string> = {}) {
  return readOptions(args, (name) => env[name], 2);
}

Deno.test("files, own flags and flags of deno test are told apart", () => {
  const { paths, flags, script_args, slowest, help } = read(
    ["--slowest", "src/a_test.ts", "--filter", "a name", "--trace-leaks", "tests", "--", "-x"],
  );
  assertEquals({ paths, flags, script_args, slowest, help }, {
    paths: ["src/a_test.ts", "tests"],
    flags: ["--filter=a name", "--trace-leaks"],
    script_args: ["-x"],
    slowest: true,
    help: false,
  });
  assertEquals(read(["--unit"]).paths, ["src", "web"]);
  assertEquals(read([]).paths, []);
  assertEquals([read([]).ignoring, read(["--ignoring"]).ignoring], [false, true]);
  assertThrows(() => read(["--filter"]), Error, "--filter needs a text");
  assertEquals([read([]).all, read(["--all"]).all], [false, true]);
  assertEquals([read([]).shard, read(["--shard", "2/4"]).shard], [[1, 1], [2, 4]]);
  assertEquals(read(["--shard=4/4"]).shard, [4, 4]);
  for (const shard of ["5/4", "0/4", "2", "x"]) {
    assertThrows(() => read([`--shard=${shard}`]), Error, `--shard is "${shard}"`);
  }
});

Deno.test("the environment sets how many files run at once, for how long, and whether flaky ones fail", () => {
  assertEquals(read([]).jobs, 6);
  assertEquals(read([], { DENO_JOBS: "7" }).jobs, 7);
  assertThrows(() => read([], { DENO_JOBS: "0" }), Error, 'DENO_JOBS is "0"');
  assertEquals(read([], { TEST_MINUTES: "0.5" }).limit_ms, 30_000);
  assertThrows(() => read([], { TEST_MINUTES: "none" }), Error, 'TEST_MINUTES is "none"');
  assertEquals(read([]).strict, false);
  assertEquals(read([], { FLAKY: "fail" }).strict, true);
  assertThrows(() => read([], { FLAKY: "yes" }), Error, 'FLAKY is "yes"');
});
