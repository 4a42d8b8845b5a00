import { assertEquals, assertRejects } from "@std/assert";
import type { CommandResult } from "../../jail/command.ts";
import type { UnitResult } from "../../jail/unit/pool.ts";
import { type CheckRunner, examineCheck, runCheck } from "./checks.ts";

const { signal } = new AbortController();

/** A runner whose file tool answers `file` and whose commands end as `command` says. */
function runner(
  { file, command = () => ({}) }: {
    file?: UnitResult;
    command?: (line: string) => Partial<CommandResult>;
  },
): CheckRunner & { lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    command(line) {
      lines.push(line);
      const result = { exit_code: 0, signal: null, output: "", truncated: false };
      return Promise.resolve({ ...result, timed_out: false, duration_ms: 1, ...command(line) });
    },
    file: () => Promise.resolve(file!),
    close() {},
  };
}

Deno.test("a command passes with exit code 0, and its result ends with how it ended", async () => {
  const check = { command: "make test" };
  const green = await runCheck(check, runner({ command: () => ({ output: "ok\n" }) }), signal);
  assertEquals([green.passed, green.output], [true, "ok\n[exit code 0]"]);
  const red = await runCheck(check, runner({ command: () => ({ exit_code: 3 }) }), signal);
  assertEquals([red.passed, red.exit_code, red.output], [false, 3, "[exit code 3]"]);
  const slow = runner({ command: () => ({ exit_code: null, timed_out: true }) });
  const { passed, output } = await runCheck(check, slow, signal);
  assertEquals([passed, output], [false, "[stopped after the time limit of 10m]"]);
});

Deno.test("a file is there, missing, or out of reach", async () => {
  const check = { file_exists: "a" };
  const found = (file: UnitResult) => runCheck(check, runner({ file }), signal);
  assertEquals((await found({ ok: true, output: "a: a file of 1 bytes" })).passed, true);
  const missing = await found({ ok: false, output: "a: no such file or directory" });
  assertEquals([missing.passed, missing.missing, missing.refused], [false, true, false]);
  const outside = await found({ ok: false, output: "a: leads outside the working directory" });
  assertEquals([outside.passed, outside.missing, outside.refused], [false, false, true]);
});

Deno.test("a content matches, does not, or cannot be looked at", async () => {
  const check = { content_match: { file: "a", pattern: "x" } };
  const found = (file: UnitResult) => runCheck(check, runner({ file }), signal);
  assertEquals((await found({ ok: true, output: "a:1: x" })).passed, true);
  const none = await found({ ok: true, output: "[no match]" });
  assertEquals([none.passed, none.refused], [false, false]);
  const large = await found({ ok: true, output: "[no match]\n[skipped, over 5 MiB: a]" });
  assertEquals([large.passed, large.refused], [false, true]);
  const missing = await found({ ok: false, output: "a: no such file or directory" });
  assertEquals([missing.passed, missing.missing], [false, true]);
});

Deno.test("what has no check is no check's to carry out", async () => {
  await assertRejects(() => runCheck({}, runner({}), signal), Error, "has no check");
});

Deno.test("a command is looked at before it runs: its syntax, and whether its program is there", async () => {
  const fine = runner({});
  assertEquals(await examineCheck({ command: "it's fine" }, fine, signal), undefined);
  assertEquals(fine.lines, [`"$SHELL" -n -c 'it'\\''s fine'`]);
  const path = runner({});
  assertEquals(await examineCheck({ command: "./run.sh" }, path, signal), undefined);
  assertEquals(path.lines.length, 1, "a script of the project is looked for by running it");

  const unreadable = runner({ command: () => ({ exit_code: 2, output: "syntax error" }) });
  assertEquals((await examineCheck({ command: "(" }, unreadable, signal))?.exit_code, 2);
  const missing = runner({
    command: (line) => ({ exit_code: line.startsWith("command") ? 1 : 0 }),
  });
  const found = await examineCheck({ command: "gradle test" }, missing, signal);
  assertEquals([found?.exit_code, found?.output], [127, "gradle: command not found"]);
  assertEquals(await examineCheck({ file_exists: "a" }, missing, signal), undefined);
});
