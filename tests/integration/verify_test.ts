import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { McpClient } from "../support/mcp.ts";
import { hasProgram } from "../support/programs.ts";
import { can_run_svc, gone, Place } from "../support/svc.ts";

const ignore = !can_run_svc;
const MODEL = { model: "builtin/toolbelt", approval: "auto" };

interface Project {
  program: string;
  files: Record<string, string>;
  passed: number;
  failing: RegExp[];
  /** Makes its tests pass. */
  mend: [file: string, from: string, to: string];
}

/** A project of each kind whose tools may be here, with a test that fails. */
const PROJECTS: Record<string, Project> = {
  deno: {
    program: "deno",
    files: {
      "deno.json": "{}",
      "sum_test.js": `Deno.test("adds", () => {});\n` +
        `Deno.test("adds three", () => { if (1 + 1 != 3) throw new Error("2"); });\n`,
    },
    passed: 1,
    failing: [/^adds three => .*sum_test\.js:2:\d+$/],
    mend: ["sum_test.js", "!= 3", "!= 2"],
  },
  node: {
    program: "npm",
    files: {
      "package.json": '{"name":"sums","scripts":{"test":"node --test"}}',
      "sum.test.mjs": `import test from "node:test";\nimport assert from "node:assert";\n` +
        `test("adds", () => {});\ntest("adds three", () => assert.equal(1 + 1, 3));\n`,
    },
    passed: 1,
    failing: [/^adds three/],
    mend: ["sum.test.mjs", "1, 3", "1, 2"],
  },
  rust: {
    program: "cargo",
    files: {
      "Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
      "src/lib.rs": "#[test]\nfn adds() {}\n#[test]\nfn adds_three() { assert_eq!(1 + 1, 3); }\n",
    },
    passed: 1,
    failing: [/^adds_three$/],
    mend: ["src/lib.rs", "1, 3", "1, 2"],
  },
  go: {
    program: "go",
    files: {
      "go.mod": "module example.org/sums\n\ngo 1.19\n",
      "sums_test.go": `package sums\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {}\n` +
        `func TestThree(t *testing.T) { if 1+1 != 3 { t.Error("2") } }\n`,
    },
    passed: 1,
    failing: [/^example\.org\/sums\.TestThree$/],
    mend: ["sums_test.go", "!= 3", "!= 2"],
  },
  python: {
    program: "python3",
    files: {
      "pyproject.toml": "",
      "test_sums.py": "import unittest\n\n\nclass Sums(unittest.TestCase):\n" +
        "    def test_adds(self):\n        pass\n\n" +
        "    def test_three(self):\n        self.assertEqual(1 + 1, 3)\n",
    },
    passed: 1,
    failing: [/^test_three \(test_sums\.Sums/],
    mend: ["test_sums.py", "1, 3", "1, 2"],
  },
};

function lay(place: Place, name: string, files: Record<string, string>): string {
  const workdir = place.mkdir(name);
  for (const [path, text] of Object.entries(files)) {
    if (path.includes("/")) place.mkdir(join(name, path, ".."));
    Deno.writeTextFileSync(join(workdir, path), text);
  }
  return workdir;
}

Deno.test({
  name: "the tests of real projects are run, counted and the failing ones named",
  ignore,
  async fn(t) {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    for (const [name, { program, files, passed, failing, mend }] of Object.entries(PROJECTS)) {
      const step = async () => {
        const workdir = lay(place, name, files);
        const test = () => client.rpc.call("verify.test", { workdir });
        const red = await test();
        assert(red.exit_code > 0, red.log_tail);
        assertEquals([red.passed, red.failed], [passed, failing.length], red.log_tail);
        for (const [index, pattern] of failing.entries()) assertMatch(red.failing[index], pattern);
        assertEquals(red.failing.length, failing.length);
        assertMatch(red.log_tail, /three/i);
        const [file, from, to] = mend;
        const path = join(workdir, file);
        Deno.writeTextFileSync(path, Deno.readTextFileSync(path).replace(from, to));
        const green = await test();
        assertEquals([green.exit_code, green.passed, green.failed], [0, passed + 1, 0]);
        assertEquals(green.failing, []);
      };
      await t.step({ name, ignore: !hasProgram(program), fn: step });
    }
  },
});

Deno.test({
  name: "verify runs in the sandbox, within its time, and its end is the end of all it started",
  ignore: ignore || Deno.build.os !== "linux" || !hasProgram("make"),
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const makefile = (body: string) =>
      Deno.writeTextFileSync(join(workdir, "Makefile"), `build:\n\t${body}\nlint:\n\t${body}\n`);
    const workdir = place.mkdir("project");
    const verify = (verb: string, params = {}) =>
      client.rpc.call(`verify.${verb}`, { workdir, ...params });

    const missing = await assertRejects(() => verify("build"), Error, "how to build the project");
    assertStringIncludes(JSON.stringify(missing), "Cargo.toml");
    makefile(`@cat '${place.home}/daemon.json'; exit 3`);
    const jailed = await verify("build");
    assertEquals([jailed.detected_by, jailed.command], ["Makefile", "make build"]);
    assertEquals(jailed.exit_code, 2);
    const bubblewrap = !jailed.log_tail.includes(daemon.token);
    assertEquals(bubblewrap, hasProgram("bwrap"));

    const long = "@sleep 1000 & echo $$! > pid; echo begun; wait";
    makefile(long);
    let late = await verify("lint", { timeout_s: 1 });
    // A machine that stands still may not have begun it by then.
    for (let timeout_s = 4; !late.log_tail.includes("begun") && timeout_s < 20; timeout_s *= 2) {
      late = await verify("lint", { timeout_s });
    }
    assertEquals([late.exit_code, late.timed_out], [null, true]);
    assertStringIncludes(late.log_tail, "begun\n");

    // A client that goes away ends what it asked for.
    Deno.removeSync(join(workdir, "pid"));
    if (bubblewrap) makefile(long.replace("$$!", "1"));
    {
      await using leaving = await daemon.rpc();
      leaving.rpc.call("verify.build", { workdir }).catch(() => {});
      await written(join(workdir, "pid"));
    }
    const pid = Number(Deno.readTextFileSync(join(workdir, "pid")));
    assert(bubblewrap || await gone(pid));
    await noChildren(daemon.pid);
  },
});

