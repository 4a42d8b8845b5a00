/**
 * Ends a program with everything it started. The program leads a process group (`detached`). On
 * Linux, processes that left the group are found through their parents; start times detect reused
 * ids. On Windows a job object replaces the group.
 */
import { shellQuote } from "../base/shell_quote.ts";
import { startProgram } from "./start.ts";
import { killJob, openJob } from "./windows/job.ts";

/** In a shell, because Deno reads /proc only with all permissions. */
const FUNCTIONS = `
# The program's own PATH may lead to what a session wrote.
rest() (
  PATH=/usr/bin:/bin
  sleep "$1"
)
start() (
  read -r stat <"/proc/$1/stat" || exit 1
  # What has ended stays listed until its parent asks for it.
  case \${stat##*) } in Z*) exit 1 ;; esac
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
/**
 * Ends all below a stopped process, also what is started meanwhile.
 *
 * With `reaps`, the kernel gives it what its descendants leave behind. So it is enough to kill its
 * own children, again and again, and to start nothing meanwhile: a program that forks and exits is
 * no faster. Nobody reaps them, so their numbers stay theirs. Otherwise all must be found at once.
 */
const END_BELOW = `
end_below() (
  rounds=0
  clean=0
  while [ "$reaps" ] && [ "$rounds" -lt 3000 ] && [ "$clean" -lt 2 ]; do
    children=
    read -r children <"/proc/$1/task/$1/children"
    clean=$((clean + 1))
    for child in $children; do
      [ "$child" = "$self" ] && continue
      stat=
      { read -r stat <"/proc/$child/stat"; } 2>/dev/null
      case \${stat##*) } in Z* | X* | "") continue ;; esac
      kill -s KILL "$child"
      clean=0
    done
    rounds=$((rounds + 1))
    # What waits for a disk takes a while.
    [ "$rounds" -lt 2000 ] || rest 0.01
  done
  while [ ! "$reaps" ] && [ "$rounds" -lt 200 ]; do
    found=$(below "$1")
    [ "$found" ] || break
    # Like this, none of them says that another was killed.
    end STOP $found
    end KILL $found
    rounds=$((rounds + 1))
  done
)
`;
const LIST = `${FUNCTIONS}below "$1"`;
const END = `${FUNCTIONS}end "$@"`;
/** Asks those that left a group: the rest of it has been asked, and may take a second time as "at once". */
const ASK = `${FUNCTIONS}
group=$1
shift
for each in "$@"; do
  stat=
  read -r stat <"/proc/\${each%:*}/stat" || continue
  set -- \${stat##*) }
  [ "$3" = "$group" ] || end TERM "$each"
done`;
/** Waits for the end of its input, when its starter ends. */
const GUARD = `${FUNCTIONS}
read -r nothing
found=$(below "$1")
rest 1
kill -s KILL -- "-$1"
end KILL $found`;

/**
 * Starts its arguments as a program, with a guard that kills it and all it starts when standard
 * input ends: when the process with the pipe's other end is gone. In the program's group, the guard
 * keeps the group's number from being reused. It ignores the signals that ask the group to end, and
 * holds none of the program's pipes open. It stops the program first, so that nothing new starts
 * during the search; for bubblewrap that is a child of the shell.
 */
const GUARDED = `${FUNCTIONS}${END_BELOW}
exec 3<&0 </dev/null
{
  trap '' TERM INT HUP
  read -r nothing <&3
  while [ "$lasts" -gt 0 ] && kill -s 0 "$$"; do
    rest 1
    lasts=$((lasts - 1))
  done
  kill -s STOP "$$"
  read -r self rest </proc/self/stat
  read -r children <"/proc/$$/task/$$/children"
  for child in $children; do
    [ "$child" = "$self" ] || kill -s STOP "$child"
  done
  end_below "$$"
  kill -s KILL -- "-$$"
} >/dev/null 2>&1 &
exec 3<&-
`;

/**
 * Ends what a program has left behind: the guard's shell is its parent now. The signals that ask
 * the group to end must not end this shell before the program.
 */
const REAPING = `guard=$!
trap : TERM INT HUP
reap() {
  rounds=0
  while [ "$rounds" -lt 200 ]; do
    children=
    read -r children <"/proc/$$/task/$$/children"
    found=
    for child in $children; do
      [ "$child" = "$guard" ] && continue
      { read -r stat <"/proc/$child/stat"; } || continue
      # What has ended stays listed until this shell ends.
      case \${stat##*) } in Z*) continue ;; esac
      found="$found $child"
    done
    [ "$found" ] || break
    kill -s KILL $found
    # They are gone in a moment, and what they started is listed then.
    [ "$rounds" -lt 20 ] || rest 0.01
    rounds=$((rounds + 1))
  done
}
`;

const POSIX = Deno.build.os !== "windows";

export interface GuardOptions {
  /** Whether standard error goes to standard output. */
  merged: boolean;
  /**
   * Whether the shell stays as its parent. bubblewrap ends at once with its parent and would leave
   * unfinished work, so this parent outlives the daemon.
   */
  below: boolean;
  /** Seconds it may go on after this process is gone. Default: 0. */
  lasts_s?: number;
  /** Whether the first argument is a descriptor's number for its standard input. */
  input?: boolean;
  /** Whether the kernel gives it what the program leaves behind, which it then ends. */
  reaps?: boolean;
  /** A control group's file: the program is in it from its first instruction. */
  group?: string;
}

/**
 * Returns the first arguments of `/bin/sh` for a program that ends with this process, or a while
 * after it; the program and its arguments follow. Start it as a group leader with a pipe as
 * standard input, and keep the pipe open until the group has been killed. The program reads
 * nothing, unless it has an `input`.
 */
export function guardedShell(
  { merged, below, lasts_s = 0, input = false, reaps = false, group }: GuardOptions,
): string[] {
  const program = `"$@"${merged ? " 2>&1" : ""}`;
  // dash takes no two-digit descriptor in a redirection.
  const joins = group === undefined ? "" : `echo 0 >${shellQuote(group)}\n`;
  const reads = input ? 'exec <"/dev/fd/$1"\nshift\n' : "";
  const runs = reaps
    ? `${REAPING}${program}\ncode=$?\nreap 2>/dev/null\nexit "$code"`
    : below
    ? `${program}; exit "$?"`
    : `exec ${program}`;
  return [
    "-c",
    `lasts=${lasts_s} reaps=${reaps ? "yes" : ""}\n${GUARDED}${joins}${reads}${runs}`,
    "sh",
  ];
}

/** Processes below another at one time. */
export type Descendants = readonly string[];

/** Returns all processes below a living one; empty if unknown. */
export async function descendantsOf(pid: number): Promise<Descendants> {
  if (Deno.build.os !== "linux") return [];
  const { stdout } = await startShell(LIST, [String(pid)], "piped").output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

/**
 * Prepares to end a just started program with all it starts: on Windows, puts it into a job object.
 * What it started before is not in it.
 *
 * @returns what releases the job after the program's end, and kills the rest
 */
export function groupTree(pid: number): () => void {
  const closeJob = POSIX ? undefined : openJob(pid);
  return closeJob ?? (() => {});
}

/** Kills the process group of `pid`, and the `descendants` that left it. */
export async function killTree(pid: number, descendants: Descendants): Promise<void> {
  if (!POSIX && killJob(pid)) return;
  signalGroup(pid, "SIGKILL");
  if (descendants.length > 0) await startShell(END, ["KILL", ...descendants]).status;
}

/**
 * Kills all that is below a process which the kernel gives what its descendants leave behind. That
 * process is stopped: a shell would say that its program was killed.
 */
export async function endBelow(pid: number): Promise<void> {
  if (Deno.build.os !== "linux") return;
  const script = `${FUNCTIONS}${END_BELOW}reaps=yes\nkill -s STOP "$1"\nend_below "$1"`;
  await startShell(script, [String(pid)]).status;
}

/** Sends SIGTERM once to the process group of `pid`, and to those `descendants` that left it. */
export async function askTree(pid: number, descendants: Descendants): Promise<void> {
  signalGroup(pid, "SIGTERM");
  if (descendants.length > 0) await startShell(ASK, [String(pid), ...descendants]).status;
}

/** Signals the process group of `pid`; ignores a missing one. */
export function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    Deno.kill(POSIX ? -pid : pid, signal);
  } catch (error) {
    // macOS answers "not permitted" for a group of zombies.
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied)) {
      throw error;
    }
  }
}

/**
 * Starts a guard that kills the tree of `pid` a second after this process is gone.
 *
 * @returns what ends the guard, to be called once the tree is gone
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
    // The guard must survive a terminal's Ctrl-C, which goes to our group.
    detached: true,
  });
  return async () => {
    signalGroup(guard.pid, "SIGKILL");
    await guard.status;
    await guard.stdin.abort().catch(() => {});
  };
}

/** Starts a shell without environment that runs a script. */
export function startShell(
  script: string,
  args: string[],
  stdout: "piped" | "null" = "null",
): Deno.ChildProcess {
  return startProgram("a shell", "/bin/sh", {
    args: ["-c", script, "sh", ...args],
    clearEnv: true,
    cwd: "/",
    stdin: "null",
    stdout,
    stderr: "null",
  });
}
