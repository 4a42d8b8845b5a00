/** Running the system's own programs, such as `systemctl`, to their end. */

import { findOwn } from "./own_programs.ts";
import { guardedShell, signalGroup } from "./process_tree.ts";
import { startProgram } from "./start.ts";

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
  // Also if svc is killed, it must not stay: what it reads may never come, such as from a pipe.
  const [cmd, ...first] = POSIX
    ? ["/bin/sh", ...guardedShell({ merged: false, below: false }), found.cmd]
    : [found.cmd];
  let child: Deno.ChildProcess;
  try {
    child = startProgram(program, cmd, {
      args: [...first, ...args],
      env: { PATH: found.path },
      cwd: "/",
      stdin: POSIX ? "piped" : "null",
      stdout: "piped",
      stderr: "piped",
      detached: POSIX,
    });
  } catch (error) {
    const absent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.PermissionDenied;
    if (absent) return undefined;
    throw error;
  }
  const end = () => signalGroup(child.pid, "SIGKILL");
  const late = setTimeout(end, timeout_ms);
  try {
    const { success, code, stdout, stderr } = await child.output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    return { success, code, stdout: text(stdout), stderr: text(stderr) };
  } finally {
    clearTimeout(late);
    if (POSIX) {
      end();
      await child.stdin.abort().catch(() => {});
    }
  }
}

const POSIX = Deno.build.os !== "windows";
