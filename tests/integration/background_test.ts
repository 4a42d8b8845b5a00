/** Commands in the background: started, read, written to and stopped by a scripted model. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { hasProgram } from "../support/programs.ts";
import { hasLandlock } from "../support/landlock.ts";
import { processesWith, Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const call = (name: string, args: unknown) => ({ calls: [{ name, args }] });
const start = (command: string, more = {}) =>
  call("run_command", { command, background: true, ...more });
/** What runs until it is stopped; `marker` is in its command line. */
const forever = (marker: string) => `echo up; while :; do sleep 0.1; done # ${marker}`;
const marker = () => `background-${crypto.randomUUID()}`;

/** A scenario whose model does what the test says next. */
async function begin(options: Parameters<typeof Scenario.begin>[1] = {}) {
  const steps: ReturnType<typeof call>[] = [];
  const it = await Scenario.begin(() => steps.shift() ?? { text: "Done." }, options);
  return {
    it,
    /** Makes calls in a turn. @returns their results. */
    async does(...calls: ReturnType<typeof call>[]) {
      const before = it.client.of("session.tool_completed").length;
      steps.push(...calls);
      await it.turn("go");
      return it.client.of("session.tool_completed").slice(before).map(({ data }) => data);
    },
    /** Starts a command. @returns its id. */
    async starts(command: string, more = {}): Promise<string> {
      const [{ ok, output }] = await this.does(start(command, more));
      assert(ok, output);
      return output.match(/cmd_\w+/)![0];
    },
    steps,
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
}

/** What the model was last sent, all of it. */
const sent = (it: Scenario) => JSON.stringify(it.server.requests.at(-1)!.body.messages);

/** Resolves once all that run have written something: none of them is still being started. */
const up = (it: Scenario) =>
  until(async () => {
    const { commands } = await it.call("background.list");
    // deno-lint-ignore no-explicit-any -- what the verb answers
    return commands.every((one: any) => !one.running || one.output_bytes > 0);
  }, "all are up");

const running = async (it: Scenario) =>
  (await it.call("session.get")).background.map((one: { command_id: string }) => one.command_id);

Deno.test({
  name: "a command runs on after its turn; model and faces read all of its output, each for itself",
  ignore,
  async fn() {
    await using stage = await begin();
    const { it } = stage;
    const loop = "echo one; read line; echo got $line; read line; echo $line; cat; exit 3";
    const id = await stage.starts(loop);
    assertEquals(await running(it), [id]);
    const { commands: [listed] } = await it.call("background.list");
    assertEquals([listed.command_id, listed.command, listed.running], [id, loop, true]);
    const face = async (from: number) =>
      await it.call("background.output", { command_id: id, from });
    await until(async () => (await face(0)).text === "one\n", "the first line");
    const [first, none] = await stage.does(
      call("command_output", { command_id: id, wait_s: 60 }),
      call("command_output", { command_id: id }),
    );
    assertMatch(first.output, /^one\n\[running for \d+ s\]$/);
    assertMatch(none.output, /^\[running for \d+ s\]$/);
    const [, more] = await stage.does(
      call("command_input", { command_id: id, text: "line\n" }),
      call("command_output", { command_id: id, wait_s: 60 }),
    );
    assertMatch(more.output, /^got line\n/);
    // The model's reads have taken nothing from the face's.
    assertEquals((await face(0)).text, "one\ngot line\n");
    assertEquals((await face(4)).text, "got line\n");
    const [written] = await stage.does(
      call("command_input", { command_id: id, text: "two\nrest\n", close: true }),
    );
    assertEquals([written.ok, written.output], [true, "9 bytes written, input closed"]);
    const ended = await it.event("background.ended");
    assertEquals([ended.data.command_id, ended.data.reason, ended.data.exit_code], [
      id,
      "exited",
      3,
    ]);
    assertEquals(await running(it), []);
    const [last, late, again] = await stage.does(
      call("command_output", { command_id: id }),
      call("command_input", { command_id: id, text: "x" }),
      call("command_output", { command_id: "cmd_none" }),
    );
    assertEquals([last.output, last.exit_code], ["two\nrest\n[exit code 3]", 3]);
    assertEquals([late.ok, late.output], [false, `${id} has ended`]);
    assertStringIncludes(again.output, "there is no background command cmd_none");
    const told = sent(it);
    assertStringIncludes(told, `The background command ${id}`);
    assertStringIncludes(told, "has ended: exit code 3");
    assertEquals(told.split("has ended: exit code 3").length, 2, "it is told once");
    const { text, running: runs, exit_code, end } = await face(0);
    assertEquals([text, runs, exit_code, end], [
      "one\ngot line\ntwo\nrest\n",
      false,
      3,
      "exit code 3",
    ]);
  },
});

for (const shell of ["bubblewrap", ...(hasLandlock() ? ["landlock"] : []), "none"]) {
  Deno.test({
    name: `stop, cancel, the session's end and the daemon's: shell = "${shell}"`,
    ignore,
    async fn() {
      await using stage = await begin({ toml: `[sandbox]\nshell = "${shell}"` });
      const { it, steps } = stage;
      const [one, two, three] = [marker(), marker(), marker()];
      // What leaves the group belongs to the command as well.
      const first = await stage.starts(`setsid -w sh -c '${forever(one)}' & ${forever(one)}`);
      await until(() => processesWith(one).length >= 2, "both run");
      await up(it);
      const [stopped, again] = await stage.does(
        call("stop_command", { command_id: first }),
        call("stop_command", { command_id: first }),
      );
      assertEquals([stopped.output, again.output], ["stopped", "stopped"]);
      await until(() => processesWith(one).length === 0, "stopped with all that it started");
      const by = it.client.of("background.ended").map(({ data }) => [data.reason, data.by]);
      assertEquals(by, [["stopped", "model"]]);
      assert(!sent(it).includes("has ended"), "the model knows");

      // A turn that is cancelled leaves them; so does a pause.
      const second = await stage.starts(forever(two));
      steps.push(call("run_command", { command: "touch began; sleep 600" }));
      await it.send("wait");
      const began = () => [...Deno.readDirSync(it.workdir)].some(({ name }) => name === "began");
      await until(began, "the other command");
      await it.call("session.cancel");
      await it.call("session.pause");
      await it.call("session.resume");
      assertEquals(await running(it), [second]);
      assert(processesWith(two).length > 0);
      await up(it);

      // The person stops it by a verb; a command of another session stays.
      const other = await it.client.session({ workdir: it.place.mkdir("other"), model: it.model });
      const foreign = it.client.rpc.call("background.stop", {
        session_id: other,
        command_id: second,
      });
      assertEquals((await assertRejects(() => foreign) as SvcError).code, "not_found");
      assertEquals(await it.call("background.stop", { command_id: second }), { stopped: true });
      assertEquals(await it.call("background.stop", { command_id: second }), { stopped: false });
      await until(() => processesWith(two).length === 0, "stopped by the verb");
      const third = await stage.starts(forever(three));
      assertStringIncludes(sent(it), "has ended: stopped");
      await up(it);
      await it.call("session.kill");
      await until(() => processesWith(three).length === 0, "ended with its session");
      const ended = it.client.of("background.ended").at(-1)!.data;
      assertEquals([ended.command_id, ended.reason], [third, "session_ended"]);
      assert(it.types().indexOf("session.ended") > it.types().lastIndexOf("background.ended"));
    },
  });

  for (const how of ["killed", "stopped"] as const) {
    Deno.test({
      name: `a daemon that is ${how} leaves no command, and tells the model: shell = "${shell}"`,
      ignore,
      async fn() {
        await using stage = await begin({ toml: `[sandbox]\nshell = "${shell}"` });
        const { it } = stage;
        const mark = marker();
        // In a jail, also what has left by two forks.
        const forks = shell !== "none" && how === "killed"
          ? `setsid sh -c 'setsid sh -c "${forever(mark)}" &' &`
          : `setsid sh -c '${forever(mark)}' &`;
        const id = await stage.starts(`${forks} ${forever(mark)}`);
        await until(() => processesWith(mark).length >= 2, "both run");
        await up(it);
        if (how === "stopped") {
          await it.client[Symbol.asyncDispose]();
          await it.daemon.stop();
        }
        await it.restart();
        await until(() => processesWith(mark).length === 0, "nothing is left");
        await it.event("background.ended");
        assertEquals(await running(it), []);
        const ends = () =>
          it.client.of("background.ended").map(({ data }) => [data.command_id, data.reason]);
        assertEquals(ends(), [[id, "daemon_stopped"]]);
        const [gone] = await stage.does(call("command_output", { command_id: id }));
        assertStringIncludes(gone.output, `no background command ${id}; running: none`);
        const told = sent(it);
        assertStringIncludes(told, "has ended: stopped, because svc stopped");
        await it.restart();
        const reloads = () => it.client.of("daemon.reloaded").length;
        await until(() => reloads() === 2, "the second start");
        assertEquals(ends(), [[id, "daemon_stopped"]]);
      },
    });
  }
}

Deno.test({
  name: "a chat lists them, shows the output of one and stops it",
  ignore,
  async fn() {
    await using stage = await begin();
    const { it } = stage;
    const id = await stage.starts("echo 'one \x1b[31mred'; sleep 600");
    await up(it);
    const says = async (line: string, shown: string) => {
      await it.call("tui.press_key", { text: line });
      await it.call("tui.press_key", { key: "enter" });
      await until(
        async () => (await it.call("tui.snapshot", { cols: 150, rows: 50 })).view.includes(shown),
        `${line} shows ${shown}`,
      );
    };
    await says("/background", `${id}  running  echo 'one`);
    await says(`/background ${id}`, "one red");
    await says(`/background stop ${id}`, `${id} was stopped`);
    await says("/background cmd_none", "there is no background command cmd_none");
    assertEquals(await running(it), []);
    assertEquals(it.client.of("user.message").length, 1);
  },
});

Deno.test({
  name: "eight commands run at once; a ninth starts when one has ended",
  ignore,
  async fn() {
    await using stage = await begin();
    const { it } = stage;
    const mark = marker();
    const results = await stage.does(...Array.from({ length: 9 }, () => start(forever(mark))));
    assertEquals(results.map(({ ok }) => ok), [...Array(8).fill(true), false]);
    assertStringIncludes(results[8].output, "8 background commands already run");
    const [command_id] = await running(it);
    const [, ninth] = await stage.does(
      call("stop_command", { command_id }),
      start(forever(mark)),
    );
    assertEquals([ninth.ok, (await running(it)).length], [true, 8]);
    await up(it);
    await it.call("session.kill");
    await until(() => processesWith(mark).length === 0, "ended with their session");
  },
});

Deno.test({
  name: "a flood of 100 MB leaves its last megabyte, and an input that nobody reads ends at once",
  ignore,
  async fn() {
    await using stage = await begin();
    const { it } = stage;
    const id = await stage.starts(
      "head -c 100000000 /dev/zero | tr '\\0' x; echo the end; sleep 600",
    );
    const tail = async () =>
      (await it.call("background.output", { command_id: id, from: 100_000_000 })).text;
    await until(async () => (await tail()) === "the end\n", "the flood", 60_000);
    const [read] = await stage.does(call("command_output", { command_id: id }));
    assertMatch(read.output, /^\[… 98,951,432 bytes were dropped …\]\nx+/);
    assertMatch(read.output, /\[\d+ more bytes: read again\]/);
    assert(read.output.length < 48 * 1024);
    const input = call("command_input", { command_id: id, text: "y".repeat(16 * 1024) });
    const written = await stage.does(...Array.from({ length: 5 }, () => input));
    // A pipe takes 64 KiB, or less where the person has many of them.
    const refused = written.filter(({ ok }) => !ok);
    assert(refused.length > 0);
    assertMatch(refused[0].output, /does not read its input: only the first \d+ of 16384 bytes/);
  },
});

Deno.test({
  name: "approvals hold as for other commands, also for input; .git is read-only",
  ignore,
  async fn() {
    await using stage = await begin({ start: { approval: "ask" } });
    const { it, steps } = stage;
    Deno.mkdirSync(join(it.workdir, ".git"));
    const asked = async (count: number) => {
      await until(() => it.client.of("approval.requested").length >= count, "a question");
      return it.client.of("approval.requested")[count - 1].data;
    };
    const shell = 'touch .git/commondir; read line; sh -c "$line"; sleep 600';
    steps.push(start(shell));
    await it.send("go");
    const first = await asked(1);
    assertEquals(first.args, { command: shell, background: true });
    assertStringIncludes(first.reason, "run in the background");
    assertEquals(await running(it), []);
    await it.call("session.approve", { approval_id: first.approval_id, decision: "allow" });
    await it.event("turn.completed");
    const [command_id] = await running(it);
    steps.push(call("command_input", { command_id, text: "touch made\n" }));
    await it.send("go");
    const second = await asked(2);
    assertEquals(second.args, { command_id, text: "touch made\n", command: shell });
    await it.call("session.approve", { approval_id: second.approval_id, decision: "deny" });
    await until(() => it.client.of("turn.completed").length === 2, "the second turn");
    await until(
      async () =>
        (await it.call("background.output", { command_id })).text.includes("Read-only file system"),
      "the refusal",
    );
    assert(![...Deno.readDirSync(join(it.workdir, ".git"))].some((one) => one.isFile));
    await it.call("session.configure", { approval: "read_only" });
    const [refused, stopped] = await stage.does(
      call("command_input", { command_id, text: "touch made\n" }),
      call("stop_command", { command_id }),
    );
    assertStringIncludes(refused.output, "read_only");
    assertEquals(stopped.ok, true);
    assert(![...Deno.readDirSync(it.workdir)].some(({ name }) => name === "made"));
  },
});

Deno.test({
  name: "input to a command outside of the sandbox is asked for in every mode",
  ignore,
  async fn() {
    await using stage = await begin();
    const { it, steps } = stage;
    steps.push(start("cat", { outside_sandbox: true, reason: "to see it" }));
    await it.send("go");
    const { data } = await it.event("approval.requested");
    await it.call("session.approve", { approval_id: data.approval_id, decision: "allow_always" });
    await it.event("turn.completed");
    const [command_id] = await running(it);
    steps.push(call("command_input", { command_id, text: "x\n" }));
    await it.send("go");
    const asked = await it.event(
      "approval.requested",
      ({ data }) => data.tool === "command_input",
    );
    assertStringIncludes(asked.data.reason, "outside of the sandbox");
    await it.call("session.approve", { approval_id: asked.data.approval_id, decision: "deny" });
    await until(() => it.client.of("turn.completed").length === 2, "the second turn");
    assertEquals((await it.call("background.output", { command_id })).text, "");
  },
});

/** Answers with its name at the port that it is given, 0 for any, and says when it is up. */
const SERVER = [
  "import http.server, sys",
  "class H(http.server.BaseHTTPRequestHandler):",
  "  def do_GET(self):",
  "    self.send_response(200); self.end_headers(); self.wfile.write(sys.argv[2].encode())",
  "s = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), H)",
  "print('port', s.server_port, flush=True)",
  "s.serve_forever()",
].join("\n");
const get = (port: number | string) =>
  `python3 -c "import urllib.request as u; ` +
  `print(u.urlopen('http://127.0.0.1:${port}/', timeout=20).read().decode())"`;
const python = ignore || !hasProgram("python3");

Deno.test({
  name: "a server in the background answers a later command with network",
  ignore: python,
  async fn() {
    await using stage = await begin({ toml: "[sandbox]\nnetwork = true" });
    const { it } = stage;
    Deno.writeTextFileSync(join(it.workdir, "serve.py"), SERVER);
    const id = await stage.starts("python3 serve.py 0 pong");
    const [ready] = await stage.does(call("command_output", { command_id: id, wait_s: 60 }));
    const port = ready.output.match(/port (\d+)/)?.[1];
    assert(port !== undefined, ready.output);
    const [answer] = await stage.does(call("run_command", { command: get(port) }));
    assertEquals(answer.output, "pong");
  },
});

Deno.test({
  name: "without network the commands of a session share a loopback while one runs on",
  ignore: python || !has_bubblewrap,
  async fn() {
    await using stage = await begin({ toml: '[sandbox]\nshell = "bubblewrap"' });
    const { it } = stage;
    const run = async (command: string) =>
      (await stage.does(call("run_command", { command })))[0].output;
    const up = async (command_id: string) => {
      const [{ output }] = await stage.does(call("command_output", { command_id, wait_s: 60 }));
      assertStringIncludes(output, "port ");
    };
    Deno.writeTextFileSync(join(it.workdir, "serve.py"), SERVER);
    const rights = "grep -E '^(Uid|Gid|Cap|NoNew|Seccomp)' /proc/self/status; ls /proc/self/fd; " +
      "ls -ld . /etc; for each in pid mnt user ipc; do readlink /proc/1/ns/$each; done | wc -l";
    const alone = await run(rights);
    const [{ output }] = await stage.does(start("python3 serve.py 8311 one"));
    assertStringIncludes(output, "only this session's commands without network: true reach");
    const one = output.match(/cmd_\w+/)![0];
    await up(one);
    assertEquals(await run(get(8311)), "one");
    assertEquals(await run(rights), alone);
    // In the other direction too, and a port of one is taken for the other.
    const two = await stage.starts(`${get(8311)} | grep -q one && python3 serve.py 8312 two`);
    await up(two);
    assertEquals(await run(get(8312)), "two");
    assertStringIncludes(await run("python3 serve.py 8311 three"), "Address already in use");
    // Nobody else reaches it: another session, this machine, and a command with its network.
    const own = it.session_id;
    it.session_id = await it.client.session({
      workdir: it.place.mkdir("other"),
      model: it.model,
      approval: "auto",
    });
    assertStringIncludes(await run(get(8311)), "Connection refused");
    const other = await stage.starts("sleep 600");
    assertStringIncludes(await run(get(8311)), "Connection refused");
    await it.call("background.stop", { command_id: other });
    it.session_id = own;
    const connected = Deno.connect({ hostname: "127.0.0.1", port: 8311 });
    await assertRejects(() => connected, Deno.errors.ConnectionRefused);
    assertStringIncludes(
      await run("ls /sys/class/net /proc/net/dev; cat /proc/net/route"),
      "Iface",
    );
    assertEquals((await run("tail -n +3 /proc/net/dev")).match(/\w+(?=:)/g), ["lo"]);
    // It stays while any of them runs, and not longer.
    await it.call("background.stop", { command_id: one });
    assertEquals(await run(get(8312)), "two");
    await it.call("background.stop", { command_id: two });
    assertStringIncludes(await run(get(8312)), "Connection refused");
    const again = await stage.starts("python3 serve.py 8311 again");
    await up(again);
    assertEquals(await run(get(8311)), "again");
  },
});

Deno.test({
  name: "a time limit ends it, and work for others has none",
  ignore,
  async fn() {
    await using stage = await begin();
    const { it } = stage;
    const id = await stage.starts("sleep 600", { timeout_s: 1 });
    const [waited] = await stage.does(call("command_output", { command_id: id, wait_s: 60 }));
    assertEquals(waited.output, "[stopped at its time limit]");
    assertEquals(it.client.of("background.ended")[0].data.reason, "timeout");
    const untrusted = await it.client.session({
      workdir: it.place.mkdir("hired"),
      model: it.model,
      approval: "auto",
      trust: "untrusted",
    });
    stage.steps.push(start("sleep 600"));
    await it.client.turn(untrusted, "go");
    const { data } = it.client.of("session.tool_completed").at(-1)!;
    assertStringIncludes(data.output, "only sessions of a person");
    assertEquals(data.ok, false);
  },
});
