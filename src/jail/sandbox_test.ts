import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { detectSandbox, type Sandbox, type SandboxScope } from "./sandbox.ts";
import { EXCHANGED } from "./sandbox_alone.ts";
import { spawnArgv } from "./spawn.ts";

const runs = granted("run", "write", "env", "net", "sys");
const jail = runs ? await detectSandbox("auto") : undefined;
const ignore = jail?.kind !== "bubblewrap";

interface Ran {
  code: number;
  output: string;
}

async function run(
  command: string,
  scope: Partial<SandboxScope> & { workdir: string },
  sandbox: Sandbox = jail!,
): Promise<Ran> {
  const argv = sandbox.argv(command, { hidden: [], network: false, ...scope });
  const options = { cwd: scope.workdir, stdin: "null", stdout: "piped", stderr: "piped" } as const;
  const done = await spawnArgv(argv, options).output();
  const output = new TextDecoder().decode(done.stdout) + new TextDecoder().decode(done.stderr);
  return { code: done.code, output: output.trim() };
}

/** A test with a directory of its own, laid out as the paths say; a path ending in / is one. */
function sandboxed(name: string, paths: string[], body: (root: string) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "sandbox" }));
      try {
        for (const path of paths) {
          const full = `${root}/${path}`;
          await Deno.mkdir(full.slice(0, full.lastIndexOf("/")), { recursive: true });
          if (!path.endsWith("/")) await Deno.writeTextFile(full, `content of ${path}`);
        }
        await body(root);
      } finally {
        await Deno.remove(root, { recursive: true });
      }
    },
  });
}

sandboxed("variables of a command reach it as they are", ["work/"], async (root) => {
  const value = `a "quoted" $HOME 'line'\nand another \\`;
  // Each program can write it there, the command's to a /tmp of its own.
  const linker = `svc-linker-${crypto.randomUUID()}`;
  const env = { GIVEN: value, LD_DEBUG: "libs", LD_DEBUG_OUTPUT: `/tmp/${linker}`, UID: "1" };
  const ran = await run('printf %s "$GIVEN"; env | grep -c SVC_SET_', {
    workdir: `${root}/work`,
    env,
  });
  assertEquals(ran, { code: 1, output: `${value}0` });
  const seen = [...Deno.readDirSync("/tmp")].filter(({ name }) => name.startsWith(linker));
  assertEquals(seen, [], "the linker of bwrap itself");
});

sandboxed("the workdir is writable and the working directory", ["work/a.txt"], async (root) => {
  const ran = await run("pwd; cat a.txt; echo; echo new > b.txt", { workdir: `${root}/work` });
  assertEquals(ran, { code: 0, output: `${root}/work\ncontent of work/a.txt` });
  assertEquals(await Deno.readTextFile(`${root}/work/b.txt`), "new\n");
});

sandboxed("the system is readable and not writable", ["work/"], async (root) => {
  const workdir = `${root}/work`;
  assertEquals((await run("test -r /etc/passwd && test -x /bin/sh", { workdir })).code, 0);
  for (const path of ["/etc/planted", "/usr/planted", "/planted", "/var/planted"]) {
    const ran = await run(`touch ${path}`, { workdir });
    assert(ran.code !== 0, path);
    assertMatch(ran.output, /Read-only file system|Permission denied/);
  }
  const sysctl = await run(
    "cd /proc/sys/vm; v=$(cat swappiness); echo $v > swappiness && echo WROTE",
    { workdir },
  );
  assert(!sysctl.output.includes("WROTE"), sysctl.output);
});

sandboxed(
  "no home and no temporary file of the system is seen",
  ["work/", "secret"],
  async (root) => {
    const ran = await run(
      `ls -A /home /root /tmp "$HOME" /run /var/tmp; cat ${root}/secret; echo x > ~/scratch && cat ~/scratch`,
      { workdir: `${root}/work` },
    );
    assertStringIncludes(ran.output, `${root}/secret: No such file`);
    assertMatch(ran.output, /^x$/m);
    const home = Deno.env.get("HOME");
    if (home === undefined) return;
    assertEquals(await exists(`${home}/scratch`), false);
  },
);

