/** Ends the processes that a run of the test command has started. */
import { delay } from "@std/async";
import { RUN_ENV } from "../support/run_mark.ts";

/** Number of looks: a process that is being ended may start another one. */
const LOOKS = 20;

/** Signals a process and reports whether it was there and may be signalled. */
function killed(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/**
 * Ends a process with all below it, and every process that has a mark.
 *
 * @param mark of a run, or of a file in it.
 * @param top by default this process, which goes on.
 * @returns the command lines of those processes.
 */
export async function endProcesses(mark: string, top = Deno.pid): Promise<string[]> {
  const ended = new Map<number, string>();
  for (let look = 0; look < LOOKS; look++) {
    const found = await startedBy(top, mark);
    const alive = found.filter(({ pid }) => killed(pid));
    if (alive.length === 0) break;
    for (const { pid, command } of alive) ended.set(pid, command);
    await delay(50);
  }
  return [...ended.values()];
}

/** A process of this machine. */
interface Process {
  pid: number;
  parent: number;
  command: string;
  /** Whether it has the mark. */
  marked: boolean;
}

/** Returns a process with those below it, and those with the mark; never this process. */
async function startedBy(top: number, mark: string): Promise<Process[]> {
  const all = Deno.build.os === "linux" ? linuxProcesses(mark) : await otherProcesses();
  const ours = new Set<number>();
  for (let before = -1; before < ours.size;) {
    before = ours.size;
    for (const { pid, parent, marked } of all) {
      if (pid === top || marked || ours.has(parent)) ours.add(pid);
    }
  }
  return all.filter(({ pid }) => ours.has(pid) && pid !== Deno.pid);
}

function linuxProcesses(mark: string): Process[] {
  const found: Process[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const read = (file: string) => {
      try {
        return Deno.readTextFileSync(`/proc/${name}/${file}`);
      } catch {
        // It has ended, or is another user's.
        return "";
      }
    };
    const [, state, parent] = read("stat").match(/\) (\S) (\d+)/) ?? [];
    if (state === undefined || state === "Z") continue;
    const command = read("cmdline").replaceAll("\0", " ").trim();
    const marked = read("environ").includes(`${RUN_ENV}=${mark}`);
    found.push({ pid: Number(name), parent: Number(parent), command, marked });
  }
  return found;
}

/** By `ps`, or on Windows by PowerShell; neither shows the environment. */
async function otherProcesses(): Promise<Process[]> {
  const [program, ...args] = Deno.build.os === "windows"
    ? [
      "powershell",
      "-NoProfile",
      "-Command",
      'Get-CimInstance Win32_Process | % { "$($_.ProcessId) $($_.ParentProcessId) $($_.Name)" }',
    ]
    : ["ps", "-A", "-o", "pid=,ppid=,comm="];
  const { stdout } = await new Deno.Command(program, { args, stderr: "null" }).output();
  const lines = new TextDecoder().decode(stdout).matchAll(/^\s*(\d+)\s+(\d+)\s+(.*?)\s*$/gm);
  return [...lines].map(([, pid, parent, command]) => {
    return { pid: Number(pid), parent: Number(parent), command, marked: false };
  });
}
