/**
 * Temporary files of tests in memory: each file's tests have a file system of their own, which ends
 * with their last process. Tests make and remove tens of thousands of files, and on a disk that is a
 * tenth of what they cost.
 */

/** Mounts a file system in memory at $1 that only the rest of the line sees. */
const MOUNT = 'mount -t tmpfs -o mode=1777 tmpfs "$1" && shift && exec "$@"';
/** Bytes of memory that must be free: some tests copy the binary. */
const NEEDED = 4 * 2 ** 30;

/** Returns the command line that runs another one with a directory in memory. */
export function inMemory(dir: string, line: readonly string[]): string[] {
  return ["unshare", "--mount", "sh", "-c", MOUNT, "sh", dir, ...line];
}

/**
 * Makes the directory at which each file's temporary files are mounted. Its path is short: those of
 * sockets have few characters.
 *
 * @returns undefined where they stay on the disk: TMPDIR or TEST_DISK says so, memory is short, or
 *   this user or system cannot mount.
 */
export async function memoryDirectory(): Promise<string | undefined> {
  const chosen = Deno.env.get("TMPDIR") || Deno.env.get("TEST_DISK");
  if (chosen || Deno.build.os !== "linux" || Deno.systemMemoryInfo().available < NEEDED) return;
  const dir = `/tmp/t${crypto.randomUUID().slice(0, 6)}`;
  await Deno.mkdir(dir);
  if (await holds(inMemory(dir, ["test", "-w", dir]))) return dir;
  await Deno.remove(dir);
}

/** Reports whether a command succeeds. */
async function holds([program, ...args]: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