sandboxed(".svc in the workdir is hidden", ["work/.svc/journal", "work/a"], async (root) => {
  const scope = { workdir: `${root}/work`, hidden: [`${root}/work/.svc`] };
  assertEquals(
    await run("ls .svc; cat .svc/journal 2>/dev/null; cat a", scope),
    { code: 0, output: "content of work/a" },
  );
  const written = await run("echo x > .svc/planted", scope);
  assertStringIncludes(written.output, "Read-only file system");
  const moved = await run("mv .svc elsewhere || rm -rf .svc || umount .svc", scope);
  assert(moved.code !== 0, moved.output);
  const privileged = await run(
    "unshare --user --map-root-user --mount umount .svc; ls .svc",
    scope,
  );
  assert(!privileged.output.includes("journal"), privileged.output);
  assertEquals(
    await Deno.readTextFile(`${root}/work/.svc/journal`),
    "content of work/.svc/journal",
  );
});

sandboxed(
  "the home of svc is hidden when the workdir is the home directory",
  ["home/.svc/token", "home/.config/svc/token", "home/.profile"],
  async (root) => {
    const workdir = `${root}/home`;
    using sandbox = await detectSandbox("bubblewrap", { ...Deno.env.toObject(), HOME: workdir });
    const hidden = [`${workdir}/.svc`, `${workdir}/.config/svc`];
    assertEquals(
      await run("ls -A ~ ~/.svc ~/.config/svc; cat ~/.profile", { workdir, hidden }, sandbox),
      {
        code: 0,
        output: `${workdir}:\n.config\n.profile\n.svc\n\n${workdir}/.config/svc:\n\n` +
          `${workdir}/.svc:\ncontent of home/.profile`,
      },
    );
  },
);

sandboxed(
  "toolchains in the home directory can be used, not changed; credentials beside them are not seen",
  [
    ...["work/", "home/.cargo/bin/tool", "home/.cargo/credentials.toml", "home/.ssh/id"],
    ...["home/tools/bin/own", "home/.rustup/settings.toml", "home/go/pkg/mod/theirs/secret"],
  ],
  async (root) => {
    const home = `${root}/home`;
    Deno.writeTextFileSync(`${home}/.cargo/bin/tool`, "#!/bin/sh\necho works\n");
    Deno.chmodSync(`${home}/.cargo/bin/tool`, 0o755);
    const PATH = `${home}/.cargo/bin:${home}/tools/bin:${home}:/usr/bin:/bin`;
    using sandbox = await detectSandbox("bubblewrap", { HOME: home, PATH });
    const scope = { workdir: `${root}/work`, hidden: [`${home}/go/pkg/mod/theirs`] };
    const { output } = await run(
      "tool; cat ~/.rustup/settings.toml ~/tools/bin/own",
      scope,
      sandbox,
    );
    assertEquals(
      output,
      "works\ncontent of home/.rustup/settings.tomlcontent of home/tools/bin/own",
    );
    assert((await run("echo evil > ~/.cargo/bin/tool", scope, sandbox)).code !== 0);
    for (const path of [".cargo/credentials.toml", ".ssh/id", "go/pkg/mod/theirs/secret"]) {
      assert((await run(`cat ~/${path}`, scope, sandbox)).code !== 0, path);
    }
  },
);

