/** The test command, with test files that are made for it in a temporary directory. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { dirname, fromFileUrl, join } from "@std/path";
import { toText } from "@std/streams";
import { byReason } from "./runner/ignored.ts";
import { granted } from "./support/permissions.ts";
import { gone } from "./support/svc.ts";

const root = dirname(dirname(fromFileUrl(import.meta.url)));
const ignore = !granted("read", "write", "run", "env");
const on_linux = Deno.build.os === "linux";

/** A directory with test files; removed at the end. */
class Seeded implements AsyncDisposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "svc-seeded-" });

  constructor(files: Record<string, string>) {
    for (const [name, text] of Object.entries(files)) {
      Deno.writeTextFileSync(this.path(name), text);
    }
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  /** Starts the test command for the directory. */
  start(args: readonly string[] = [], env: Record<string, string> = {}): Deno.ChildProcess {
    return new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--allow-all",
        `--config=${join(root, "deno.json")}`,
        join(root, "tests", "run.ts"),
        ...args,
        this.dir,
      ],
      env: { FLAKY: "", DENO_JOBS: "2", SVC_BIN: "", ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
  }

  /** Runs the test command for the directory to its end. */
  async run(args: readonly string[] = [], env: Record<string, string> = {}) {
    const child = this.start(args, env);
    const [output, { code }] = await Promise.all([toText(child.stdout), child.status]);
    const lines = output.trimEnd().split("\n");
    const of = (what: string) =>
      lines.filter((line) => line.startsWith(`  ${what} `))
        .map((line) => line.slice(what.length + 3).replace(this.dir, "").slice(1)).sort();
    return {
      code,
      output,
      failed: of("failed"),
      flaky: of("flaky"),
      counts: lines.at(-1)!.replace(/ in .*/, ""),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.dir, { recursive: true });
  }
}

const GOOD = `
  Deno.test("one is well", () => {});
  Deno.test("two is well", async (t) => { await t.step("a step", () => {}); });
  Deno.test({ name: "three is left out", ignore: true, fn: () => {} });
`;

/** Fails in its first run, and passes when it runs again. */
function flakyFile(marker: string): string {
  return `
    Deno.test("it passes at last", () => {
      try {
        Deno.writeTextFileSync(${JSON.stringify(marker)}, "", { createNew: true });
      } catch {
        return;
      }
      throw new Error("not the first time");
    });
    Deno.test("it always passes", () => {});
  `;
}

Deno.test({ name: "a flaky test is listed and does not fail the run", ignore }, async () => {
  await using seeded = new Seeded({ "good_test.ts": GOOD });
  Deno.writeTextFileSync(seeded.path("flaky_test.ts"), flakyFile(seeded.path("marker")));
  const { code, flaky, failed, counts, output } = await seeded.run();
  assertEquals(flaky, ["flaky_test.ts => it passes at last"]);
  assertEquals(failed, []);
  assertEquals(counts, "4 passed, 0 failed, 1 flaky, 1 not run");
  assertStringIncludes(output, "Flaky, each passed in one of two runs: 1\n");
  assertStringIncludes(output, "    Error: not the first time\n");
  assertEquals(code, 0);
});

Deno.test({ name: "FLAKY=fail fails a run with a flaky test", ignore }, async () => {
  await using seeded = new Seeded({ "good_test.ts": GOOD });
  Deno.writeTextFileSync(seeded.path("flaky_test.ts"), flakyFile(seeded.path("marker")));
  const { code, flaky, counts } = await seeded.run([], { FLAKY: "fail" });
  assertEquals(flaky, ["flaky_test.ts => it passes at last"]);
  assertEquals(counts, "3 passed, 1 failed, 1 flaky, 1 not run");
  assertEquals(code, 1);
});

