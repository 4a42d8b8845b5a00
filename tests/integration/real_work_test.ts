/**
 * A day's work with the toolchains of this machine, against a registry on loopback: each as a person
 * has it at first, with the sandbox and the approvals that svc has by itself.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { removeTree } from "../../src/os/remove_tree.ts";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { MadeCalls } from "../support/made_calls.ts";
import { type PackageRegistry, startPackageRegistry } from "../support/package_registry.ts";
import { hasProgram, programPath } from "../support/programs.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !has_bubblewrap;

interface Row {
  name: string;
  /** Programs without which it cannot run. */
  needs: readonly string[];
  /** `@URL` and `@HOST` are the registry's. */
  files?: Record<string, string>;
  /** In one session, one after the other. */
  commands: readonly string[];
  /** What the last one prints. */
  prints: RegExp;
  /** Directories with packages, in the store of svc. */
  caches?: readonly string[];
}

const NPM = {
  "package.json":
    `{"name":"work","version":"1.0.0","scripts":{"test":"node test.js"},"dependencies":{"svc-outer":"^2.0.0"}}`,
  "test.js": `console.log("nine is", require("svc-outer")(3))`,
  ".npmrc": "registry=@URL/\nfund=false\naudit=false\n",
};
const LOCK = JSON.stringify({
  name: "work",
  version: "1.0.0",
  lockfileVersion: 3,
  requires: true,
  packages: {
    "": { name: "work", version: "1.0.0", dependencies: { "svc-outer": "^2.0.0" } },
    "node_modules/svc-inner": {
      version: "1.2.3",
      resolved: "@URL/svc-inner/-/svc-inner-1.2.3.tgz",
    },
    "node_modules/svc-outer": {
      version: "2.0.0",
      resolved: "@URL/svc-outer/-/svc-outer-2.0.0.tgz",
      dependencies: { "svc-inner": "^1.0.0" },
    },
  },
});

