import { assertEquals } from "@std/assert";
import type { CheckResult } from "./checks.ts";
import { classify } from "./classify.ts";

function command(exit_code: number | null, output: string, timed_out = false): CheckResult {
  return { kind: "command", passed: false, exit_code, output, timed_out };
}

Deno.test("a program that is missing or may not be run is the environment's fault", () => {
  assertEquals(classify(command(127, "bash: line 1: pytest: command not found")), "environment");
  assertEquals(classify(command(126, "bash: line 1: /opt/x: Permission denied")), "environment");
  assertEquals(
    classify(command(127, "bash: line 1: /opt/x: No such file or directory")),
    "environment",
  );
  assertEquals(classify(command(1, "Error: spawn tsc ENOENT")), "environment");
});

Deno.test("no network and no space are the environment's fault", () => {
  for (
    const said of [
      "npm error code EAI_AGAIN",
      "curl: (6) Could not resolve host: example.org",
      "write: No space left on device",
    ]
  ) assertEquals(classify(command(1, said)), "environment", said);
});

Deno.test("a script of the project that is missing or may not be run is the code's fault", () => {
  assertEquals(
    classify(command(127, "bash: line 1: ./run.sh: No such file or directory")),
    "code_bug",
  );
  assertEquals(classify(command(127, "sh: 0: cannot open tests/run.sh: No such file")), "code_bug");
  assertEquals(classify(command(126, "bash: line 1: ./run.sh: Permission denied")), "code_bug");
});

Deno.test("a command that no shell can read is the check's fault", () => {
  const said = "/bin/bash: -c: line 1: syntax error near unexpected token `)'";
  assertEquals(classify(command(2, said)), "ac_bug");
});

Deno.test("tests that fail and code that does not compile are the code's fault", () => {
  for (
    const said of [
      "FAILED | 3 passed | 1 failed (2s)",
      "Tests:       2 failed, 5 passed",
      "--- FAIL: TestAdd (0.00s)",
      "AssertionError: 2 != 3",
      "src/a.ts(3,1): error TS2304: Cannot find name 'x'.",
      "error[E0425]: cannot find value `x` in this scope",
      "Traceback (most recent call last):",
    ]
  ) assertEquals(classify(command(1, said)), "code_bug", said);
});

Deno.test("what says nothing is left to the model", () => {
  assertEquals(classify(command(1, "")), undefined);
  assertEquals(classify(command(1, "0 failed, 3 passed")), undefined);
  assertEquals(classify(command(null, "waiting…", true)), undefined);
  // The code's own server may be what does not answer, and its tests what fails without a network.
  assertEquals(classify(command(1, "connect ECONNREFUSED 127.0.0.1:5432")), undefined);
  assertEquals(classify(command(1, "1 failed\ngetaddrinfo EAI_AGAIN example.org")), undefined);
});

Deno.test("a missing file is the code's fault, a path that leads out is the check's", () => {
  const base = { passed: false, output: "" };
  assertEquals(classify({ ...base, kind: "file_exists", missing: true }), "code_bug");
  assertEquals(classify({ ...base, kind: "file_exists", refused: true }), "ac_bug");
  assertEquals(classify({ ...base, kind: "content_match", missing: true }), "code_bug");
  assertEquals(classify({ ...base, kind: "content_match", refused: true }), "ac_bug");
  assertEquals(classify({ ...base, kind: "content_match" }), undefined);
});

Deno.test("a judgement that went against the code, or was none, is the code's fault", () => {
  assertEquals(classify({ kind: "judged", passed: false, output: "[no verdict]" }), "code_bug");
});