Deno.test({ name: "what fails twice, or leaks, fails the run", ignore }, async () => {
  await using seeded = new Seeded({
    "good_test.ts": GOOD,
    "broken_test.ts": `
      Deno.test("it breaks", () => { throw new Error("broken for good"); });
      Deno.test("it breaks in a step", async (t) => {
        await t.step("the step", () => { throw new Error("broken step"); });
      });
      Deno.test("it > has a sign in its name", () => {});
    `,
    "leak_test.ts": `Deno.test("it leaks", () => { setTimeout(() => {}, 60_000); });`,
  });
  const { code, failed, flaky, counts, output } = await seeded.run();
  assertEquals(failed, [
    "broken_test.ts => it breaks",
    "broken_test.ts => it breaks in a step",
    "leak_test.ts => it leaks",
  ]);
  assertEquals(flaky, []);
  assertEquals(counts, "3 passed, 3 failed, 1 not run");
  assertStringIncludes(output, "    Error: broken for good\n");
  assertStringIncludes(output, "    Error: broken step\n");
  assertStringIncludes(output, "    Leaks detected:\n");
  assertStringIncludes(
    output,
    `  sh install/dev.sh test ${seeded.path("broken_test.ts")} '--filter=it breaks'\n`,
  );
  assertEquals(code, 1);
});

Deno.test({
  name: "a file that cannot be loaded fails the run, and the others are counted",
  ignore,
}, async () => {
  await using seeded = new Seeded({
    "good_test.ts": GOOD,
    "throws_test.ts": `Deno.test("never", () => {}); throw new Error("not to be loaded");`,
    "import_test.ts": `import { it } from "./missing.ts"; Deno.test("never", () => it());`,
    "syntax_test.ts": `const it = ; Deno.test("never", () => it());`,
    "leaves_test.ts": `Deno.test("never", () => {}); Deno.exit(0);`,
  });
  const { code, failed, counts, output } = await seeded.run();
  assertEquals(failed, ["import_test.ts", "leaves_test.ts", "syntax_test.ts", "throws_test.ts"]);
  assertEquals(counts, "2 passed, 4 failed, 1 not run");
  assertStringIncludes(output, "it cannot be loaded\n");
  assertStringIncludes(output, "Error: not to be loaded\n");
  assertStringIncludes(output, "Module not found");
  assertEquals(code, 1);
});

Deno.test({
  name: "files that may only read share a process, and each has its own tests",
  ignore,
}, async () => {
  const seen = (here: string, before: string) => `
    const seen = globalThis.seen ??= [];
    Deno.test("it comes after ${before}", () => {
      if (seen.join() !== "${before}") throw new Error("after " + seen.join());
      seen.push("${here}");
    });
  `;
  await using seeded = new Seeded({
    "a_test.ts": seen("a", ""),
    "b_test.ts": seen("b", "a"),
    "c_test.ts": GOOD,
    "d_test.ts": `Deno.test("it breaks", () => { throw new Error("broken for good"); });`,
    "e_test.ts": `Deno.test.beforeAll(() => {});\n${seen("e", "")}`,
  });
  const { code, failed, flaky, counts, output } = await seeded.run(["--allow-read"]);
  assertEquals({ failed, flaky }, { failed: ["d_test.ts => it breaks"], flaky: [] });
  assertEquals(counts, "5 passed, 1 failed, 1 not run");
  assertStringIncludes(output, "    Error: broken for good\n");
  assertEquals(code, 1);
});

Deno.test({
  name: "where one of them cannot be loaded, or ends their process, each runs alone",
  ignore,
}, async () => {
  for (const broken of ['throw new Error("not to be loaded");', "Deno.exit(0);"]) {
    await using seeded = new Seeded({ "a_test.ts": GOOD, "b_test.ts": broken, "c_test.ts": GOOD });
    const { code, failed, counts } = await seeded.run(["--allow-read"]);
    assertEquals({ code, failed }, { code: 1, failed: ["b_test.ts"] });
    assertEquals(counts, "4 passed, 1 failed, 2 not run");
  }
});