/** Most with a second command that works from the cache alone. */
const ROWS: readonly Row[] = [
  {
    name: "npm",
    needs: ["npm", "node"],
    files: { ...NPM, "package-lock.json": LOCK },
    commands: ["npm ci && npm test"],
    prints: /nine is 9/,
    caches: ["npm"],
  },
  {
    name: "pnpm",
    needs: ["pnpm", "node"],
    files: NPM,
    commands: [
      "pnpm install && pnpm test",
      "rm -r node_modules && pnpm install --offline --frozen-lockfile && pnpm test",
    ],
    prints: /nine is 9/,
    caches: ["pnpm"],
  },
  {
    name: "yarn",
    needs: ["yarn", "node"],
    files: NPM,
    commands: [
      "yarn install && yarn test",
      "rm -r node_modules && yarn install --offline --frozen-lockfile && yarn test",
    ],
    prints: /nine is 9/,
    caches: ["yarn"],
  },
  {
    name: "bun",
    needs: ["bun"],
    files: NPM,
    commands: ["bun install && bun test.js", "rm -r node_modules && bun install && bun test.js"],
    prints: /nine is 9/,
    caches: ["bun"],
  },
  {
    name: "deno",
    needs: ["deno"],
    files: {
      ".npmrc": NPM[".npmrc"],
      "deno.json": `{"imports":{"outer":"npm:svc-outer@^2.0.0"}}`,
      "main.ts": `import outer from "outer";\nconsole.log("nine is", outer(3));\n`,
    },
    commands: ["deno run main.ts", "deno run --cached-only main.ts"],
    prints: /nine is 9/,
    caches: ["deno"],
  },
  {
    name: "cargo",
    needs: ["cargo", "cc"],
    files: {
      "Cargo.toml": '[package]\nname = "work"\nversion = "0.1.0"\nedition = "2021"\n\n' +
        '[dependencies]\nsvc-crate = "1"\n',
      "src/main.rs": 'fn main() { println!("{}", svc_crate::answer()); }\n',
      ".cargo/config.toml": '[source.crates-io]\nreplace-with = "local"\n' +
        '[source.local]\nregistry = "sparse+@URL/crates/"\n',
    },
    commands: ["cargo build && cargo run", "cargo clean && cargo run --offline"],
    prints: /from a crate/,
    caches: ["cargo"],
  },
  {
    name: "go",
    needs: ["go"],
    files: {
      "go.mod": "module work\n\ngo 1.18\n\nrequire svc.example/part v1.5.0\n",
      "work_test.go": 'package work\n\nimport (\n\t"testing"\n\n\t"svc.example/part"\n)\n\n' +
        "func TestPart(t *testing.T) {\n\tt.Log(part.Answer())\n}\n",
    },
    // A module that no public checksum database knows; go.sum is made.
    commands: [
      "export GOPROXY=@URL/go GONOSUMDB=svc.example GOFLAGS=-mod=mod; go test -v ./...",
      "GOPROXY=off go test -v ./...",
    ],
    prints: /from a module/,
    caches: ["go"],
  },
  {
    name: "pip",
    needs: ["python3"],
    commands: [
      "python3 -m venv .venv && .venv/bin/pip install --disable-pip-version-check " +
      "--index-url @URL/simple svc-wheel && " +
      `.venv/bin/python -c 'import svc_wheel; print(svc_wheel.answer())'`,
    ],
    prints: /from a wheel/,
  },
  {
    name: "uv",
    needs: ["uv", "python3"],
    commands: [
      "uv venv && uv pip install --default-index @URL/simple svc-wheel && " +
      `.venv/bin/python -c 'import svc_wheel; print(svc_wheel.answer())'`,
      `rm -r .venv && uv venv && uv pip install --offline svc-wheel && ` +
      `.venv/bin/python -c 'import svc_wheel; print(svc_wheel.answer())'`,
    ],
    prints: /from a wheel/,
    caches: ["xdg/uv"],
  },
  {
    name: "maven",
    needs: ["mvn", "java"],
    files: {
      "pom.xml": "<project><modelVersion>4.0.0</modelVersion><artifactId>work</artifactId>" +
        "<packaging>pom</packaging><parent><groupId>svc</groupId><artifactId>parent</artifactId>" +
        "<version>1.6.0</version><relativePath/></parent><repositories><repository><id>local</id>" +
        "<url>@URL/maven</url></repository></repositories></project>",
    },
    commands: ["mvn -B validate", "mvn -B -o validate"],
    prints: /BUILD SUCCESS/,
    caches: ["maven"],
  },
  {
    name: "gradle",
    needs: ["gradle", "java"],
    files: {
      "settings.gradle": "",
      "build.gradle":
        'repositories { maven { url = "@URL/maven"; allowInsecureProtocol = true } }\n' +
        "configurations { work }\ndependencies { work 'svc:parent:1.6.0@pom' }\n" +
        "tasks.register('show') { doLast { println configurations.work.singleFile.name } }\n",
    },
    commands: ["gradle -q show", "gradle -q --offline show"],
    prints: /parent-1\.6\.0\.pom/,
    caches: ["gradle"],
  },
];

/** Makes calls and allows what the person is asked about. @returns the results and the questions */
async function worked(
  calls: MadeCalls,
  commands: readonly (string | [tool: string, args: unknown])[],
) {
  const { client, session_id } = calls.scenario;
  const asked = () =>
    client.events.filter((it) => it.session_id === session_id && it.type === "approval.requested")
      .map(({ data }) => data);
  const before = asked().length;
  const made = calls.make(
    ...commands.map((it): [string, unknown] =>
      typeof it === "string" ? ["run_command", { command: it }] : it
    ),
  );
  let is_over = false;
  made.catch(() => {}).finally(() => is_over = true);
  for (let n = before; !is_over;) {
    if (asked().length === n) {
      await delay(10);
      continue;
    }
    const { approval_id } = asked()[n++];
    await calls.scenario.call("session.approve", { approval_id, decision: "allow" });
  }
  return { made: await made, asked: asked().slice(before) };
}