sandboxed(
  "directories on the PATH are there to read, with what their programs load; homes are named",
  [
    ...["work/", "home/secret", "npx/node_modules/tool/tool.sh", "npx/node_modules/.bin/"],
    ...["npx/secret", "venv/bin/", "venv/lib/library", "venv/secret", "scripts/", "links/"],
    ...["elsewhere/secret", "kit/bin/", "kit/lib/library", "kit/secret"],
  ],
  async (root) => {
    const program = (path: string, text: string) =>
      Deno.writeTextFileSync(`${root}/${path}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const library = `cat "$(dirname "$(readlink -f "$0")")/../lib/library"; echo`;
    program("npx/node_modules/tool/tool.sh", "echo from npx");
    Deno.symlinkSync("../tool/tool.sh", `${root}/npx/node_modules/.bin/tool`);
    program("venv/bin/py", library);
    program("scripts/mine", "echo mine");
    program("elsewhere/real", "echo real");
    program("kit/bin/kit", library);
    program("home/at-home", "echo at home");
    Deno.symlinkSync("../../elsewhere/real", `${root}/venv/bin/linked`);
    Deno.symlinkSync("../kit/bin/kit", `${root}/links/kit`);
    Deno.symlinkSync("../elsewhere/secret", `${root}/links/no-program`);
    Deno.symlinkSync("/nowhere", `${root}/links/dangling`);
    const directories = ["npx/node_modules/.bin", "venv/bin", "scripts", "links"]
      .map((name) => `${root}/${name}`);
    const PATH = [...directories, `${root}/home`, "/tmp"].join(":");
    using sandbox = await detectSandbox("bubblewrap", { HOME: `${root}/home`, PATH });
    const scope = { workdir: `${root}/work`, hidden: [], network: false };
    const { output } = await run("tool; py; mine; linked; kit; echo $PATH", scope, sandbox);
    assertEquals(output.split("\n"), [
      ...["from npx", "content of venv/lib/library", "mine", "real"],
      ...["content of kit/lib/library", `${directories.join(":")}:/usr/bin:/bin`],
    ]);
    for (
      const path of ["npx/secret", "venv/secret", "elsewhere/secret", "kit/secret", "home/secret"]
    ) {
      assert((await run(`cat ${root}/${path}`, scope, sandbox)).code !== 0, path);
    }
    for (
      const path of ["npx/node_modules/tool/new", "venv/bin/new", "scripts/mine", "elsewhere/real"]
    ) {
      assert((await run(`echo > ${root}/${path}`, scope, sandbox)).code !== 0, path);
    }
    assertEquals(sandbox.hidden_path, [`${root}/home`, "/tmp"]);
    const unseen = (name: string) => sandbox.unseen(name, scope);
    assertEquals(unseen("at-home"), `${root}/home/at-home`);
    for (const name of ["tool", "mine", "linked", "sh", "no-such-program"]) {
      assertEquals(unseen(name), undefined);
    }
    const hiding = { ...scope, hidden: [`${root}/scripts/hidden`] };
    assert((await run("mine", hiding, sandbox)).code !== 0, "beside what is hidden");
    assertEquals(sandbox.unseen("mine", hiding), `${root}/scripts/mine`);
  },
);

sandboxed(
  "a program alone finds those of the system where the PATH is one directory of links",
  ["work/a", "links/"],
  async (root) => {
    const path = `${root}/work`;
    const identity = ({ dev, ino }: Deno.FileInfo) => `${dev}:${ino}`;
    const checked = async (seen: string, PATH: string) => {
      const directories = [{ path, identity: seen }];
      const argv = jail!.alone(["sh", "-c", 'cat "$0"', `${path}/a`], directories, { PATH })!;
      const { code, stdout } = await spawnArgv(argv, { cwd: "/", stdout: "piped" }).output();
      return { code, stdout: new TextDecoder().decode(stdout) };
    };
    const right = identity(Deno.statSync(path));
    for (const PATH of [`${root}/links`, "", "/usr/bin:/bin"]) {
      assertEquals(await checked(right, PATH), { code: 0, stdout: "content of work/a" }, PATH);
    }
    assertEquals((await checked("0:0", `${root}/links`)).code, EXCHANGED);
  },
);

sandboxed(
  "a link in the place of a directory is not followed",
  ["work/", "outside/secret"],
  (root) => {
    const workdir = `${root}/work`;
    const argv = jail!.argv("cat secret", { workdir, hidden: [], network: false });
    Deno.renameSync(workdir, `${root}/away`);
    Deno.symlinkSync(`${root}/outside`, workdir);
    const error = assertThrows(() => spawnArgv(argv, { cwd: "/" }), Error);
    assertStringIncludes(error.message, "symlink");
    return Promise.resolve();
  },
);

sandboxed("git does its work, and finds what it runs as it was", ["work/a"], async (root) => {
  const workdir = `${root}/work`;
  const git = (args: string) => `git -c user.name=a -c user.email=a@b ${args} 2>&1`;
  const made = await new Deno.Command("git", { args: ["init", "-q", workdir] }).output();
  if (!made.success) return;
  const work = ["add a", "commit -qm one", "checkout -qb other", "commit -q --allow-empty -m two"]
    .concat("checkout -q -", "merge -q other", "branch -d other", "stash list", "tag t", "gc -q");
  const ran = await run(work.map(git).join(" && "), { workdir });
  assertEquals(ran.code, 0, ran.output);
  assert((await run("git config user.name x", { workdir })).code !== 0);
  assert((await run("echo x > .git/hooks/post-commit", { workdir })).code !== 0);
});

sandboxed("a thousand sessions below the workdir are out of sight", ["work/"], async (root) => {
  const workdir = `${root}/work`;
  const hidden = Array.from({ length: 1_000 }, (_, i) => `${workdir}/part-${i % 50}/session-${i}`);
  for (const each of hidden) {
    await Deno.mkdir(each, { recursive: true });
    await Deno.writeTextFile(`${each}/mine`, "mine");
  }
  const ran = await run("find . -name mine | wc -l; find . -name 'session-*' | wc -l", {
    workdir,
    hidden,
  });
  assertEquals(ran.output.split("\n"), ["0", "1000"]);
});

sandboxed(
  "what is not the system's costs a command no mount of its own",
  ["work/"],
  async (root) => {
    const ran = await run("cut -d ' ' -f 5 /proc/self/mountinfo", { workdir: `${root}/work` });
    const mounted = new Set(ran.output.split("\n"));
    assert(mounted.has("/usr"), ran.output);
    for (const path of ["/boot", "/home", "/media", "/mnt", "/srv", "/var"]) {
      if (path === Deno.env.get("HOME")) continue;
      assert(!mounted.has(path), path);
      assert((await run(`touch ${path}/planted`, { workdir: `${root}/work` })).code !== 0, path);
    }
  },
);

sandboxed(
  "a directory above a hidden one cannot be moved to bring it into sight",
  ["work/a/b/hidden/token", "work/a/c"],
  async (root) => {
    const scope = { workdir: `${root}/work`, hidden: [`${root}/work/a/b/hidden`] };
    assert((await run("mv a x", scope)).code !== 0);
    assert((await run("mv a/b x", scope)).code !== 0);
    assertEquals(await exists(`${root}/work/a/b/hidden/token`), true);
    assertEquals((await run("cat a/c; echo d > a/b/d", scope)).output, "content of work/a/c");
  },
);

sandboxed(
  "a session inside another one's workdir does not see the outer one",
  ["outer/secret", "outer/.svc/journal", "outer/deep/inner/mine", "outer/deep/secret"],
  async (root) => {
    // Under /tmp the tmpfs over it already hides everything; elsewhere only what is named is.
    const elsewhere = `/srv/sandbox-test-${crypto.randomUUID()}`;
    const roots = await copied(root, elsewhere) ? [root, elsewhere] : [root];
    try {
      for (const at of roots) {
        const scope = {
          workdir: `${at}/outer/deep/inner`,
          hidden: [`${at}/outer`, `${at}/outer/.svc`, `${at}/outer/deep/inner/.svc`],
        };
        const ran = await run("cat mine; ls -A ../.. ..; cat ../secret ../../secret", scope);
        assertMatch(ran.output, /^content of outer\/deep\/inner\/mine/);
        assert(!ran.output.includes("content of outer/secret"), ran.output);
        assert(!ran.output.includes("content of outer/deep/secret"), ran.output);
        assert(!ran.output.includes(".svc"), ran.output);
        await run("echo new > new; echo new > ../new", scope);
        assertEquals(await exists(`${at}/outer/deep/inner/new`), true);
        assertEquals(await exists(`${at}/outer/deep/new`), false);
      }
    } finally {
      if (roots.length > 1) await Deno.remove(elsewhere, { recursive: true });
    }
  },
);

sandboxed(
  "a session does not see another one's workdir inside its own",
  ["outer/mine", "outer/deep/inner/secret", "outer/deep/mine"],
  async (root) => {
    const scope = { workdir: `${root}/outer`, hidden: [`${root}/outer/deep/inner`] };
    const ran = await run("cat mine deep/mine; ls -A deep/inner", scope);
    assertEquals(ran, { code: 0, output: "content of outer/minecontent of outer/deep/mine" });
    assert((await run("echo x > deep/inner/planted", scope)).code !== 0);
  },
);

sandboxed(
  "a hidden file cannot be read, and what does not exist is not made",
  ["work/a"],
  async (root) => {
    const scope = { workdir: `${root}/work`, hidden: [`${root}/work/a`, `${root}/work/none/x`] };
    assertEquals(await run("cat a 2>/dev/null; ls -A", scope), { code: 0, output: "a" });
    assertEquals(await exists(`${root}/work/none`), false);
  },
);

sandboxed("hidden paths in places that are otherwise seen are covered", ["work/"], async (root) => {
  const scope = { workdir: `${root}/work`, hidden: ["/etc/passwd", "/usr/share", "/", "/usr"] };
  assertEquals(await run("cat /etc/passwd 2>/dev/null; ls -A /usr/share; echo ran", scope), {
    code: 0,
    output: "ran",
  });
});

sandboxed("many hidden paths do not break it", ["work/"], async (root) => {
  for (let i = 0; i < 200; i++) await Deno.mkdir(`${root}/work/other-${i}`);
  const hidden = Array.from({ length: 200 }, (_, i) => `${root}/work/other-${i}`);
  const hiddenOutside = Array.from({ length: 3000 }, (_, i) => `${root}/session-${i}`);
  const scope = { workdir: `${root}/work`, hidden: [...hidden, ...hiddenOutside] };
  const ran = await run("for each in other-*; do echo x > $each/x; done", scope);
  assertStringIncludes(ran.output, "other-1/x: Read-only file system");
  for (let i = 0; i < 200; i++) assertEquals(await exists(`${root}/work/other-${i}/x`), false);
});

Deno.test({
  name: "there is no network, and with it there is",
  ignore,
  async fn() {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      () => new Response("x"),
    );
    const workdir = await Deno.realPath(await Deno.makeTempDir());
    try {
      const connect = `exec 3<>/dev/tcp/127.0.0.1/${server.addr.port} && echo connected`;
      assert((await run(connect, { workdir })).code !== 0);
      assertEquals((await run(connect, { workdir, network: true })).output, "connected");
      assertEquals((await run("cat /etc/resolv.conf", { workdir, network: true })).code, 0);
    } finally {
      await Deno.remove(workdir, { recursive: true });
      await server.shutdown();
    }
  },
});

sandboxed("no socket of the daemon can be reached", ["run/", "work/"], async (root) => {
  const program = firstOf(["/usr/bin/python3", "/usr/bin/perl"]);
  const listeners = [`${root}/run/svc.sock`, `${root}/work/svc.sock`].map((path) =>
    Deno.listen({ transport: "unix", path })
  );
  try {
    const scope = { workdir: `${root}/work`, hidden: [`${root}/work/svc.sock`], network: true };
    for (const path of [`${root}/run/svc.sock`, `${root}/work/svc.sock`]) {
      assert((await run(`test -S ${path}`, scope)).code !== 0);
      if (program === undefined) continue;
      const ran = await run(`${program} ${connectTo(program, path)}`, scope);
      assert(ran.code !== 0, ran.output);
    }
  } finally {
    for (const listener of listeners) listener.close();
  }
});

sandboxed("processes outside are neither seen nor signalled", ["work/"], async (root) => {
  const workdir = `${root}/work`;
  const ran = await run("ls -d /proc/[0-9]* | wc -l", { workdir });
  assert(Number(ran.output) < 10, ran.output);
  assert((await run(`kill -0 ${Deno.pid}`, { workdir })).code !== 0);
});

sandboxed("no descriptor of a directory is left to a command", ["work/"], async (root) => {
  const { output } = await run("ls -l /proc/self/fd/ /proc/1/fd/", { workdir: `${root}/work` });
  assertStringIncludes(output, "/proc/1/fd/:");
  assert(!output.includes(root), output);
});

sandboxed("no capability is left that could lift the cover", ["work/"], async (root) => {
  const { output } = await run("grep CapEff /proc/self/status", { workdir: `${root}/work` });
  const left = BigInt(`0x${output.split(/\s+/)[1]}`);
  const files = 1n << 0n | 1n << 1n | 1n << 3n;
  assertEquals(left & ~files, 0n, output);
});

for (const shell of ["auto", "none"] as const) {
  Deno.test({
    name: `commands get a chosen environment and no secret of the daemon's (${shell})`,
    ignore: !runs,
    async fn() {
      const workdir = await Deno.realPath(await Deno.makeTempDir());
      using sandbox = await detectSandbox(shell, {
        ...Deno.env.toObject(),
        OPENAI_API_KEY: "sk-secret",
        SVC_TOKEN: "sk-secret",
        SSH_AUTH_SOCK: "/tmp/sk-secret",
        BASH_ENV: "/tmp/sk-secret",
        LC_ALL: "C.UTF-8",
        TZ: "UTC",
        CI: "true",
      });
      try {
        const { output } = await run("env", { workdir }, sandbox);
        const names = output.split("\n").map((line) => line.split("=")[0]);
        assert(!output.includes("sk-secret"), output);
        assert(!names.includes("CI"));
        for (const line of ["TERM=dumb", "NO_COLOR=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C.UTF-8"]) {
          assertStringIncludes(output, line);
        }
        assertStringIncludes(output, `PWD=${workdir}`);
        const known =
          /^(PATH|LANG|LC_\w+|TZ|USER|LOGNAME|TERM|SHELL|HOME|PWD|OLDPWD|NO_COLOR|(GIT_)?PAGER|GIT_TERMINAL_PROMPT|GIT_DISCOVERY_\w+|GIT_CONFIG_\w+|RUSTUP_HOME|SHLVL|_)$/;
        for (const name of names) assertMatch(name, known);
      } finally {
        await Deno.remove(workdir, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "without bubblewrap auto is a plain child with a note, and asking for it an error",
  ignore: !runs,
  async fn() {
    using none = await detectSandbox("none");
    assertEquals(none.kind, "none");
    assertStringIncludes(none.note!, "daemon.toml");
    if (jail?.kind === "bubblewrap") {
      assertEquals(jail.note, undefined);
      using asked = await detectSandbox("bubblewrap");
      assertEquals(asked.kind, "bubblewrap");
      return;
    }
    assert(jail!.note);
    const error = await assertRejects(() => detectSandbox("bubblewrap"), Error, "[sandbox]");
    assertStringIncludes(error.message, jail!.note!);
  },
});

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

async function copied(from: string, to: string): Promise<boolean> {
  const copy = await new Deno.Command("cp", { args: ["-r", from, to], stderr: "null" }).output();
  return copy.success;
}

function firstOf(paths: string[]): string | undefined {
  return paths.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

function connectTo(program: string, path: string): string {
  return program.endsWith("perl")
    ? `-MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un("${path}")) or exit 1'`
    : `-c 'import socket; socket.socket(socket.AF_UNIX).connect("${path}")'`;
}
