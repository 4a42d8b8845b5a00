/**
 * Ending a program with everything that it started. The program leads a process group of its own
 * (`detached`); what left the group is found by its parents, on Linux, and told from a process that
 * has got its id since by its start time. On Windows a job object takes the place of the group.
 */
import { shellQuote } from "../base/shell_quote.ts";
import { startProgram } from "./start.ts";
import { killJob, openJob } from "./windows/job.ts";

/** A shell looks: Deno reads nothing under /proc without all permissions. */
const FUNCTIONS = `
start() (
  read -r stat <"/proc/$1/stat" || exit 1
  set -- \${stat##*) }
  echo "\${20}"
)
below() (
  for task in "/proc/$1/task"/*/children; do
    # A process that has just ended has no such file, and what was read before must not count again.
    children=
    read -r children <"$task"
    for child in $children; do
      # A guard is below what it guards, and so are the shells that look for it.
      [ "$child" = "$self" ] && continue
      below "$child"
      since=$(start "$child") && echo "$child:$since"
    done
  done
)
end() (
  signal=$1
  shift
  for each in "$@"; do
    [ "$(start "\${each%:*}")" = "\${each#*:}" ] && kill -s "$signal" "\${each%:*}"
  done
)
`;
const LIST = `${FUNCTIONS}below "$1"`;
const END = `${FUNCTIONS}end "$@"`;
/** Waits for the end of its input, which is the end of the process that started it. */
const GUARD = `${FUNCTIONS}
read -r nothing
found=$(below "$1")
sleep 1
kill -s KILL -- "-$1"
end KILL $found`;

/**
 * Starts its arguments as a program, once there is a guard that kills it with all that it starts
 * when standard input ends: that is when the process that has the pipe's other end is gone, however
 * it went. As one of the program's group the guard keeps anybody else from getting its number. It
 * ignores the signals that ask the group to end, and holds none of the program's pipes open. The
 * program is stopped first, for what it starts while others are looked for would not be found; for
 * bubblewrap that is a child of the shell.
 */
const GUARDED = `${FUNCTIONS}
exec 3<&0 </dev/null
{
  trap '' TERM INT HUP
  read -r nothing <&3
  while [ "$lasts" -gt 0 ] && kill -s 0 "$$"; do
    sleep 1
    lasts=$((lasts - 1))
  done
  kill -s STOP "$$"
  read -r self rest </proc/self/stat
  read -r children <"/proc/$$/task/$$/children"
  for child in $children; do
    [ "$child" = "$self" ] || kill -s STOP "$child"
  done
  end KILL $(below "$$")
  kill -s KILL -- "-$$"
} >/dev/null 2>&1 &
exec 3<&-
`;

const POSIX = Deno.build.os !== "windows";

/** How {@linkcode guardedShell} starts a program. */
export interface GuardOptions {
  /** Whether its standard error goes to its standard output. */
  merged: boolean;
  /**
   * Whether the shell stays as its parent. bubblewrap ends with its parent at once, and what it has
   * begun and not finished by then would be left: with this, its parent outlives the daemon.
   */
  below: boolean;
  /** How long the program may go on after this process is gone, in seconds; by default, not at all. */
  lasts_s?: number;
  /** Whether the first argument is the number of a descriptor that is its standard input. */
  input?: boolean;
  /** A file of a control group: the program is in this group from its first instruction on. */
  group?: string;
}

/**
 * The first arguments of `/bin/sh` for a program that ends with this process, or a while after it,
 * from its first instruction on; the program and its arguments follow. Start it as the leader of a group with a
 * pipe as its standard input, and leave that open until the group has been killed. The program
 * itself reads nothing, unless it has an `input`.
 */
export function guardedShell(
  { merged, below, lasts_s = 0, input = false, group }: GuardOptions,
): string[] {
  const program = `"$@"${merged ? " 2>&1" : ""}`;
  // The standard shell takes no descriptor of two digits in a redirection.
  const joins = group === undefined ? "" : `echo 0 >${shellQuote(group)}\n`;
  const reads = input ? 'exec <"/dev/fd/$1"\nshift\n' : "";
  return [
    "-c",
    `lasts=${lasts_s}
${GUARDED}${joins}${reads}${below ? `${program}; exit "$?"` : `exec ${program}`}`,
    "sh",
  ];
}

/** What a process had started when it was looked at. */
export type Descendants = readonly string[];

/** Finds what a living process has started, and what that has; empty where it cannot be known. */
export async function descendantsOf(pid: number): Promise<Descendants> {
  if (Deno.build.os !== "linux") return [];
  const { stdout } = await shell(LIST, [String(pid)], "piped").output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

/**
 * Makes sure that a program that has just been started has something that it can be ended by with
 * all that it starts: on Windows, where nothing is a group by itself, a job object. What the program
 * started before this is not in it.
 *
 * @returns what lets go of it, to be called when the program has ended; what is left is then killed.
 */
export function groupTree(pid: number): () => void {
  const closeJob = POSIX ? undefined : openJob(pid);
  return closeJob ?? (() => {});
}

/** Kills the process group of `pid`, and those of `descendants` that have left it. */
export async function killTree(pid: number, descendants: Descendants): Promise<void> {
  if (!POSIX && killJob(pid)) return;
  signalGroup(pid, "SIGKILL");
  await signalAll(descendants, "KILL");
}

/** Asks the process group of `pid` to end, and those of `descendants` that have left it. */
export async function askTree(pid: number, descendants: Descendants): Promise<void> {
  signalGroup(pid, "SIGTERM");
  await signalAll(descendants, "TERM");
}

async function signalAll(descendants: Descendants, signal: "KILL" | "TERM"): Promise<void> {
  if (descendants.length === 0) return;
  await shell(END, [signal, ...descendants], "null").status;
}

/** Signals everything in the process group that `pid` leads; one that is gone is left so. */
export function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    Deno.kill(POSIX ? -pid : pid, signal);
  } catch (error) {
    // macOS answers "not permitted" for a group of which only zombies are left.
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied)) {
      throw error;
    }
  }
}

/**
 * Starts a guard that kills the tree of `pid` a second after this process is gone, however it went.
 *
 * @returns what ends the guard, to be called once the tree is known to be gone.
 */
export function guardTree(pid: number): () => Promise<void> {
  if (!POSIX) {
    // A job ends with the process that has it open.
    const closeJob = groupTree(pid);
    return () => Promise.resolve(closeJob());
  }
  const guard = startProgram("a guard", "/bin/sh", {
    args: ["-c", GUARD, "sh", String(pid)],
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    stdin: "piped",
    stdout: "null",
    stderr: "null",
    // A terminal's Ctrl-C goes to the group of this process, and the guard is to outlive it.
    detached: true,
  });
  return async () => {
    signalGroup(guard.pid, "SIGKILL");
    await guard.status;
    await guard.stdin.abort().catch(() => {});
  };
}

function shell(script: string, args: string[], stdout: "piped" | "null"): Deno.ChildProcess {
  return startProgram("a shell", "/bin/sh", {
    args: ["-c", script, "sh", ...args],
    clearEnv: true,
    cwd: "/",
    stdin: "null",
    stdout,
    stderr: "null",
  });
}
