/** Which of two versions is newer (Semantic Versioning 2.0.0), and which one is installed. */
import { compare, tryParse } from "@std/semver";
import { runProgram } from "../../os/program.ts";

/** How long a program may take to tell its version. */
const ANSWER_MS = 30_000;

/**
 * Compares two versions by precedence; what follows a `+` does not count.
 *
 * @returns below 0 when `a` is older than `b`, above 0 when it is newer. One that is no version is
 * older than any that is.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [tryParse(a), tryParse(b)];
  if (left === undefined || right === undefined) {
    return Number(left !== undefined) - Number(right !== undefined);
  }
  return compare(left, right);
}

/**
 * Asks a program of ours for its version, `<version>+<revision>`.
 *
 * @returns undefined when it cannot be run or says something else.
 */
export async function versionOf(path: string): Promise<string | undefined> {
  const said = await runProgram(path, ["--version"], [], ANSWER_MS).catch(() => undefined);
  return said?.success ? said.stdout.match(/^svc (\S+)/)?.[1] : undefined;
}
