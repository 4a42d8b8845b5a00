/**
 * Resource limits of each process, set by the shell that starts the command. Commands lack the
 * capability to raise them. `session_limits.ts` has the limits shared by a session's commands.
 */

/** The limits under `[sandbox]` in `daemon.toml`; 0 sets none. */
export interface CommandLimits {
  /** Of all commands of a session together. */
  max_processes: number;
  /** Of all commands of a session together, in MiB. Default: half of the machine's memory. */
  max_memory_mb?: number;
  /** Of one process. */
  max_open_files: number;
  /** Size of one written file, in MiB. */
  max_file_mb: number;
  /** Size of a session's `/tmp`, in MiB. */
  max_tmp_mb: number;
  /** Size of the caches of a session's working directory, in MiB. */
  max_cache_mb: number;
}

/** Tasks per process. The kernel counts threads too, and a browser or compiler has hundreds. */
export const TASKS_EACH = 8;

/** The first kernel that counts the processes of a user namespace separately. */
const COUNTS_NAMESPACES = [5, 14];

/** Reports whether a kernel counts the processes of each user namespace separately. */
export function countsProcesses(release: string): boolean {
  const [major, minor] = release.split(/[^0-9]/, 2).map(Number);
  const [since, and] = COUNTS_NAMESPACES;
  return major > since || (major === since && minor >= and);
}

/** Returns the maximum of processes and threads for one command; 0 for no limit. */
export function taskLimit({ max_processes }: Pick<CommandLimits, "max_processes">): number {
  return max_processes * TASKS_EACH;
}

/**
 * Returns the memory limit of a session's commands together, in MiB; 0 for no limit.
 *
 * @param machine_mb 0 if unknown
 */
export function memoryLimit(
  { max_memory_mb }: Pick<CommandLimits, "max_memory_mb">,
  machine_mb: number,
): number {
  return max_memory_mb ?? Math.floor(machine_mb / 2);
}

/** Makes the kernel end commands before the daemon when the machine runs out of memory. */
const FIRST_TO_GO = "echo 800 >/proc/self/oom_score_adj";

/**
 * Returns the shell line that sets limits for everything after it. A lower existing limit stays.
 * The default memory limit sets none here, because the kernel counts reserved memory, and an
 * address sanitizer reserves terabytes.
 *
 * @param counted whether the command's processes are counted separately. If not, their number is
 * not limited, because the person's other processes would count too.
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
    // dash counts in blocks of 512 bytes.
    ["f", max_file_mb * kib * (bash ? 1 : 2)],
    [bash ? "u" : "p", counted ? taskLimit(limits) : 0],
  ];
  const set = each.filter(([, value]) => value > 0).map(([name, value]) =>
    `ulimit -${name} ${value}`
  );
  return `{ ${["ulimit -c 0", ...set, FIRST_TO_GO].join("; ")}; } 2>/dev/null\n`;
}

/** What programs print at a kernel limit, and the note for it. */
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

/** Returns notes on the limits that a failed command may have hit, judged by its output. */
export function refusedByLimits(output: string, limits: CommandLimits | undefined): string[] {
  if (limits === undefined) return [];
  return REFUSED.flatMap(([says, note]) => {
    const text = says.test(output) ? note(limits) : undefined;
    return text === undefined ? [] : [`[${text}]`];
  });
}