async function withRegistry(
  body: (it: {
    calls: MadeCalls;
    registry: PackageRegistry;
    fill(text: string): string;
  }) => Promise<void>,
  allowed = true,
) {
  const directory = Deno.makeTempDirSync();
  try {
    await using registry = await startPackageRegistry(directory);
    await using calls = await MadeCalls.begin({
      toml: allowed
        ? `[sandbox]\nnetwork = "allowed"\nallowed_hosts = ["${registry.host}"]\n`
        : undefined,
    });
    await using _ = {
      // Go makes its directories read-only.
      [Symbol.asyncDispose]: () => removeTree(join(calls.scenario.place.home, "spaces", "caches")),
    };
    const fill = (text: string) =>
      text.replaceAll("@URL", registry.url).replaceAll("@HOST", registry.host);
    await body({ calls, registry, fill });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Whether a directory has a file anywhere. */
function hasFiles(directory: string): boolean {
  return [...Deno.readDirSync(directory)].some(({ name, isDirectory }) =>
    !isDirectory || hasFiles(join(directory, name))
  );
}

Deno.test(
  { name: "toolchains fetch, build and test, and do it again from their caches", ignore },
  async (t) => {
    await withRegistry(async ({ calls, registry, fill }) => {
      const { place } = calls.scenario;
      for (const { name, needs, files = {}, commands, prints, caches = [] } of ROWS) {
        // What is missing is listed at the end of the run.
        const ignore = !needs.map(hasProgram).every((is_there) => is_there);
        await t.step({
          name,
          ignore,
          fn: async () => {
            const filled = Object.entries(files).map(([path, text]) => [path, fill(text)]);
            const workdir = await calls.in(name, Object.fromEntries(filled), {});
            const before = registry.asked.length;
            const { made, asked } = await worked(calls, commands.map(fill));
            for (const { ok, output } of made) assert(ok, output);
            assertMatch(made.at(-1)!.output, prints);
            assert(!/Unknown env config/.test(made[0].output), made[0].output);
            assert(registry.asked.length > before, "it was the registry that answered");
            // One for each command, and none for what it needs on its way.
            assertEquals(asked.map(({ tool }) => tool), commands.map(() => "run_command"));
            const stores = join(place.home, "spaces", "caches");
            const owner = [...Deno.readDirSync(stores)].find((it) =>
              it.isFile && Deno.readTextFileSync(join(stores, it.name)) === workdir
            )!;
            const store = join(stores, owner.name.replace(/\.svc-workdir$/, ""));
            for (const cache of caches) assert(hasFiles(join(store, cache)), cache);
          },
        });
      }
    });
  },
);

/** A program that is installed for the person, and what it prints in the next command. */
const INSTALLS: Record<string, { needs: string[]; install: string; run: string; prints: string }> =
  {
    npm: {
      needs: ["npm", "node"],
      install: "npm install -g --registry @URL svc-outer",
      run: "svc-outer",
      prints: "an npm program 4",
    },
    bun: {
      needs: ["bun", "node"],
      install: "bun add -g --registry @URL svc-outer",
      run: "svc-outer",
      prints: "an npm program 4",
    },
    pip: {
      needs: ["python3"],
      install:
        "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user --disable-pip-version-check --index-url @URL/simple svc-wheel",
      run: "svc-wheel",
      prints: "a program from a wheel",
    },
    cargo: {
      needs: ["cargo", "cc"],
      install: "cargo install --index sparse+@URL/crates/ svc-crate",
      run: "svc-crate",
      prints: "a program from a crate",
    },
    go: {
      needs: ["go"],
      install: "GOPROXY=@URL/go GONOSUMDB=svc.example go install svc.example/part/svc-part@v1.5.0",
      run: "svc-part",
      prints: "a Go program",
    },
    deno: {
      needs: ["deno"],
      install: "NPM_CONFIG_REGISTRY=@URL deno install -g -A -n deno-outer npm:svc-outer@2.0.0",
      run: "deno-outer",
      prints: "an npm program 4",
    },
  };

Deno.test({
  name: "a program that a package manager installs is there for later commands of the directory",
  ignore,
}, async (t) => {
  await withRegistry(async ({ calls, fill }) => {
    for (const [name, { needs, install, run, prints }] of Object.entries(INSTALLS)) {
      const ignore = !needs.map(hasProgram).every((is_there) => is_there);
      await t.step({
        name,
        ignore,
        async fn() {
          await calls.in(`installs-${name}`);
          const { made: [installed] } = await worked(calls, [fill(install)]);
          assert(installed.ok, installed.output);
          // Another session of the same directory.
          await calls.in(`installs-${name}`);
          const { made: [ran] } = await worked(calls, [run]);
          assertStringIncludes(ran.output, prints);
          await calls.in(`elsewhere-${name}`);
          const { made: [missing] } = await worked(calls, [run]);
          assertStringIncludes(missing.output, "not found");
        },
      });
    }
  });
});

/** In an environment of the person's, and in commands without network. */
const OWN_CACHES: Record<string, { needs: string[]; fetch: string; offline: string; at: string }> =
  {
    cargo: {
      needs: ["cargo", "cc"],
      fetch: "cargo fetch",
      offline: "cargo run --offline",
      at: ".cargo/registry",
    },
    go: {
      needs: ["go"],
      fetch: "GOPROXY=@URL/go GONOSUMDB=svc.example GOFLAGS=-mod=mod go test ./...",
      offline: "go test -v ./...",
      at: "go/pkg/mod",
    },
    deno: {
      needs: ["deno"],
      fetch: "deno cache main.ts",
      offline: "deno run main.ts",
      at: ".cache/deno",
    },
  };

Deno.test({
  name: "without network, toolchains read the person's own caches and cannot change them",
  ignore,
}, async (t) => {
  const directory = Deno.makeTempDirSync();
  // A home below /tmp would be in the way of the session's own.
  const home = Deno.makeTempDirSync({ dir: "/var/tmp" });
  try {
    await using registry = await startPackageRegistry(directory);
    await using calls = await MadeCalls.begin({ env: { HOME: home } });
    const fill = (text: string) => text.replaceAll("@URL", registry.url);
    const rustup = Deno.env.get("RUSTUP_HOME") ??
      join(programPath("cargo") ?? "/", "../../../.rustup");
    const rows = Object.entries(OWN_CACHES).map(([name, row]) => {
      const { files = {}, prints } = ROWS.find((row) => row.name === name)!;
      const filled = Object.entries(files).map(([path, text]) => [path, fill(text)]);
      const is_there = row.needs.map(hasProgram).every((each) => each);
      return { name, ...row, prints, is_there, files: Object.fromEntries(filled) };
    });
    // Before any command: svc remembers for a moment which caches are missing.
    for (const { name, fetch, is_there, files } of rows) {
      const workdir = await calls.in(name, files);
      if (!is_there) continue;
      const { success, stderr } = await new Deno.Command("sh", {
        args: ["-c", fill(fetch)],
        cwd: workdir,
        clearEnv: true,
        env: { PATH: Deno.env.get("PATH")!, HOME: home, RUSTUP_HOME: rustup },
      }).output();
      assert(success, new TextDecoder().decode(stderr));
    }
    for (const { name, offline, at, prints, is_there } of rows) {
      await t.step({
        name,
        ignore: !is_there,
        async fn() {
          await calls.in(name);
          const before = registry.asked.length;
          const { made } = await worked(calls, [offline, `touch ~/${at}/new`]);
          assertMatch(made[0].output, prints);
          assertStringIncludes(made[1].output, "Read-only file system");
          assertEquals(registry.asked.length, before);
        },
      });
    }
  } finally {
    // Go makes its directories read-only.
    await removeTree(home);
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test({
  name: "with no network set, one question is enough for a command that fetches",
  ignore: ignore || !hasProgram("npm"),
  async fn() {
    await withRegistry(async ({ calls, fill }) => {
      const files = Object.entries({ ...NPM, "package-lock.json": LOCK })
        .map(([path, text]) => [path, fill(text)]);
      await calls.in("asks", Object.fromEntries(files), {});
      const fetched = ["run_command", {
        command: "npm ci && npm test",
        network: true,
        reason: "to install packages",
      }] as [string, unknown];
      const { made, asked } = await worked(calls, [fetched]);
      assertStringIncludes(made[0].output, "nine is 9");
      assertEquals(asked.length, 1);
      // In auto, that question is all that is asked.
      await calls.in("auto", Object.fromEntries(files));
      const auto = await worked(calls, [fetched, "rm -r node_modules && npm ci --offline"]);
      assert(auto.made.every(({ ok }) => ok), JSON.stringify(auto.made));
      assertEquals(auto.asked.length, 1);
    }, false);
  },
});

Deno.test({
  name: "a native build goes on in /tmp from one command to the next, and git commits it",
  ignore: ignore || !["make", "cc", "git"].map(hasProgram).every((is_there) => is_there),
  async fn() {
    await using calls = await MadeCalls.begin();
    const workdir = await calls.in("native", {
      Makefile: "/tmp/build/%.o: %.c\n\t@mkdir -p /tmp/build\n\tcc -pipe -c -o $@ $<\n\n" +
        "program: /tmp/build/a.o /tmp/build/b.o\n\tcc -o $@ $^\n",
      "a.c": '#include <stdio.h>\nint b(void);\nint main(void) { printf("built %d\\n", b()); }\n',
      "b.c": "int b(void) { return 7; }\n",
    }, {});
    await new Deno.Command("git", { args: ["init", "-q", workdir] }).output();
    const { made, asked } = await worked(calls, [
      "make /tmp/build/a.o && cat <<< 'here too'",
      "make && ./program",
      "git add *.c Makefile && git -c user.name=a -c user.email=a@b commit -qm first && git status -s",
    ]);
    assert(made.every(({ ok }) => ok), JSON.stringify(made));
    assertStringIncludes(made[0].output, "here too");
    assert(!made[1].output.includes("/tmp/build/a.o a.c"), made[1].output);
    assertStringIncludes(made[1].output, "built 7");
    assertEquals(made[2].output, "?? program");
    assertEquals(asked.length, 3);
  },
});

/** A server of a project in development: it also fetches from elsewhere. */
const DEV_SERVER = `
import http.server, os, urllib.request
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = urllib.request.urlopen(os.environ["ABOVE"]).read() if self.path == "/above" else b"pong"
        self.send_response(200); self.end_headers(); self.wfile.write(body)
    def log_message(self, *args): pass
http.server.HTTPServer(("127.0.0.1", 8123), H).serve_forever()
`;

for (const allowed of [false, true]) {
  Deno.test({
    name: `a dev server is left running, fetched and ended, ${
      allowed ? "with allowed hosts" : "with no network set"
    }`,
    ignore: ignore || !["python3", "curl"].map(hasProgram).every((is_there) => is_there),
    async fn() {
      await withRegistry(async ({ calls, fill }) => {
        await calls.in("server", { "server.py": DEV_SERVER });
        const get = (path: string) =>
          `curl -sS -m 20 --retry 40 --retry-delay 1 --retry-connrefused http://localhost:8123${path}`;
        const { made, asked } = await worked(calls, [
          ["run_command", {
            command: fill("ABOVE=http://@HOST/svc-inner python3 server.py"),
            background: true,
          }],
          get("/"),
          get(allowed ? "/above" : "/"),
          // Its own way out, beside that of the server, and again.
          fill(
            allowed ? "curl -sS http://@HOST/svc-outer && curl -sS http://@HOST/svc-outer" : "true",
          ),
        ]);
        assert(made.every(({ ok }) => ok), JSON.stringify(made));
        assertStringIncludes(made[1].output, "pong");
        assertStringIncludes(made[2].output, allowed ? "svc-inner" : "pong");
        if (allowed) assertEquals(made[3].output.split('"name":"svc-outer"').length, 5);
        const [, command_id] = /(cmd_[0-9A-Z]+)/.exec(made[0].output)!;
        const ended = await worked(calls, [
          ["stop_command", { command_id }],
          "curl -sS -m 20 http://localhost:8123/",
        ]);
        assertEquals(ended.made.map(({ ok }) => ok), [true, false]);
        assertEquals([...asked, ...ended.asked], []);
      }, allowed);
    },
  });
}

Deno.test({
  name: "Docker's own client is refused with what the person can grant",
  ignore: ignore || !hasProgram("docker"),
  async fn() {
    const directory = Deno.makeTempDirSync();
    const path = join(directory, "docker.sock");
    const server = Deno.serve({ path, onListen() {} }, () => new Response("I am Docker"));
    try {
      await using calls = await MadeCalls.begin({ env: { DOCKER_HOST: `unix://${path}` } });
      await calls.in("docker", { Dockerfile: "FROM scratch\n" }, {});
      for (const command of ["docker ps", "docker build .", "docker run --rm hello-world"]) {
        const { made: [refused], asked } = await worked(calls, [command]);
        assertEquals(refused.ok, false);
        assertStringIncludes(
          refused.output,
          '[docker is not granted to commands; the person can grant it: [sandbox] grant = ["docker"] ' +
            "in daemon.toml]",
        );
        assertEquals(asked.filter(({ tool }) => tool !== "run_command"), []);
      }
    } finally {
      await server.shutdown();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
