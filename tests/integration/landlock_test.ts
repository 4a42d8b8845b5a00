/** Commands where bubblewrap is not used: what works under Landlock, and what the person reads. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Hire } from "../support/hire.ts";
import { hasLandlock } from "../support/landlock.ts";
import type { Answer } from "../support/model_servers.ts";
import { hasProgram } from "../support/programs.ts";
import { gitInstalled } from "../support/repository.ts";
import { Scenario, type ScenarioOptions } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !hasLandlock();
const TOML = '[sandbox]\nshell = "landlock"\n';
const DONE: Answer = { text: "Done." };
const reason = "it fetches packages";
const HELD = "limited by Landlock: no network, no files of yours outside; " +
  "it can change .git and .svc here";

const run = (command: string, more: Record<string, unknown> = {}): Answer => ({
  calls: [{ name: "run_command", args: { command, ...more } }],
});

/** A session whose model is told what to do step by step. */
async function begin(options: ScenarioOptions & { parent?: string } = {}) {
  const steps: Answer[] = [];
  const it = await Scenario.begin(() => steps.shift() ?? DONE, { toml: TOML, ...options });
  return {
    it,
    /** Makes calls in one turn and answers its questions. */
    async does(answers: Answer[], ...decisions: string[]) {
      const before = it.client.events.length;
      // deno-lint-ignore no-explicit-any -- the data of any event
      const since = (type: string): any[] =>
        it.client.events.slice(before).filter((event) => event.type === type)
          .map(({ data }) => data);
      steps.push(...answers, DONE);
      const ended = it.turn("go");
      for (const [n, decision] of decisions.entries()) {
        const asked = () => since("approval.requested");
        await it.client.wait(() => asked().length > n, "a question");
        const { approval_id } = asked()[n];
        await it.call("session.approve", { approval_id, decision });
      }
      await ended;
      return { asked: since("approval.requested"), done: since("session.tool_completed") };
    },
    async out(command: string): Promise<string> {
      const { done } = await this.does([run(command)]);
      return done.at(-1).output;
    },
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
}

Deno.test({
  name: "ordinary work goes on in the working directory",
  ignore: ignore || !gitInstalled(),
  async fn() {
    await using stage = await begin();
    const { it } = stage;
    const home = it.place.env.HOME;
    Deno.writeTextFileSync(
      join(home, ".gitconfig"),
      "[user]\nname = Ada\nemail = ada@example.org\n",
    );
    assertEquals(
      await stage.out("mkdir -p a/b && echo one > a/b/x && mv a/b/x a && cat a/x"),
      "one",
    );
    assertEquals(await stage.out("seq 1000 | sort -n | tail -1 | tr 0-9 a-j"), "baaa");
    assertEquals(await stage.out("cat <(echo 1) <(echo 2) | wc -l; echo x > /dev/null"), "2");
    assertEquals(await stage.out("printf '#!/bin/sh\\necho ran' > s && chmod +x s && ./s"), "ran");
    const line =
      "git init -q && git add -A && git commit -qm first && git log --format='%an %ae %s'";
    assertEquals(await stage.out(line), "Ada ada@example.org first");
    if (hasProgram("cc")) {
      const program = "int main(void) { return 42; }";
      assertEquals(await stage.out(`echo '${program}' > p.c && cc p.c -o p && ./p; echo $?`), "42");
    }
    if (hasProgram("python3")) {
      const line = "import subprocess, tempfile; f = tempfile.NamedTemporaryFile(); " +
        "print(subprocess.run(['echo', 'child'], capture_output=True).stdout.decode().strip())";
      assertStringIncludes(await stage.out(`python3 -c "${line}"`), "child");
    }
    const { done } = await stage.does([run("exit 7"), run("kill -9 $$")]);
    assertMatch(done[0].output, /exit code 7/);
    assertMatch(done[1].output, /SIGKILL|exit code 137/);
    // Longer than an argument can be.
    const long = `echo '${"x".repeat(150_000)}' | wc -c; ls /proc/$$/fd | tr '\\n' ' '`;
    assertMatch(await stage.out(long), /^150001\n0 1 2 /);
  },
});

Deno.test({
  name: "a session keeps its temporary files and caches, also over a restart",
  ignore,
  async fn() {
    await using stage = await begin();
    const { it } = stage;
    await stage.out(
      'echo kept > "$TMPDIR/file"; mkdir -p "$XDG_CACHE_HOME"; ' +
        'echo cached > "$XDG_CACHE_HOME/file"; echo mine > ~/file; touch /tmp/svc-landlock-not',
    );
    const read = 'cat "$TMPDIR/file" "$XDG_CACHE_HOME/file" ~/file';
    assertEquals(await stage.out(read), "kept\ncached\nmine");
    await it.restart();
    assertEquals(await stage.out(read), "kept\ncached\nmine");
    assertEquals([...Deno.readDirSync(it.place.env.HOME)].length, 0);
    const other = await it.client.session({
      workdir: it.workdir,
      model: it.model,
      approval: "auto",
    });
    assert(!(await stage.out("ls /tmp")).includes("svc-"));
    await it.client.rpc.call("session.kill", { session_id: other });
    const spaces = join(it.place.home, "spaces", "tmp");
    assert([...Deno.readDirSync(spaces)].some(({ name }) => name === it.session_id));
  },
});

Deno.test({
  name: "a question says what holds a command, and without any sandbox that nothing does",
  ignore,
  async fn() {
    const asks = { start: { approval: "ask" } };
    for (
      const [shell, words] of [
        ["landlock", `run touch made (${HELD})`],
        ["none", "run touch made (runs with all your rights)"],
        ...(hasProgram("bwrap") ? [["bubblewrap", "run touch made"]] : []),
      ]
    ) {
      await using stage = await begin({ ...asks, toml: `[sandbox]\nshell = "${shell}"\n` });
      const { asked, done } = await stage.does([run("touch made")], "allow");
      assertEquals([asked[0].reason, done[0].ok], [words, true]);
    }
    {
      await using stage = await begin({ ...asks, toml: TOML });
      await stage.does([run("cat", { background: true })], "allow");
      const [{ command_id }] = (await stage.it.call("background.list")).commands;
      const input = { calls: [{ name: "command_input", args: { command_id, text: "x" } }] };
      const { asked } = await stage.does([input], "deny");
      assertStringIncludes(asked.at(-1).reason, `(${HELD})`);
    }
    await using stage = await begin({ ...asks, toml: `${TOML}network = true\n` });
    Deno.writeTextFileSync(join(stage.it.workdir, "Makefile"), "test:\n\ttrue\n");
    const verify = { calls: [{ name: "verify", args: { what: "test" } }] };
    const { asked } = await stage.does([verify], "deny");
    assertStringIncludes(
      asked[0].reason,
      "(limited by Landlock: no files of yours outside; it can change .git and .svc here)",
    );
  },
});

Deno.test({
  name: "the network and all rights are there once the person allows them",
  ignore,
  async fn() {
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response("a package"),
    );
    const { port } = server.addr;
    const fetches = `exec 3<>/dev/tcp/127.0.0.1/${port} && ` +
      `printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3`;
    await using stage = await begin();
    const { it } = stage;
    const outside = it.place.mkdir("elsewhere");
    const { asked, done } = await stage.does(
      [
        run(fetches),
        run(fetches, { network: true, reason }),
        run(`touch '${outside}/one'`, { network: true, reason }),
        run(`touch '${outside}/two'`, { outside_sandbox: true, reason }),
        run(fetches),
      ],
      "allow",
      "allow",
      "allow",
    );
    assertEquals(done.map(({ ok }) => ok), [false, true, false, true, false]);
    assertStringIncludes(done[1].output, "a package");
    assertEquals([...Deno.readDirSync(outside)].map(({ name }) => name), ["two"]);
    assertEquals(
      asked[0].reason,
      `run with network access: ${fetches} (limited by Landlock: no files of yours outside; ` +
        "it can change .git and .svc here)",
    );
    assertEquals(asked[2].reason, `run outside of the sandbox: touch '${outside}/two'`);
  },
});

