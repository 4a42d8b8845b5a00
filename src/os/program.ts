/** Running the system's own programs, such as `systemctl`, to their end. */

import { findOwn } from "./own_programs.ts";

/** What a program did. */
export interface ProgramResult {
  success: boolean;
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs a program and collects what it prints, without the white space around it.
 *
 * @param writable real paths of the directories that sessions can write: nothing is run from there.
 * @param timeout_ms after which it is killed, and counts as failed.
 * @returns undefined when there is no program of that name that may be run.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  writable: readonly string[],
  timeout_ms = 10_000,
): Promise<ProgramResult | undefined> {
  const found = findOwn(program, Deno.env.get("PATH"), writable);
  if (found === undefined) return undefined;
  try {
    const { success, code, stdout, stderr } = await new Deno.Command(found.cmd, {
      args: [...args],
      env: { PATH: found.path },
      cwd: "/",
      stdin: "null",
      signal: AbortSignal.timeout(timeout_ms),
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    return { success, code, stdout: text(stdout), stderr: text(stderr) };
  } catch (error) {
    const absent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.PermissionDenied;
    if (absent) return undefined;
    throw error;
  }
}
