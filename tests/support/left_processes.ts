/** The processes that a place has left (Linux). */
import { until } from "./scripted.ts";

/** Waits for the processes of a place to end. @returns the command lines of those that have not. */
export async function leftProcesses(dir: string, timeout_ms = 5_000): Promise<string[]> {
  await until(() => processesOf(dir).length === 0, "no process", timeout_ms).catch(() => {});
  return processesOf(dir);
}

/** The command lines of processes that have a path in their arguments, environment or directory. */
function processesOf(dir: string): string[] {
  const found: string[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) continue;
    try {
      const line = Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
      const env = Deno.readTextFileSync(`/proc/${name}/environ`);
      const cwd = Deno.readLinkSync(`/proc/${name}/cwd`);
      const state = Deno.readTextFileSync(`/proc/${name}/stat`).match(/\) (\S)/)?.[1];
      const has = [line, env, cwd].some((it) => it.includes(dir));
      // What keeps a daemon's port outlives it.
      if (has && state !== "Z" && !line.includes("svc-port")) found.push(line);
    } catch {
      // Gone meanwhile.
    }
  }
  return found;
}