Deno.test({
  name: "the model is told what holds, and what an allow-list of hosts is without a proxy",
  ignore,
  async fn() {
    await using stage = await begin({ toml: `${TOML}network = "allowed"\n` });
    const { it } = stage;
    const { done } = await stage.does([run("env"), run("true", { background: true })]);
    assert(!done[0].output.includes("PROXY"), done[0].output);
    assertStringIncludes(done[1].output, "can open no port");
    const { facts } = (await it.event("context.told")).data;
    assertMatch(facts.sandbox, /^.*Landlock holds commands: they can write there and in \$TMPDIR/);
    assertMatch(facts.network, /^none, not even localhost.*the person is asked/);
  },
});

Deno.test({
  name: "a session around svc's own files does not reach them",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure(TOML);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const session = { workdir: place.dir, model: "builtin/toolbelt", approval: "auto" };
    Deno.writeTextFileSync(join(place.mkdir("project"), "file"), "a file\n");
    const session_id = await client.session(session);
    const out = async (command: string) => {
      await client.rpc.call("session.send", { session_id, text: `run ${command}` });
      const before = client.of("session.tool_completed").length;
      await client.wait(() => client.of("session.tool_completed").length > before, "a result");
      return String(client.of("session.tool_completed").at(-1)!.data.output);
    };
    assertStringIncludes(await out("cat project/file && echo more >> project/file"), "a file");
    assertStringIncludes(await out(`cat '${place.home}/daemon.json'`), "Permission denied");
    assertStringIncludes(await out(`echo >> '${place.home}/daemon.toml'`), "Permission denied");
    assertStringIncludes(await out(`mv '${place.home}' moved`), "ermission denied");
  },
});

