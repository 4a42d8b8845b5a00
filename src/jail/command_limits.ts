/**
 * What one command may take of the machine: the limits that the kernel keeps for each process, set by
 * the shell that starts the command anyway. No process raises them again: a command has no
 * capabilities that let it.
 */

/** As `daemon.toml` has them under `[sandbox]`; 0 sets none. */
export interface CommandLimits {
  /** Processes and threads of one command at once. */
  max_processes: number;
  /** Memory of each process, in MiB. */
  max_memory_mb: number;
  /** Open files of each process. */
  max_open_files: number;
  /** Size of each file that is written, in MiB. */
  max_file_mb: number;
}

/** Since then the kernel counts the processes of a user namespace apart from all others of its user. */
const COUNTS_NAMESPACES = [5, 14];

/** Whether a kernel counts the processes of each user namespace apart. */
export function countsProcesses(release: string): boolean {
  const [major, minor] = release.split(/[^0-9]/, 2).map(Number);
  const [since, and] = COUNTS_NAMESPACES;
  return major > since || (major === since && minor >= and);
}

/**
 * The line of shell that sets limits for what follows it. One that is lower already stays.
 *
 * @param shell the program that reads the line
 * @param counted whether the command's processes are counted apart; else they stay unbounded, for
 *   what else the person runs would count, too
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
    // The standard's shell counts in blocks of 512 bytes.
    ["f", max_file_mb * kib * (bash ? 1 : 2)],
    [bash ? "u" : "p", counted ? max_processes : 0],
  ];
  const set = limits.filter(([, value]) => value > 0).map(([name, value]) =>
    `ulimit -${name} ${value}`
  );
  return `{ ${["ulimit -c 0", ...set].join("; ")}; } 2>/dev/null\n`;
}