Deno.test({
  name: "a process that dies fails its file alone, and the run tells which test it was",
  ignore,
}, async () => {
  const three = (second: string) => `
    Deno.test("one", () => {});
    Deno.test({ name: "two", sanitizeExit: false, fn: async () => { ${second} } });
    Deno.test("three", () => {});
  `;
  await using seeded = new Seeded({
    "good_test.ts": GOOD,
    "exits_test.ts": three("Deno.exit(0);"),
    "killed_test.ts": three(`
      Deno.kill(Deno.pid, "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    `),
    "uncaught_test.ts": three(`
      setTimeout(() => { throw new Error("late"); });
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    `),
  });
  const { code, failed, counts, output } = await seeded.run();
  assertEquals(failed, [
    "exits_test.ts",
    "killed_test.ts",
    "uncaught_test.ts",
    "uncaught_test.ts => three",
    "uncaught_test.ts => two",
  ]);
  // A process may end before it has printed how far it is.
  assertMatch(counts, /^[3-5] passed, 5 failed, 1 not run$/);
  assertMatch(
    output,
    /with code 0( during "(one|two)")?; [23] of 3 tests did not run to their end/,
  );
  if (Deno.build.os !== "windows") {
    assertMatch(output, /by SIGKILL (at once|during "(one|two)"; [23] of 3)/);
  }
  assertStringIncludes(output, "an error outside of its tests\n");
  assertEquals(code, 1);
});

Deno.test({
  name: "a file that does not end in time is ended with what it started, and has failed",
  ignore: ignore || !on_linux,
}, async () => {
  await using seeded = new Seeded({ "good_test.ts": GOOD });
  const pids = seeded.path("pids");
  Deno.writeTextFileSync(
    seeded.path("hangs_test.ts"),
    `Deno.test("it hangs", async () => {
      const child = new Deno.Command("sleep", { args: ["600"], detached: true }).spawn();
      Deno.writeTextFileSync(${JSON.stringify(pids)}, child.pid + "\\n", { append: true });
      await child.status;
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    });`,
  );
  const { code, failed, counts, output } = await seeded.run([], { TEST_MINUTES: "0.1" });
  assertEquals(failed, ["hangs_test.ts"]);
  assertEquals(counts, "2 passed, 1 failed, 1 not run");
  assertStringIncludes(output, 'it did not end within 0.1 minutes during "it hangs"');
  for (const pid of Deno.readTextFileSync(pids).trim().split("\n")) {
    assert(await gone(Number(pid)), `${pid} still runs`);
  }
  assertEquals(code, 1);
});

Deno.test({ name: "a process that died once is flaky", ignore }, async () => {
  await using seeded = new Seeded({});
  const marker = JSON.stringify(seeded.path("marker"));
  Deno.writeTextFileSync(
    seeded.path("once_test.ts"),
    `Deno.test({ name: "one", sanitizeExit: false, fn: () => {
      try {
        Deno.writeTextFileSync(${marker}, "", { createNew: true });
      } catch {
        return;
      }
      Deno.exit(0);
    } });`,
  );
  const { code, flaky, counts } = await seeded.run();
  assertEquals(flaky, ["once_test.ts"]);
  assertEquals(counts, "1 passed, 0 failed, 1 flaky");
  assertEquals(code, 0);
});

Deno.test({ name: "a filter that fits no test fails the run", ignore }, async () => {
  await using seeded = new Seeded({ "good_test.ts": GOOD });
  assertEquals((await seeded.run(["--filter", "two is"])).counts, "1 passed, 0 failed");
  const { code, counts, failed } = await seeded.run(["--filter=no such test"]);
  assertEquals({ code, counts, failed: failed.length }, {
    code: 1,
    counts: "0 passed, 1 failed",
    failed: 1,
  });
});