Deno.test({
  name: "a session's model verifies with its tool: approved once for all, its output seen",
  ignore: ignore || !hasProgram("deno"),
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = lay(place, "project", PROJECTS.deno.files);
    const session_id = await client.session({ workdir, ...MODEL, approval: "ask" });
    const { seq } = await client.rpc.call("session.send", { session_id, text: "verify test" });
    const asked = await client.wait((event) => event.type === "approval.requested", "the question");
    const runs = "deno test --allow-all";
    assertEquals([asked.data.reason, asked.data.rule], [`verify test: ${runs}`, `verify ${runs}`]);
    assertEquals(asked.data.args, { what: "test", runs, detected_by: "deno.json" });
    await client.rpc.call("session.approve", {
      session_id,
      approval_id: asked.data.approval_id,
      decision: "allow_always",
    });
    const { data } = await client.wait(
      (event) => event.type === "turn.completed" && event.seq > seq,
      "the end of the turn",
    );
    assertStringIncludes(data.message, "test failed with exit code 1: 1 passed, 1 failed");
    assertStringIncludes(data.message, "adds three => ");
    const again = await client.turn(session_id, "verify test");
    assertStringIncludes(again.data.message, "1 failed");
    assertEquals(client.of("approval.requested").length, 1);
    const by_verb = await client.rpc.call("verify.test", { session_id, packages: ["sum_test.js"] });
    assertEquals(by_verb.command, "deno test --allow-all sum_test.js");
  },
});

Deno.test({
  name: "a caller that asks for it is told how far verify is",
  ignore: ignore || !hasProgram("make"),
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using mcp = await McpClient.http(daemon);
    const workdir = lay(place, "project", { Makefile: "test:\n\t@echo one; echo two\n" });
    const reports: { progress: number; message?: string }[] = [];
    await mcp.client.callTool({ name: "svc.verify.test", arguments: { workdir } }, undefined, {
      onprogress: (report) => void reports.push(report),
    });
    assertEquals(reports.map(({ progress }) => progress), reports.map((_, n) => n + 1));
    assertEquals(reports.at(-1)?.message, "two");
  },
});

/** Resolves when the file holds a line. */
async function written(path: string): Promise<void> {
  await until(async () => (await Deno.readTextFile(path).catch(() => "")).endsWith("\n"));
}

/** Resolves when a daemon has no children but the keeper of its port. */
async function noChildren(pid: number): Promise<void> {
  const isKeeper = (child: string) =>
    Deno.readTextFileSync(`/proc/${child}/cmdline`).includes("svc-port");
  await until(() => {
    const tasks = [...Deno.readDirSync(`/proc/${pid}/task`)];
    try {
      return tasks.every(({ name }) => {
        const children = Deno.readTextFileSync(`/proc/${pid}/task/${name}/children`).trim();
        return children === "" || children.split(" ").every(isKeeper);
      });
    } catch {
      // A thread or a child has ended meanwhile.
      return false;
    }
  });
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !await holds(); await delay(20)) {
    if (Date.now() > end) throw new Error("it did not come in 20 s");
  }
}
