/**
 * Limits on the resources of one command. The kernel enforces them for each process; the shell that
 * starts the command sets them. No process can raise them again, because commands lack the
 * capability for it.
 */

/** The limits under `[sandbox]` in `daemon.toml`; 0 sets none. */
export interface CommandLimits {
  /** Concurrent processes and threads of one command. */
  max_processes: number;
  /** Memory of each process, in MiB. */
  max_memory_mb: number;
  /** Open files of one process. */
  max_open_files: number;
  /** Size of each written file, in MiB. */
  max_file_mb: number;
}

/**
 * The first kernel that counts the processes of a user namespace separately from the user's others.
 */
const COUNTS_NAMESPACES = [5, 14];

/** Reports whether a kernel counts the processes of each user namespace separately. */
export function countsProcesses(release: string): boolean {
  const [major, minor] = release.split(/[^0-9]/, 2).map(Number);
  const [since, and] = COUNTS_NAMESPACES;
  return major > since || (major === since && minor >= and);
}

/**
 * Returns the line of shell code that sets limits for everything after it. A limit that is already
 * lower stays.
 *
 * @param shell the program that reads the line
 * @param counted whether the command's processes are counted separately; otherwise their number is
 * not limited, because the person's other processes would count too
 */
export function limitLine(
  { max_processes, max_memory_mb, max_open_files, max_file_mb }: CommandLimits,
  { shell, counted }: { shell: string; counted: boolean },
): string {
  const bash = shell.endsWith("bash");
  const kib = 1024;
  const limits: [string, number][] = [
    ["d", max_memory_mb * kib],
    ["n", max_open_files],
    // The standard shell counts in blocks of 512 bytes.
    ["f", max_file_mb * kib * (bash ? 1 : 2)],
    [bash ? "u" : "p", counted ? max_processes : 0],
  ];
  const set = limits.filter(([, value]) => value > 0).map(([name, value]) =>
    `ulimit -${name} ${value}`
  );
  return `{ ${["ulimit -c 0", ...set].join("; ")}; } 2>/dev/null\n`;
}
