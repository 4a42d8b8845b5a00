/**
 * What the processes of a command use (Linux). Everything in a sandbox descends from the process
 * that made it, so the tree is complete there.
 */
import type { KernelFiles } from "../os/kernel_files.ts";

export interface ProcessUse {
  /** Threads are not counted. */
  pids: number[];
  /** Upper bound in bytes: counts shared memory once for each process. */
  memory_max: number;
}

export interface ProcessFiles extends Pick<KernelFiles, "read"> {
  threads(pid: number): string[];
}

/** Returns the ids of a process's threads. Each has children of its own. */
export function threadsOf(pid: number): string[] {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/task`)].map(({ name }) => name);
  } catch {
    return [];
  }
}

const KIB = 1024;
/** Memory that belongs to no file and cannot be dropped. */
const HELD = /^(?:RssAnon|RssShmem|VmSwap):\s+(\d+)/gm;
/** The same, with shared memory divided among its processes. */
const SHARED_OUT = /^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+)/gm;

/** Returns what a process and its descendants use. Stops after `most` processes. */
export function useOf(files: ProcessFiles, pid: number, most: number): ProcessUse {
  const use: ProcessUse = { pids: [], memory_max: 0 };
  const waiting = [pid];
  while (waiting.length > 0 && use.pids.length < most) {
    const next = waiting.pop()!;
    const status = files.read(`/proc/${next}/status`);
    if (status === undefined) continue;
    use.pids.push(next);
    use.memory_max += sum(status, HELD);
    const alone = /^Threads:\s+1$/m.test(status);
    for (const thread of alone ? [String(next)] : files.threads(next)) {
      const children = files.read(`/proc/${next}/task/${thread}/children`) ?? "";
      waiting.push(...(children.match(/\d+/g) ?? []).map(Number));
    }
  }
  return use;
}

/**
 * Returns the memory of these processes together, in bytes. The kernel looks at each page, so call
 * it only when {@linkcode ProcessUse.memory_max} is over the limit.
 */
export function memoryOf(files: ProcessFiles, pids: readonly number[]): number {
  return pids.reduce((bytes, pid) => {
    const exact = files.read(`/proc/${pid}/smaps_rollup`);
    if (exact !== undefined && exact.includes("Pss_Anon:")) return bytes + sum(exact, SHARED_OUT);
    return bytes + sum(files.read(`/proc/${pid}/status`) ?? "", HELD);
  }, 0);
}

function sum(text: string, lines: RegExp): number {
  return [...text.matchAll(lines)].reduce((all, [, kib]) => all + Number(kib) * KIB, 0);
}
