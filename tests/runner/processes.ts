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
 * Ends every process below this one, and every process that has the mark of the run.
 *
 * @returns the command lines of those processes.
 */
export async function endProcesses(mark: string): Promise<string[]> {
  const ended = new Map<number, string>();
  for (let look = 0; look < LOOKS; look++) {
    const found = await startedBy(Deno.pid, mark);
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
  /** Whether it has the mark of the run. */
  marked: boolean;
}

/** Returns the processes below one, and those with the mark, without that one. */
async function startedBy(root: number, mark: string): Promise<Process[]> {
  const all = Deno.build.os === "linux" ? linuxProcesses(mark) : await otherProcesses();
  const ours = new Set([root]);
  const found: Process[] = [];
  for (let more = true; more;) {
    more = false;
    for (const it of all) {
      if (ours.has(it.pid) || !(it.marked || ours.has(it.parent))) continue;
      ours.add(it.pid);
      found.push(it);
      more = true;
    }
  }
  return found;
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
