import { assertEquals, assertStringIncludes } from "@std/assert";
import { countsProcesses, limitLine, memoryLimit, refusedByLimits } from "./command_limits.ts";

const limits = { max_processes: 64, max_memory_mb: 512, max_open_files: 256, max_file_mb: 3 };
const sizes = { max_tmp_mb: 16, max_cache_mb: 16 };
const FIRST_TO_GO = "echo 800 >/proc/self/oom_score_adj";
const none = { max_processes: 0, max_memory_mb: 0, max_open_files: 0, max_file_mb: 0 };

Deno.test("a shell sets each limit in its own units, and none that is 0", () => {
  assertEquals(
    limitLine(limits, { shell: "/bin/bash", counted: true }),
    "{ ulimit -c 0; ulimit -d 524288; ulimit -n 256; ulimit -f 3072; ulimit -u 512; " +
      `${FIRST_TO_GO}; } 2>/dev/null\n`,
  );
  assertEquals(
    limitLine(limits, { shell: "/bin/sh", counted: true }),
    "{ ulimit -c 0; ulimit -d 524288; ulimit -n 256; ulimit -f 6144; ulimit -p 512; " +
      `${FIRST_TO_GO}; } 2>/dev/null\n`,
  );
  assertEquals(
    limitLine(none, { shell: "/bin/bash", counted: true }),
    `{ ulimit -c 0; ${FIRST_TO_GO}; } 2>/dev/null\n`,
  );
});

Deno.test("without a setting, a session has half of the machine's memory, and no process a limit", () => {
  const unset = { ...limits, max_memory_mb: undefined };
  assertEquals(memoryLimit(unset, 16_001), 8_000);
  assertEquals(memoryLimit(limits, 16_001), 512);
  assertEquals(memoryLimit(none, 16_001), 0);
  assertEquals(limitLine(unset, { shell: "/bin/bash", counted: true }).includes("-d"), false);
});

Deno.test("what a program says at a limit is explained, if there is such a limit", () => {
  const of = (output: string, set = limits) => refusedByLimits(output, { ...set, ...sizes });
  const [processes] = of("bash: fork: retry: Resource temporarily unavailable\n");
  assertStringIncludes(processes, "512 processes and threads");
  assertStringIncludes(processes, "max_processes");
  const [memory] = of("Traceback:\nMemoryError\n");
  assertStringIncludes(memory, "512 MB");
  assertStringIncludes(memory, "max_memory_mb");
  assertEquals(of("bash: fork: Resource temporarily unavailable\nMemoryError", none), []);
  assertEquals(of("error: expected expression\n"), []);
  assertEquals(refusedByLimits("MemoryError", undefined), []);
});

Deno.test("processes are bounded only where others of the same user do not count", () => {
  const line = limitLine(limits, { shell: "/bin/bash", counted: false });
  assertEquals(line.includes("-u"), false);
  const counted = [
    ["6.18.44-custom", true],
    ["5.14.0-70.el9", true],
    ["5.13.19", false],
    ["4.18.0", false],
  ] as const;
  for (const [release, expected] of counted) {
    assertEquals(countsProcesses(release), expected, release);
  }
});
