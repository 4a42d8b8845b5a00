import { assertEquals } from "@std/assert";
import { countsProcesses, limitLine } from "./command_limits.ts";

const limits = { max_processes: 64, max_memory_mb: 512, max_open_files: 256, max_file_mb: 3 };
const none = { max_processes: 0, max_memory_mb: 0, max_open_files: 0, max_file_mb: 0 };

Deno.test("a shell sets each limit in its own units, and none that is 0", () => {
  assertEquals(
    limitLine(limits, { shell: "/bin/bash", counted: true }),
    "{ ulimit -c 0; ulimit -d 524288; ulimit -n 256; ulimit -f 3072; ulimit -u 64; } 2>/dev/null\n",
  );
  assertEquals(
    limitLine(limits, { shell: "/bin/sh", counted: true }),
    "{ ulimit -c 0; ulimit -d 524288; ulimit -n 256; ulimit -f 6144; ulimit -p 64; } 2>/dev/null\n",
  );
  assertEquals(
    limitLine(none, { shell: "/bin/bash", counted: true }),
    "{ ulimit -c 0; } 2>/dev/null\n",
  );
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