Deno.test({
  name: "a directory below a checkout reads its history, and commits outside of the sandbox",
  ignore: ignore || !gitInstalled(),
  async fn() {
    await using stage = await begin();
    const { it } = stage;
    const top = it.place.mkdir("checkout");
    const made = await new Deno.Command("git", {
      args: ["-c", "user.name=a", "-c", "user.email=b", "-C", top, "-c", "init.defaultBranch=main"]
        .concat(["init", "-q", "."]),
    }).output();
    assert(made.success);
    const workdir = it.place.mkdir("checkout/app");
    Deno.writeTextFileSync(join(top, "README"), "read me\n");
    const session_id = await it.client.session({ workdir, model: it.model, approval: "auto" });
    it.session_id = session_id;
    assertEquals(await stage.out("cat ../README; git status --short ."), "read me");
    const { done } = await stage.does([run("touch x && git add x")]);
    assertEquals(done[0].ok, false);
    assertStringIncludes(done[0].output, "this command can only read");
    assertStringIncludes(done[0].output, "outside_sandbox");
  },
});

Deno.test({
  name: "hired work is refused, which a stranger could write",
  ignore,
  async fn() {
    await using place = new Place();
    const offer = place.mkdir("offer");
    place.configure(`${TOML}[tasks]\nworkdirs = ["${offer}"]\n`);
    await using hire = await Hire.serve(place);
    const { status, text } = await hire.request("POST", "/api/task", {
      body: {
        task_type: "code",
        query: "ls",
        extra: { workdir: offer, model: "builtin/toolbelt" },
      },
    });
    assertEquals(status, 403, text);
    assertStringIncludes(text, "hired code tasks need the sandbox of bubblewrap");
  },
});

Deno.test({
  name: "without bubblewrap Landlock is used, and svc doctor says why and what it does not hold",
  ignore: ignore || !hasProgram("bwrap"),
  async fn() {
    // Where bwrap is not a program.
    const hiding = ["--dev-bind", "/", "/"];
    for (const path of ["/usr/bin/bwrap", "/usr/local/bin/bwrap"]) {
      if (hasFile(path)) hiding.push("--ro-bind", "/dev/null", path);
    }
    await using place = new Place();
    const [program, args] = place.command;
    await using hidden = new Place({}, { command: ["bwrap", [...hiding, program, ...args]] });
    const { stdout } = await hidden.svc(["doctor"]);
    assertMatch(
      stdout,
      /commands run under Landlock, which holds less than bubblewrap: bwrap is not/,
    );
    assertMatch(stdout, /They can change \.git and \.svc in their directory, see which files/);
    // A daemon there uses it without being told.
    Deno.writeTextFileSync(join(hidden.dir, "secret"), "not to be read");
    const text = `run cat '${hidden.dir}/secret'; echo ran > made`;
    const chat = ["chat", "-p", text, "--model", "builtin/toolbelt", "--approve", "auto"];
    const cwd = hidden.mkdir("project");
    const said = await hidden.svc(chat, { cwd });
    assertMatch(said.stdout + said.stderr, /secret: Permission denied/);
    assertEquals(Deno.readTextFileSync(join(cwd, "made")), "ran\n");
    place.configure('[sandbox]\nshell = "none"\n');
    assertMatch((await place.svc(["doctor"])).stdout, /commands run as plain processes/);
  },
});

function hasFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
