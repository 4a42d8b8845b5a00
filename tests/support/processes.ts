/** What tests do with the processes that they start. */
import { delay } from "@std/async";

/**
 * The first line that a process prints; the rest stays to be read.
 *
 * @throws {Error} when it ends without one.
 */
export async function firstLine({ stdout }: Deno.ChildProcess): Promise<string> {
  const reader = stdout.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the process ended without a line");
    text += decoder.decode(value, { stream: true });
  }
  reader.releaseLock();
  return text.split("\n")[0];
}

/** Signals a process, unless it has ended already, and waits for its end. */
export async function endProcess(
  child: Deno.ChildProcess,
  signal: Deno.Signal,
): Promise<Deno.CommandStatus> {
  try {
    child.kill(signal);
  } catch {
    // It has ended already.
  }
  return await child.status;
}

/**
 * Removes a directory in which processes may still be ending: the commands of a killed daemon are
 * killed after it, and write until then.
 *
 * @throws {Error} when something still writes into it after ten seconds
 */
export async function removeOnceStill(path: string): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      return await Deno.remove(path, { recursive: true });
    } catch (error) {
      const is_written = error instanceof Error && "code" in error && error.code === "ENOTEMPTY";
      if (!is_written || tries === 100) throw error;
      await delay(100);
    }
  }
}
