/** Compares versions (Semantic Versioning 2.0.0), and asks programs for theirs. */
import { compare, tryParse } from "@std/semver";
import { runProgram } from "../../os/program.ts";

const ANSWER_MS = 30_000;

/**
 * Compares two versions by precedence, without build metadata.
 * @returns negative when `a` is older, positive when newer; an invalid version is older than any
 * valid one
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [tryParse(a), tryParse(b)];
  if (left === undefined || right === undefined) {
    return Number(left !== undefined) - Number(right !== undefined);
  }
  return compare(left, right);
}

/** Asks a program for its version, `<version>+<revision>`; undefined if it fails to answer. */
export async function versionOf(path: string): Promise<string | undefined> {
  const said = await runProgram(path, ["--version"], [], ANSWER_MS).catch(() => undefined);
  return said?.success ? said.stdout.match(/^svc (\S+)/)?.[1] : undefined;
}
