import { assertEquals, assertThrows } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { openKernel, SystemError } from "./openat2.ts";
import { spawnPassing } from "./passing.ts";

const ignore = Deno.build.os !== "linux" || !granted("read", "write", "run", "ffi");

Deno.test({
  name: "a program is passed a directory that it reads by descriptor, whatever its path is by then",
  ignore,
  async fn() {
    const root = await Deno.realPath(await Deno.makeTempDir());
    try {
      using kernel = openKernel()!;
      await Deno.mkdir(`${root}/checked`);
      await Deno.writeTextFile(`${root}/checked/file`, "mine");
      const passed = {
        open() {
          const opened = kernel.openReal(`${root}/checked`, { inherited: true });
          Deno.renameSync(`${root}/checked`, `${root}/moved`);
          Deno.symlinkSync("/etc", `${root}/checked`);
          return opened;
        },
      };
      // Other tests of this process pass descriptors too: only those of this one count.
      const script = 'ls "/proc/self/fd/$1/"; ls -l /proc/self/fd | grep -c "$2"';
      const run = (fd: string | typeof passed) =>
        said(spawnPassing("a program", "/bin/sh", ["-c", script, "sh", fd, root], PIPED));
      assertEquals((await run(passed)).trim().split("\n"), ["file", "1"]);
      assertEquals((await run("0")).trim().split("\n").at(-1), "0");
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});

Deno.test({
  name: "a path with a symlink in it is not opened",
  ignore,
  async fn() {
    const root = await Deno.realPath(await Deno.makeTempDir());
    try {
      using kernel = openKernel()!;
      await Deno.mkdir(`${root}/real/below`, { recursive: true });
      await Deno.symlink(`${root}/real`, `${root}/link`);
      kernel.openReal(`${root}/real/below`)[Symbol.dispose]();
      for (const path of [`${root}/link`, `${root}/link/below`]) {
        const open = () => kernel.openReal(path, { inherited: true });
        const error = assertThrows(
          () => spawnPassing("a program", "/bin/true", [{ open }], PIPED),
          SystemError,
        );
        assertEquals(error.code, "ELOOP");
      }
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});

const PIPED = { cwd: "/", stdin: "null", stdout: "piped", stderr: "null" } as const;

async function said(child: Deno.ChildProcess): Promise<string> {
  return new TextDecoder().decode((await child.output()).stdout);
}
