/** Classifies a failed check by its result alone. */
import type { CheckResult } from "./checks.ts";
import type { FailureClass } from "./mission.ts";

/** A shell's exit codes for a program that is missing, or that it may not run. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** A shell that misses or may not run a file of the project, which the tasks should have made. */
const OWN_SCRIPT = /: (?:cannot open )?(?!\/)\S+: (?:No such file|Permission denied)/;
const SHELL_SYNTAX = /^(?:\S*\/)?(?:ba|da)?sh: .*(?:syntax error|unexpected|unterminated)/im;
const NO_NETWORK = new RegExp(
  [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENETUNREACH",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
  ].join("|"),
);
const NO_RESOURCE = /ENOSPC|No space left on device|Read-only file system|Cannot allocate memory/;
const NO_PROGRAM = /\bspawn\w* \S+ ENOENT|^env: .*No such file or directory/m;
const TESTS_FAIL = new RegExp(
  [
    "\\b[1-9]\\d* (?:failed|failing|failures?)\\b",
    "\\bAssertionError\\b",
    "^(?:---\\s)?FAIL(?:ED)?\\b",
    "\\bassertion failed\\b",
    "^Traceback \\(most recent call last\\)",
    "^panic: ",
    "\\berror TS\\d+\\b",
    "^error(?:\\[E\\d+\\])?: ",
    "\\bSyntaxError\\b",
  ].join("|"),
  "m",
);

/** Returns the class of a failure, if its result decides it. */
export function classify(result: CheckResult): FailureClass | undefined {
  switch (result.kind) {
    case "command":
      return classifyCommand(result);
    case "file_exists":
      return result.refused ? "ac_bug" : "code_bug";
    case "content_match":
      if (result.refused) return "ac_bug";
      return result.missing ? "code_bug" : undefined;
    case "judged":
      // A criterion that cannot be judged never passes.
      return "code_bug";
  }
}

function classifyCommand({ exit_code, output, timed_out }: CheckResult): FailureClass | undefined {
  if (timed_out) return undefined;
  if (exit_code === NOT_FOUND || exit_code === NOT_EXECUTABLE) {
    return OWN_SCRIPT.test(output) ? "code_bug" : "environment";
  }
  if (SHELL_SYNTAX.test(output)) return "ac_bug";
  const lacking = NO_NETWORK.test(output) || NO_RESOURCE.test(output) || NO_PROGRAM.test(output);
  const tests_fail = TESTS_FAIL.test(output);
  if (lacking && tests_fail) return undefined;
  if (lacking) return "environment";
  return tests_fail ? "code_bug" : undefined;
}
