/**
 * Ending a program with everything that it started. The program leads a process group of its own
 * (`detached`); what left the group is found by its parents, on Linux, and told from a process that
 * has got its id since by its start time. On Windows a job object takes the place of the group.
 */
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
      below "$child"
      since=$(start "$child") && echo "$child:$since"
    done
  done
)
end() (
  for each in "$@"; do
    [ "$(start "\${each%:*}")" = "\${each#*:}" ] && kill -s KILL "\${each%:*}"
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
end $found`;

const POSIX = Deno.build.os !== "windows";

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
  if (descendants.length === 0) return;
  await shell(END, [...descendants], "null").output();
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
  const guard = new Deno.Command("/bin/sh", {
    args: ["-c", GUARD, "sh", String(pid)],
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    stdin: "piped",
    stdout: "null",
    stderr: "null",
    // A terminal's Ctrl-C goes to the group of this process, and the guard is to outlive it.
    detached: true,
  }).spawn();
  return async () => {
    signalGroup(guard.pid, "SIGKILL");
    await guard.status;
    await guard.stdin.abort().catch(() => {});
  };
}

function shell(script: string, args: string[], stdout: "piped" | "null"): Deno.Command {
  return new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", ...args],
    clearEnv: true,
    cwd: "/",
    stdin: "null",
    stdout,
    stderr: "null",
  });
}
