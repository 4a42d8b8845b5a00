/**
 * What the processes of a command use, as the kernel tells it of each of them (Linux). Everything
 * in a sandbox descends from the process that made it, so the tree is complete there.
 */
import type { KernelFiles } from "../os/kernel_files.ts";

/** What a command uses. */
export interface ProcessUse {
  /** Its processes; their threads are not counted. */
  pids: number[];
  /** Bytes of memory, at most: what processes share is counted for each of them. */
  memory_max: number;
}

/** What is read from the kernel. */
export interface ProcessFiles extends Pick<KernelFiles, "read"> {
  /** Ids of the threads of a process. */
  threads(pid: number): string[];
}

/** Reads the threads that a process has, of which each has children of its own. */
export function threadsOf(pid: number): string[] {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/task`)].map(({ name }) => name);
  } catch {
    return [];
  }
}

const KIB = 1024;
/** Memory that is neither a file's nor free to be dropped. */
const HELD = /^(?:RssAnon|RssShmem|VmSwap):\s+(\d+)/gm;
/** The same, with what processes share divided among them. */
const SHARED_OUT = /^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+)/gm;

/**
 * Looks at a process and all that descends from it.
 *
 * @param most the number of processes after which it stops looking
 */
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
 * Returns how much memory these processes use together, in bytes. The kernel looks at each page for
 * this, so ask only when {@linkcode ProcessUse.memory_max} is too much.
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
