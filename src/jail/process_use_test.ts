import { assertEquals } from "@std/assert";
import { memoryOf, useOf } from "./process_use.ts";

const MIB = 1024 * 1024;

/** A kernel with processes: each with its threads' children, and its memory in KiB. */
function kernel(
  processes: Record<number, { children?: Record<number, string>; anon: number; pss?: number }>,
) {
  return {
    threads: (pid: number) => Object.keys(processes[pid]?.children ?? {}),
    read(path: string) {
      const [, , pid, file, thread] = path.split("/");
      const { children = {}, anon, pss } = processes[Number(pid)] ?? {};
      if (anon === undefined) return undefined;
      const threads = Math.max(Object.keys(children).length, 1);
      const status = `Threads:\t${threads}\nRssAnon:\t${anon} kB\nRssFile:\t 99999 kB\n` +
        `RssShmem:\t1024 kB\nVmSwap:\t1024 kB\n`;
      if (file === "status") return status;
      if (file === "task") return children[Number(thread)] ?? "";
      return pss === undefined
        ? undefined
        : `Rss: 5 kB\nPss: 9 kB\nPss_Anon: ${pss} kB\nPss_Shmem: 1024 kB\nSwapPss: 1 kB\n`;
    },
  };
}

Deno.test("all that descends from a process is found, also what other threads have started", () => {
  const files = kernel({
    1: { children: { 1: "2 3 " }, anon: 1024 },
    2: { children: { 2: "", 20: "4 " }, anon: 2048 },
    3: { anon: 1024 },
    4: { anon: 1024 },
    9: { anon: 1024 },
  });
  const { pids, memory_max } = useOf(files, 1, Infinity);
  assertEquals(pids.sort(), [1, 2, 3, 4]);
  // What is in memory and in the swap; files can be dropped.
  assertEquals(memory_max, (5 + 4 * 2) * MIB);
});

Deno.test("it stops looking after as many processes as there may be", () => {
  const many = Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [n + 1, { children: { [n + 1]: `${n + 2}` }, anon: 1 }]),
  );
  assertEquals(useOf(kernel(many), 1, 10).pids.length, 10);
});

Deno.test("what processes share is divided among them where the kernel tells", () => {
  const files = kernel({ 1: { anon: 4096, pss: 2047 }, 2: { anon: 1024 } });
  assertEquals(memoryOf(files, [1, 2]), (3 + 3) * MIB);
  assertEquals(memoryOf(files, [7]), 0);
});
