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
