import process from "node:process";

/** Whether a process of that id exists, also when it is not ours. */
export function isAlive(pid: number): boolean {
  try {
    // Signal 0 is not sent: the system only says whether it could be.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

/**
 * Whether a process has a file open (Linux).
 *
 * @returns undefined where that cannot be told.
 */
export function hasOpen(pid: number, path: string): boolean | undefined {
  try {
    const real = Deno.realPathSync(path);
    const dir = `/proc/${pid}/fd`;
    return Deno.readDirSync(dir).some(({ name }) => {
      try {
        return Deno.readLinkSync(`${dir}/${name}`) === real;
      } catch {
        // Closed meanwhile.
        return false;
      }
    });
  } catch (error) {
    // Without the file nobody has it; a process that is gone has none either.
    return error instanceof Deno.errors.NotFound ? false : undefined;
  }
}

/**
 * Whether a process is in our own process namespace: a command in a sandbox, or a program in a
 * container, is not (Linux).
 *
 * @returns false also for a process that has ended, or cannot be looked at.
 */
export function isInOwnNamespace(pid: number | string): boolean {
  try {
    return Deno.readLinkSync(`/proc/${pid}/ns/pid`) === Deno.readLinkSync("/proc/self/ns/pid");
  } catch {
    return false;
  }
}