Deno.test({
  name: "a run that is stopped ends its tests and all they started, and says what did not run",
  ignore: ignore || !on_linux,
}, async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    await using seeded = new Seeded({ "a_good_test.ts": GOOD });
    const pids = JSON.stringify(seeded.path("pids"));
    Deno.writeTextFileSync(
      seeded.path("b_hangs_test.ts"),
      // The first sleep loses its parent, as a daemon does; the second one has it.
      `Deno.test("it hangs", async () => {
        await new Deno.Command("sh", { args: ["-c",
          "setsid sleep 600 >/dev/null 2>&1 & echo $! >$0", ${pids}] }).output();
        const child = new Deno.Command("sleep", { args: ["600"], detached: true }).spawn();
        Deno.writeTextFileSync(${pids}, Deno.pid + "\\n" + child.pid + "\\n", { append: true });
        await child.status;
        await new Promise((resolve) => setTimeout(resolve, 600_000));
      });`,
    );
    Deno.writeTextFileSync(seeded.path("c_later_test.ts"), GOOD);
    const child = seeded.start([], { DENO_JOBS: "1" });
    const output = toText(child.stdout);
    let started: number[] = [];
    for (let looks = 0; started.length < 3; looks++) {
      assert(looks < 3_000, "the seeded test has started nothing for a minute");
      await delay(20);
      const text = await Deno.readTextFile(seeded.path("pids")).catch(() => "");
      started = [...text.matchAll(/(\d+)\n/g)].map(([, pid]) => Number(pid));
    }
    child.kill(signal);
    assertEquals((await child.status).code, 130);
    for (const pid of started) assert(await gone(pid), `${pid} still runs`);
    const text = await output;
    const [, unfinished] = text.match(/the run was stopped:\n((?: {2}.*\n)+)/)!;
    assertEquals(unfinished.trim().split(/\s+/).map((it) => it.replace(seeded.dir, "")), [
      "/b_hangs_test.ts",
      "/c_later_test.ts",
    ]);
    assertStringIncludes(text, "2 passed, 0 failed, 1 not run in ");
  }
});

Deno.test({ name: "--slowest lists the slowest tests and files", ignore }, async () => {
  await using seeded = new Seeded({
    "good_test.ts": GOOD,
    "slow_test.ts":
      `Deno.test("it waits", () => new Promise((resolve) => setTimeout(resolve, 1_000)));`,
  });
  const { output } = await seeded.run(["--slowest"]);
  for (const [what, slow] of [["tests", "slow_test.ts => it waits"], ["files", "slow_test.ts"]]) {
    const [, lines] = output.match(new RegExp(`Slowest ${what}:\\n((?: .*\n)+)`))!;
    const listed = lines.trimEnd().split("\n").map((line) => line.trim().split(/ s {2}/));
    const seconds = listed.map(([it]) => Number(it));
    assertEquals(seconds, seconds.toSorted((a, b) => b - a));
    assert(listed.length >= 2, lines);
    const found = listed.find(([, name]) => name === seeded.path(slow));
    // On a busy machine the other one may take as long.
    assert(Number(found?.[0]) >= 1, lines);
  }
});

Deno.test(
  { name: "one file alone is shown as it prints, without escape codes", ignore },
  async () => {
    await using seeded = new Seeded({
      "one_test.ts": `Deno.test("it", () => console.log("heard"));`,
    });
    const { output } = await seeded.run();
    assertStringIncludes(output, "heard\n");
    assert(!output.includes("\x1b"), output);
  },
);

Deno.test("what was not run is counted by what is missing", () => {
  const ignored = ["tests/a_test.ts", "tests/a_test.ts", "tests/b_test.ts", "src/d_test.ts"]
    .concat("src/e_test.ts");
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
  assertEquals(byReason(ignored, lacking), [
    "chromium: 3",
    "flock or strace: 1",
    "for another system, user or build: 1",
  ]);
  assertEquals(byReason([], lacking), []);
});
