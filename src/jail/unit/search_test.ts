import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { testUnit } from "../../../tests/support/rooted.ts";
import type { OpContext } from "./files.ts";
import { Pace, within } from "./pace.ts";
import { UnitArgs, UnitError } from "./protocol.ts";
import { glob, grep } from "./search.ts";

/** Declares a test in a workdir with these files; `.svc` and `other` are hidden. */
function test(
  name: string,
  files: Record<string, string>,
  run: (context: OpContext, workdir: string) => unknown,
): void {
  testUnit(name, run, { files, hidden: [".svc", "other"] });
}

const args = (values: unknown) => new UnitArgs(values);

const PROJECT = {
  "a.ts": "const a = 1;\n",
  "a/z.ts": "import a\r\nconst Z = 2;\r\n",
  "a/deep/er.ts": "const er = 3;\n",
  "readme.md": "const is a word\n",
  ".github/ci.yml": "on: push\n",
  ".git/config": "const hidden\n",
  ".svc/journal": "const hidden\n",
  "other/secret.ts": "const hidden\n",
  ".gitignore": "node_modules/\n*.log\n!keep.log\n/dist\n",
  "node_modules/x/index.ts": "const x = 4;\n",
  "debug.log": "const debug\n",
  "keep.log": "const keep\n",
  "dist/out.ts": "const out\n",
  "a/dist/in.ts": "const inner\n",
  "a/.gitignore": "deep/\n!debug.log\n",
  "a/debug.log": "const unignored\n",
};

test("glob finds files by path, without ignored and hidden ones", PROJECT, async (c) => {
  assertEquals(await glob(c, args({ pattern: "**/*.ts" })), "a.ts\na/dist/in.ts\na/z.ts");
  assertEquals(await glob(c, args({ pattern: "*.{ts,md}" })), "a.ts\nreadme.md");
  assertEquals(await glob(c, args({ pattern: "*.ts", path: "a" })), "a/z.ts");
  assertEquals(await glob(c, args({ pattern: "**/*.log" })), "a/debug.log\nkeep.log");
  assertEquals(await glob(c, args({ pattern: ".github/**" })), ".github/ci.yml");
  assertEquals(
    await glob(c, args({ pattern: "**/{journal,secret.ts,config}" })),
    "[no file matches]",
  );
  assertStringIncludes(await glob(c, args({ pattern: "er.ts" })), `"**/er.ts"`);
});

test("glob searches an ignored directory that is named", PROJECT, async (c) => {
  assertEquals(
    await glob(c, args({ pattern: "**", path: "node_modules" })),
    "node_modules/x/index.ts",
  );
});

test("glob and grep do not leave the workdir", PROJECT, async (c, workdir) => {
  await Deno.symlink("/etc", `${workdir}/etc`);
  await Deno.symlink(".", `${workdir}/again`);
  await Deno.symlink("a.ts", `${workdir}/link.ts`);
  assertEquals(await glob(c, args({ pattern: "*.ts" })), "a.ts\nlink.ts");
  assertEquals(await glob(c, args({ pattern: "{etc,again}/**" })), "[no file matches]");
  assertEquals(await glob(c, args({ pattern: `${workdir}/*.md` })), "readme.md");
  for (const values of [{ pattern: "/etc/*" }, { pattern: "../*" }]) {
    await assertRejects(() => glob(c, args(values)), Error, "outside the working directory");
  }
  for (const path of ["etc", "..", "/etc/passwd"]) {
    await assertRejects(() => grep(c, args({ pattern: "root", path })), Error, "outside");
  }
  await assertRejects(() => grep(c, args({ pattern: "x", path: ".svc" })), Error, "not accessible");
});

test("grep gives path, line and text", PROJECT, async (c) => {
  const found = (await grep(c, args({ pattern: "^const" }))).split("\n");
  assertEquals(found, [
    "a.ts:1: const a = 1;",
    "a/debug.log:1: const unignored",
    "a/dist/in.ts:1: const inner",
    "a/z.ts:2: const Z = 2;",
    "keep.log:1: const keep",
    "readme.md:1: const is a word",
  ]);
  assertEquals(
    await grep(c, args({ pattern: "z", path: "a", ignore_case: true })),
    [
      "a/z.ts:2: const Z = 2;",
    ].join("\n"),
  );
  assertEquals(
    await grep(c, args({ pattern: "const", include: "*.md" })),
    "readme.md:1: const is a word",
  );
  assertEquals(
    await grep(c, args({ pattern: "debug", path: "debug.log" })),
    "debug.log:1: const debug",
  );
  assertEquals(await grep(c, args({ pattern: "nowhere" })), "[no match]");
  assertStringIncludes(
    await grep(c, args({ pattern: "const", limit: 2 })),
    "[stopped at 2 matches]",
  );
});

test("grep takes escapes with and without Unicode mode", { "f": "a-b é\n" }, async (c) => {
  assertEquals(await grep(c, args({ pattern: "a\\-b" })), "f:1: a-b é");
  assertEquals(await grep(c, args({ pattern: "\\p{L}-" })), "f:1: a-b é");
  await assertRejects(() => grep(c, args({ pattern: "(" })), UnitError, "regular expression");
});

test("grep skips binary and large files and cuts long lines", {
  "binary": "const\0",
  "large": "const\n" + "x".repeat(5 * 1024 * 1024),
  "wide": "const" + "y".repeat(1000),
  "middle": "z\n".repeat(100_000) + "const\n",
}, async (c) => {
  const lines = (await grep(c, args({ pattern: "const" }))).split("\n");
  assertEquals(lines.length, 3);
  assertEquals(lines[0], "middle:100001: const");
  assertEquals(lines[1], `wide:1: const${"y".repeat(495)}…`);
  assertEquals(lines[2], "[skipped, over 5 MiB: large]");
});

test("grep gives up on a pattern that backtracks without end", {
  "f": "a".repeat(60) + "!\n",
}, async (c) => {
  await assertRejects(
    () => grep(c, args({ pattern: "^(a+)+$" })),
    UnitError,
    "takes too long on f",
  );
  assertEquals((await grep(c, args({ pattern: "a!" }))).startsWith("f:1: "), true);
});

test("a cancelled search ends", PROJECT, async (context) => {
  const pace = new Pace(AbortSignal.abort());
  const busy = performance.now() + 15;
  while (performance.now() < busy);
  await assertRejects(
    () => grep({ ...context, pace }, args({ pattern: "x" })),
    UnitError,
    "cancelled",
  );
});

Deno.test("within passes results and errors through, and interrupts", () => {
  assertEquals(within(60_000, () => 7), 7);
  let thrown: unknown;
  try {
    within(60_000, () => {
      throw new TypeError("mine");
    });
  } catch (error) {
    thrown = error;
  }
  assert(thrown instanceof TypeError);
  assertEquals(
    within(50, () => {
      for (;;);
    }),
    undefined,
  );
});
