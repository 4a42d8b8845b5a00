import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import {
  askLoginShell,
  betweenMarks,
  directoriesToAdd,
  printingPath,
  shellArguments,
} from "./login_shell.ts";

const ignore = !granted("read", "write", "run", "env", "sys") || Deno.build.os === "windows";

Deno.test("each shell is started so that it reads the files of a login", () => {
  assertEquals(shellArguments("/bin/bash", "x"), ["-l", "-i", "-c", "x"]);
  assertEquals(shellArguments("/usr/bin/zsh", "x"), ["-l", "-i", "-c", "x"]);
  assertEquals(shellArguments("/opt/homebrew/bin/fish", "x"), ["-l", "-i", "-c", "x"]);
  assertEquals(shellArguments("/bin/tcsh", "x"), ["-i", "-c", "x"]);
  assertEquals(shellArguments("/bin/sh", "x"), ["-l", "-c", "x"]);
});

Deno.test("the PATH stands between the last two marks, whatever is printed around it", () => {
  assertEquals(betweenMarks("rubbish M/a:/bM more", "M"), "/a:/b");
  assertEquals(betweenMarks("M/old M ... M/a:/bM", "M"), "/a:/b");
  for (const output of ["", "M", "rubbish", "M/a:/b"]) {
    assertEquals(betweenMarks(output, "M"), undefined);
  }
});

/** A directory that is removed afterwards. */
async function inDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    await test(directory);
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
}

Deno.test({
  name: "only existing absolute directories that the PATH lacks are added, not what others write",
  ignore,
  fn: () =>
    inDirectory((root) => {
      for (const name of ["here", "new", "open"]) Deno.mkdirSync(join(root, name));
      Deno.chmodSync(join(root, "open"), 0o777);
      Deno.writeTextFileSync(join(root, "file"), "");
      const found = ["here", "new/", "new", "open", "missing", "file"].map((it) => `${root}/${it}`);
      assertEquals(
        directoriesToAdd(`/usr/bin:${root}/here/`, ["relative", "", ...found].join(":")),
        { added: [join(root, "new")], left_out: [join(root, "open")] },
      );
      return Promise.resolve();
    }),
});

/** Asks bash with these start-up files. */
function ask(home: string, files: Record<string, string>): Promise<string> {
  for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(join(home, name), text);
  const environment = { HOME: home, PATH: "/usr/bin:/bin", TERM: "dumb" };
  return askLoginShell("/bin/bash", environment, new AbortController().signal);
}

/** As Debian's: a shell that is not interactive reads no further. */
const GUARDED = "case $- in *i*) ;; *) return ;; esac\n";

Deno.test({
  name: "bash says what its start-up files add, through what they print",
  ignore,
  fn: () =>
    inDirectory(async (home) => {
      const path = await ask(home, {
        ".bash_profile": 'echo "Welcome! $PATH"; PATH="$HOME/login:$PATH"; . "$HOME/.bashrc"\n',
        ".bashrc": `${GUARDED}echo >&2 noise; PATH="$PATH:$HOME/nvm"\n`,
      });
      const dirs = path.split(":");
      assertEquals(dirs.includes(join(home, "login")), true, path);
      assertEquals(dirs.includes(join(home, "nvm")), true, path);
    }),
});

Deno.test({
  name: "start-up files that fail, print without end or hang give an error and leave nothing",
  ignore,
  fn: () =>
    inDirectory(async (home) => {
      const fails = (text: string, words: string) =>
        assertRejects(() => ask(home, { ".bash_profile": text }), Error, words);
      await fails("exit 3\n", "ended with exit code 3 before it printed its PATH");
      await fails("yes\n", "printed more than 1000000 bytes");
      const pids = join(home, "pids");
      await fails(
        `sleep 600 & echo $! >>"${pids}"; set -m; sleep 600 & echo $! >>"${pids}"; sleep 600\n`,
        "did not answer in 5 s",
      );
      const started = Deno.readTextFileSync(pids).trim().split("\n");
      assertEquals(started.length, 2);
      for (const pid of started) assertEquals([pid, isRunning(pid)], [pid, false]);
    }),
});

/** Reports whether a process is there and not just waiting to be collected. */
function isRunning(pid: string): boolean {
  const { stdout } = new Deno.Command("ps", { args: ["-o", "stat=", "-p", pid] }).outputSync();
  return /^[^Z\s]/.test(new TextDecoder().decode(stdout).trim());
}

Deno.test({
  name: "sh prints its PATH for every shell",
  ignore,
  async fn() {
    const { stdout } = await new Deno.Command("/bin/sh", {
      args: ["-c", printingPath("svc-path-x")],
      env: { PATH: "/a b:/c" },
      clearEnv: true,
    }).output();
    assertEquals(betweenMarks(new TextDecoder().decode(stdout), "svc-path-x"), "/a b:/c");
  },
});
