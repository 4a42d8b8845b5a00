import { messageOf, SvcError } from "../protocol/errors.ts";
import { KernelFiles } from "../os/kernel_files.ts";
import { lacksForNow } from "../os/lacks.ts";

/** For one program that does nothing, on a very busy machine. */
const PROBE_MS = 60_000;

/**
 * Tests whether bwrap can run a program.
 *
 * @returns its complaint if it cannot work on this machine
 * @throws {SvcError} unavailable, if it may work later. That must not count as a machine without
 * bubblewrap, where commands run unconfined.
 */
export async function probed(
  run: (signal: AbortSignal) => Promise<Deno.CommandOutput>,
): Promise<string | undefined> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PROBE_MS);
  let complaint: string;
  try {
    const { success, code, signal, stderr } = await run(stop.signal);
    if (success) return undefined;
    if (stop.signal.aborted) throw notNow("it does not finish");
    // The machine's own filter may end it each time.
    if (signal !== null && signal !== "SIGSYS") throw notNow(`it was ended by ${signal}`);
    // bwrap passes on how its program ended.
    if (code > SIGNALLED && code !== SIGNALLED + SIGSYS) throw notNow(`it exits with ${code}`);
    const said = new TextDecoder().decode(stderr).trim();
    if (lacksForNow(said)) throw notNow(said);
    complaint = said.split("\n", 1)[0] || `it exits with ${code}`;
  } catch (error) {
    if (error instanceof SvcError) throw error;
    complaint = messageOf(error);
  } finally {
    clearTimeout(timer);
  }
  if (lacksForNow(complaint) || areNamespacesUsed(complaint)) throw notNow(complaint);
  return complaint;
}

/** Higher exit codes are 128 + signal. */
const SIGNALLED = 128;
const SIGSYS = 31;

/** Reports whether all of a user's namespaces are in use. A limit of 0 is permanent. */
function areNamespacesUsed(complaint: string): boolean {
  if (!/namespaces exceeded/.test(complaint)) return false;
  const files = KernelFiles.open();
  try {
    return ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
      .every((kind) => files?.read(`/proc/sys/user/max_${kind}_namespaces`)?.trim() !== "0");
  } finally {
    files?.[Symbol.dispose]();
  }
}

function notNow(complaint: string): SvcError {
  return new SvcError("unavailable", `the sandbox of commands cannot start now: ${complaint}`, {
    hint: "nothing was run; try again, and see `svc doctor` if it stays so",
  });
}
