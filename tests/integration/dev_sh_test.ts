/** install/dev.sh with a Deno, and an npm, that only note what they are asked. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, fromFileUrl, join } from "@std/path";
import { PROGRAM } from "../../install/compile.ts";
import { programPath } from "../support/programs.ts";
import { can_run_svc, tests_source } from "../support/svc.ts";

const source = fromFileUrl(new URL("../../install/dev.sh", import.meta.url));
// Nothing of it is the compiled binary.
const ignore = !can_run_svc || !tests_source || Deno.build.os === "windows";
const TOOLS = "sh cat cksum cp dirname head mkdir mktemp mv rm sed sort tr";

/** A Deno: notes its arguments, "fetches" two files, and fails where the test wants that. */
const DENO = (log: string, version: string) =>
  `#!/bin/sh
if [ "$1" = --version ]; then echo "deno ${version} (stable)"; exit 0; fi
echo "$*" >>'${log}'
case $1 in
  cache | install)
    echo "Download https://example.com/a.tgz" >&2
    echo "Download https://example.com/b.tgz" >&2
    if [ -n "\${BROKEN-}" ]; then echo "error: no network" >&2; exit 1; fi
    ;;
esac
`;

/** A clone with only what dev.sh reads, and a person's home and PATH. */
class Machine implements Disposable {
  readonly dir = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "svc-dev-" }));
  readonly log = join(this.dir, "log");
  readonly script: string;

  constructor(clone = "clone") {
    this.script = join(this.dir, clone, "install", "dev.sh");
    for (const path of [dirname(this.script), join(this.dir, "bin")]) {
      Deno.mkdirSync(path, { recursive: true });
    }
    Deno.copyFileSync(source, this.script);
    Deno.writeTextFileSync(join(this.dir, clone, "deno.lock"), "{}");
    for (const name of TOOLS.split(" ")) {
      Deno.symlinkSync(programPath(name)!, join(this.dir, "bin", name));
    }
  }

  provide(name: string, script: string): void {
    Deno.writeTextFileSync(join(this.dir, "bin", name), script, { mode: 0o755 });
  }

  /** Runs the script from a directory of the machine. */
  async run(args: string[], { cwd = "clone", script = "install/dev.sh", env = {} } = {}) {
    Deno.writeTextFileSync(this.log, "");
    const { code, stderr } = await new Deno.Command(join(this.dir, "bin", "sh"), {
      args: [script, ...args],
      cwd: join(this.dir, cwd),
      env: { PATH: join(this.dir, "bin"), HOME: join(this.dir, "home"), ...env },
      clearEnv: true,
      stdin: "null",
    }).output();
    const calls = Deno.readTextFileSync(this.log).trimEnd().split("\n");
    return { code, calls, stderr: new TextDecoder().decode(stderr) };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test({
  name: "chat fetches what the program loads, once, in one line, and nothing of the web app",
  ignore,
  async fn() {
    using machine = new Machine();
    machine.provide("deno", DENO(machine.log, "2.7.11"));
    const first = await machine.run(["chat", "-p", "ls"]);
    assertEquals([first.code, first.stderr], [0, "dev.sh: fetching packages, once\n"]);
    const [fetched, run, ...more] = first.calls;
    assertEquals(more, []);
    const root = join(machine.dir, "clone");
    const files = PROGRAM.map((path) => join(root, path)).sort();
    const [verb, config, ...entries] = fetched.split(" ");
    assertEquals([verb, config], ["cache", `--config=${join(root, "deno.json")}`]);
    assertEquals(entries.sort(), files);
    assertMatch(run, /main\.ts --called-as=sh install\/dev\.sh chat -p ls$/);
    const again = await machine.run(["chat", "-p", "ls"]);
    assertEquals([again.calls, again.stderr], [[run], ""]);
    Deno.writeTextFileSync(join(root, "deno.lock"), "{ }");
    assertEquals((await machine.run(["chat"])).calls.length, 2);
  },
});

Deno.test({
  name: "the web app is built for those who open it, and kept up to date where it was built",
  ignore,
  async fn() {
    using machine = new Machine();
    machine.provide("deno", DENO(machine.log, "2.7.11"));
    const builds = async (...args: string[]) =>
      (await machine.run(args)).calls.some((call) => /install\/web\.ts --if-stale$/.test(call));
    assertEquals(await builds("chat"), false);
    for (const command of ["serve", "open", "desktop"]) assertEquals(await builds(command), true);
    const dist = join(machine.dir, "clone", "web", "dist");
    Deno.mkdirSync(dist, { recursive: true });
    Deno.writeTextFileSync(join(dist, "manifest.json"), "{}");
    assertEquals(await builds("chat"), true);
  },
});

Deno.test({
  name: "packages that cannot be fetched end the start with what Deno said, and are tried again",
  ignore,
  async fn() {
    using machine = new Machine();
    machine.provide("deno", DENO(machine.log, "2.7.11"));
    const failed = await machine.run(["chat"], { env: { BROKEN: "1" } });
    assertEquals(failed.code, 1);
    assertStringIncludes(failed.stderr, "error: no network\n");
    assertEquals(failed.calls.length, 1);
    assertEquals((await machine.run(["chat"])).calls.length, 2);
  },
});

for (
  const [where, cwd, script, name] of [
    ["from elsewhere", "home", "../my clone/install/dev.sh", "sh '../my clone/install/dev.sh'"],
    ["with a quote", "my clone", "./install/it's.sh", "sh './install/it'\\''s.sh'"],
  ]
) {
  Deno.test({
    name: `svc learns how dev.sh was called: ${where}`,
    ignore,
    async fn() {
      using machine = new Machine("my clone");
      machine.provide("deno", DENO(machine.log, "2.7.11"));
      Deno.mkdirSync(join(machine.dir, "home"));
      Deno.copyFileSync(machine.script, join(dirname(machine.script), "it's.sh"));
      const { calls } = await machine.run(["chat"], { cwd, script });
      assertStringIncludes(calls.at(-1)!, ` --called-as=${name} chat`);
    },
  });
}

for (const old of [undefined, "2.6.10"]) {
  Deno.test({
    name: `with ${old ? "an older" : "no"} Deno, npm fetches one, once, and leaves no copy of it`,
    ignore,
    async fn() {
      using machine = new Machine();
      if (old) machine.provide("deno", DENO(machine.log, old));
      Deno.writeTextFileSync(join(machine.dir, "fetched"), DENO(machine.log, "2.7.11"), {
        mode: 0o755,
      });
      machine.provide(
        "npm",
        `#!/bin/sh
echo "npm $*" >>'${machine.log}'
[ "$2" = --prefix ] && [ "$4" = --cache ] || exit 1
mkdir -p "$3/node_modules/@deno/this" "$5/_cacache"
cp '${machine.dir}/fetched' "$3/node_modules/@deno/this/deno"
`,
      );
      const first = await machine.run(["chat"]);
      assertEquals(first.code, 0, first.stderr);
      assertMatch(first.calls[0], /^npm install .* --ignore-scripts .*deno@2\.7\.11$/);
      assertMatch(first.calls.at(-1)!, /main\.ts --called-as=\S+ \S+ chat$/);
      const kept = join(machine.dir, "home", ".cache", "svc-dev", "deno-2.7.11", "bin");
      assertEquals([...Deno.readDirSync(kept)].map(({ name }) => name), ["deno"]);
      assertEquals(await machine.run(["chat"]).then(({ calls }) => calls.length), 1);
    },
  });
}

Deno.test({
  name: "without Deno and npm, dev.sh says what to install",
  ignore,
  async fn() {
    using machine = new Machine();
    const { code, stderr } = await machine.run(["chat"]);
    assertEquals(code, 1);
    assertEquals(stderr, "dev.sh: install deno 2.7.11 or npm: https://docs.deno.com/runtime/\n");
  },
});
