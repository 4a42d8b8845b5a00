/** Runs the system's own programs, such as `systemctl`, to their end. */

import { findOwn } from "./own_programs.ts";
import { guardedShell, signalGroup } from "./process_tree.ts";
import { startProgram } from "./start.ts";

export interface ProgramResult {
  success: boolean;
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs a program and collects its trimmed output.
 *
 * @param writable real paths that sessions can write; nothing is run from there
 * @param timeout_ms then it is killed, and counts as failed
 * @returns undefined if there is no such program that may be run
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  writable: readonly string[],
  timeout_ms = 10_000,
): Promise<ProgramResult | undefined> {
  const found = findOwn(program, Deno.env.get("PATH"), writable);
  if (found === undefined) return undefined;
  // The guard ends it even if svc is killed, as it may wait forever, for instance for a pipe.
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
