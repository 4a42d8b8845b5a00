/**
 * Limits on the resources of commands. The kernel enforces some of them for each process; the shell
 * that starts the command sets them. No process can raise them again, because commands lack the
 * capability for it. What holds for the commands of a session together is in `session_limits.ts`.
 */

/** The limits under `[sandbox]` in `daemon.toml`; 0 sets none. */
export interface CommandLimits {
  /** Concurrent processes of a session's commands together. */
  max_processes: number;
  /** Memory of a session's commands together, in MiB; unset: half of the machine's. */
  max_memory_mb?: number;
  /** Open files of one process. */
  max_open_files: number;
  /** Size of each written file, in MiB. */
  max_file_mb: number;
  /** Size of a session's `/tmp`, in MiB. */
  max_tmp_mb: number;
  /** Size of the caches of a session's working directory, in MiB. */
  max_cache_mb: number;
}

/**
 * How many processes and threads a command may have for each of its processes. The kernel counts
 * both as one: a browser or a compiler with a few processes has hundreds of threads.
 */
export const TASKS_EACH = 8;

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

/** Returns the processes and threads that one command may have; 0 for no limit. */
export function taskLimit({ max_processes }: Pick<CommandLimits, "max_processes">): number {
  return max_processes * TASKS_EACH;
}

/**
 * Returns the memory of a session's commands together, in MiB; 0 for no limit.
 *
 * @param machine_mb the machine's memory; 0 when it is unknown
 */
export function memoryLimit(
  { max_memory_mb }: Pick<CommandLimits, "max_memory_mb">,
  machine_mb: number,
): number {
  return max_memory_mb ?? Math.floor(machine_mb / 2);
}

/** Has the kernel end commands rather than the daemon when the machine runs out of memory. */
const FIRST_TO_GO = "echo 800 >/proc/self/oom_score_adj";

/**
 * Returns the line of shell code that sets limits for everything after it. A limit that is already
 * lower stays. The default of the memory sets none here, because the kernel would count what a
 * process only reserves: programs with an address sanitizer reserve terabytes.
 *
 * @param shell the program that reads the line
 * @param counted whether the command's processes are counted separately; otherwise their number is
 * not limited, because the person's other processes would count too
 */
export function limitLine(
  limits: Pick<
    CommandLimits,
    "max_processes" | "max_memory_mb" | "max_open_files" | "max_file_mb"
  >,
  { shell, counted }: { shell: string; counted: boolean },
): string {
  const { max_memory_mb = 0, max_open_files, max_file_mb } = limits;
  const bash = shell.endsWith("bash");
  const kib = 1024;
  const each: [string, number][] = [
    ["d", max_memory_mb * kib],
    ["n", max_open_files],
    // The standard shell counts in blocks of 512 bytes.
    ["f", max_file_mb * kib * (bash ? 1 : 2)],
    [bash ? "u" : "p", counted ? taskLimit(limits) : 0],
  ];
  const set = each.filter(([, value]) => value > 0).map(([name, value]) =>
    `ulimit -${name} ${value}`
  );
  return `{ ${["ulimit -c 0", ...set, FIRST_TO_GO].join("; ")}; } 2>/dev/null\n`;
}

/** What programs say at a limit of the kernel's, and what to tell of that. */
const REFUSED: readonly [RegExp, (limits: CommandLimits) => string | undefined][] = [
  [
    /Resource temporarily unavailable|can't start new thread|EAGAIN|Cannot fork/i,
    (limits) =>
      limits.max_processes > 0
        ? `a command may have ${taskLimit(limits)} processes and threads: ${TASKS_EACH} for each ` +
          `process of max_processes under [sandbox] in daemon.toml`
        : undefined,
  ],
  [
    /MemoryError|Cannot allocate memory|out of memory|ENOMEM|bad_alloc/i,
    ({ max_memory_mb = 0 }) =>
      max_memory_mb > 0
        ? `a session's commands may have ${max_memory_mb} MB of memory: max_memory_mb under ` +
          "[sandbox] in daemon.toml"
        : undefined,
  ],
];

/** Returns notes on limits that a command which failed may have met, by what it wrote. */
export function refusedByLimits(output: string, limits: CommandLimits | undefined): string[] {
  if (limits === undefined) return [];
  return REFUSED.flatMap(([says, note]) => {
    const text = says.test(output) ? note(limits) : undefined;
    return text === undefined ? [] : [`[${text}]`];
  });
}
