import process from "node:process";

/** Reports whether a process exists, even another user's. */
export function isAlive(pid: number): boolean {
  try {
    // Signal 0 only checks whether a signal could be sent.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

/** Reports whether a process has a file open (Linux); undefined if unknown. */
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
    // The file or the process is gone.
    return error instanceof Deno.errors.NotFound ? false : undefined;
  }
}

/**
 * Reports whether a process is in our process namespace, unlike commands in a sandbox or container
 * (Linux). False if it has ended or cannot be inspected.
 */
export function isInOwnNamespace(pid: number | string): boolean {
  try {
    return Deno.readLinkSync(`/proc/${pid}/ns/pid`) === Deno.readLinkSync("/proc/self/ns/pid");
  } catch {
    return false;
  }
}
