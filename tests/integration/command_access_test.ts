/** Commands that ask the person for more than the sandbox gives: the network, or no sandbox. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { McpClient } from "../support/mcp.ts";
import type { Answer } from "../support/model_servers.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";
import { hasProgram } from "../support/programs.ts";
import { SharedDaemon } from "./shared_daemon.ts";

const ignore = !can_run_svc || !hasProgram("bwrap");
const shared = new SharedDaemon();
const DONE: Answer = { text: "Done." };
const run = (args: Record<string, unknown>): Answer => ({ calls: [{ name: "run_command", args }] });
const reason = "it fetches packages";

/** A server on this machine's own loopback, and a command that reaches it with a network only. */
function registry() {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("a package"),
  );
  const command = `exec 3<>/dev/tcp/127.0.0.1/${server.addr.port} && ` +
    `printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3`;
  return { command, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Sends a message, gives each question the next decision, and returns what was asked and done. */
async function turn(it: Scenario, ...decisions: string[]) {
  const before = it.client.events.length;
  const ended = it.turn("go");
  for (const [n, decision] of decisions.entries()) {
    const asked = () => since("approval.requested");
    await it.client.wait(() => asked().length > n, "a question");
    const { approval_id } = asked()[n];
    await it.call("session.approve", { approval_id, decision });
  }
  await ended;
  // deno-lint-ignore no-explicit-any -- the data of any event
  function since(type: string): any[] {
    return it.client.events.slice(before).filter((event) => event.type === type)
      .map(({ data }) => data);
  }
  return { asked: since("approval.requested"), done: since("session.tool_completed") };
}

Deno.test({
  name: "a command has the network once the person allows it, for this command line only",
  ignore,
  async fn() {
    await using server = registry();
    const { command } = server;
    const asking = run({ command, network: true, reason });
    await using it = await shared.begin([
      run({ command: "exec 3<>/dev/tcp/a.example/80" }),
      asking,
      asking,
      run({ command, network: true, reason: "another reason" }),
      run({ command: `${command}; true`, network: true, reason }),
      run({ command }),
      DONE,
    ]);
    const { asked, done } = await turn(it, "deny", "allow_always", "allow");
    assertEquals(done.map(({ ok }) => ok), [false, false, true, true, true, false]);
    assertStringIncludes(
      done[0].output,
      "the network is off for commands; ask for it with network: true",
    );
    assertStringIncludes(done[1].output, "did not allow");
    assertStringIncludes(done[2].output, "a package");
    assertEquals(asked[0].args, { command, network: true, reason });
    assertEquals(asked[0].reason, `run with network access: ${command}`);
    assertEquals(asked[2].args.command, `${command}; true`);
  },
});

Deno.test({
  name: "a command runs outside of the sandbox once the person allows it",
  ignore,
  async fn() {
    const touch = (name: string, more = {}) => ({ command: `touch "$AT/${name}"`, ...more });
    const steps = [
      run(touch("inside")),
      run(touch("refused", { outside_sandbox: true, reason })),
      run(touch("outside", { outside_sandbox: true, reason })),
      DONE,
    ];
    let there = "";
    await using it = await shared.begin((request) => {
      const answer = steps[request.messages.filter(({ role }) => role === "assistant").length];
      return JSON.parse(JSON.stringify(answer).replaceAll("$AT", there));
    });
    there = it.place.mkdir("elsewhere");
    const { asked, done } = await turn(it, "deny", "allow");
    assertEquals(done.map(({ ok }) => ok), [false, false, true]);
    const words = "run outside of the sandbox: touch";
    assertEquals(asked.map(({ reason }) => reason.startsWith(words)), [true, true]);
    assertEquals([...Deno.readDirSync(there)].map(({ name }) => name), ["outside"]);
  },
});

Deno.test({
  name: "what is always allowed in the sandbox is not allowed beyond it, whatever it looks like",
  ignore,
  async fn() {
    const lines = ["true", "with network access: true", ", with network access: true"];
    const steps = [
      ...lines.map((command) => run({ command })),
      run({ command: "true", network: true, reason }),
      DONE,
    ];
    await using it = await shared.begin(steps, { start: { approval: "ask" } });
    const { asked, done } = await turn(it, ...lines.map(() => "allow_always"), "deny");
    assertEquals([asked.length, done.at(-1)!.ok], [4, false]);
    assertEquals(new Set(asked.map(({ rule }) => rule)).size, 4);
  },
});

Deno.test({
  name: "more than the sandbox is asked for with a reason, and never by work for others",
  ignore,
  async fn() {
    await using server = registry();
    const { command } = server;
    const asking = run({ command, network: true, reason });
    await using it = await shared.begin([
      run({ command, network: true }),
      run({ command: "touch made", outside_sandbox: true, reason: "" }),
      DONE,
    ]);
    const { asked, done } = await turn(it);
    assertEquals([asked.length, done.map(({ ok }) => ok)], [0, [false, false]]);
    for (const { output } of done) assertStringIncludes(output, "reason");

    for (const approval of ["auto", "ask", "read_only"]) {
      const trust = approval === "read_only" ? "trusted" : "untrusted";
      await using other = await shared.begin([
        asking,
        run({ command: "touch made", outside_sandbox: true, reason }),
        DONE,
      ], { start: { approval, trust } });
      const { asked, done } = await turn(other);
      assertEquals([asked.length, done.map(({ ok }) => ok)], [0, [false, false]], approval);
      for (const { output } of done) assertStringIncludes(output, "refused");
      assertEquals([...Deno.readDirSync(other.workdir)].map(({ name }) => name), [".svc"]);
    }
  },
});

Deno.test({
  name: "a command is not asked about for what it has already, and the model is told what holds",
  ignore,
  async fn() {
    await using server = registry();
    const { command } = server;
    for (const toml of ["[sandbox]\nnetwork = true\n", '[sandbox]\nshell = "none"\n']) {
      const steps = [run({ command, network: true, reason }), DONE];
      await using it = await Scenario.begin(steps, { toml });
      const { asked, done } = await turn(it);
      assertEquals([asked.length, done[0].ok], [0, true], done[0].output);
    }
    const told = async (start: Record<string, unknown>) => {
      await using it = await shared.begin([DONE], { start });
      await it.turn("go");
      const { facts } = (await it.event("context.told")).data;
      return [facts.network, facts.sandbox].map((fact) => /the person is asked/.test(fact));
    };
    assertEquals(await told({}), [true, true]);
    assertEquals(await told({ approval: "read_only" }), [false, false]);
    assertEquals(await told({ trust: "untrusted" }), [false, false]);
  },
});

Deno.test({
  name: "svc chat -p denies it, and says how to allow it",
  ignore,
  async fn() {
    await using server = registry();
    const steps = [run({ command: server.command, network: true, reason }), DONE];
    await using it = await shared.begin(steps);
    const args = ["chat", "-p", "go", "--model", it.model, "--approve", "auto"];
    const { stdout, stderr } = await it.place.svc(args, { cwd: it.workdir });
    assertStringIncludes(stdout, "Done.");
    assertStringIncludes(stderr, "denied, because nobody can be asked: run_command");
    assertStringIncludes(stderr, "this always needs an answer");
  },
});

Deno.test({
  name: "a command has paths outside once the person allows them, each with its access",
  ignore,
  async fn() {
    let at = "";
    const paths = (...all: [string, string?][]) => ({
      paths: all.map(([path, access]) => ({ path: `$AT/${path}`, ...(access && { access }) })),
      reason,
    });
    const cat = { command: "cat $AT/docs/a.txt" };
    const both = paths(["docs"], ["out", "write"]);
    const copy = "cp $AT/docs/a.txt $AT/out/";
    const one = paths(["other/one.txt", "write"]);
    const steps: Answer[] = [
      run(cat),
      run({ ...cat, ...paths(["docs"]) }),
      run({ ...cat, ...paths(["docs"]) }),
      run({ command: `${copy} && echo x > $AT/docs/x.txt`, ...both }),
      run({ command: `echo new > $AT/other/one.txt; cat $AT/other/two.txt`, ...one }),
      run({ command: `cat $AT/docs/a.txt; ls $AT/docs/inner`, ...paths(["docs/missing"]) }),
      run({ command: "true", ...paths([".svc"]) }),
      run({ command: "true", ...paths(["docs/.git"]) }),
      run({ command: "cat ./here.txt", paths: [{ path: "here.txt" }], reason }),
      run(cat),
      DONE,
    ];
    await using it = await Scenario.begin((request) => {
      const answer = steps[request.messages.filter(({ role }) => role === "assistant").length];
      return JSON.parse(JSON.stringify(answer).replaceAll("$AT", at));
    }, { start: { approval: "auto" } });
    at = Deno.realPathSync(it.place.env.HOME);
    for (const name of ["docs/.git", "out", "other"]) {
      Deno.mkdirSync(`${at}/${name}`, { recursive: true });
    }
    Deno.writeTextFileSync(`${at}/docs/a.txt`, "of the person\n");
    for (const name of ["one", "two"]) Deno.writeTextFileSync(`${at}/other/${name}.txt`, "old\n");
    Deno.writeTextFileSync(`${it.workdir}/here.txt`, "here\n");
    const { asked, done } = await turn(it, "deny", ...Array(4).fill("allow"));
    const said = done.map(({ output }) => output);
    const ok = [false, false, true, false, false, false, false, false, true, false];
    assertEquals(done.map((it) => it.ok), ok, JSON.stringify(said));
    assertStringIncludes(said[0], `commands do not see ${at}/docs/a.txt`);
    assertEquals(said[2], "of the person");
    assertEquals(
      asked[0].reason,
      `run with access to ${at}/docs (read-only): cat ${at}/docs/a.txt`,
    );
    assertEquals(asked[2].args.paths, [
      { path: `${at}/docs`, access: "read" },
      { path: `${at}/out`, access: "write" },
    ]);
    // Written where it may, not where it may only read.
    assertStringIncludes(said[3], `${at}/docs is read-only here`);
    assertEquals(Deno.readTextFileSync(`${at}/out/a.txt`), "of the person\n");
    assertEquals([...Deno.readDirSync(`${at}/docs`)].length, 2);
    // One file, and not what lies beside it.
    assertEquals(Deno.readTextFileSync(`${at}/other/one.txt`), "new\n");
    assertStringIncludes(said[4], "two.txt: No such file");
    // Only once allowed, a model learns that something is missing.
    assertStringIncludes(said[5], "is not there");
    assertStringIncludes(said[6], "cannot ask for");
    assertStringIncludes(said[7], "is inside a .git directory");
    assertEquals(asked.length, 5);
  },
});

Deno.test({
  name: "a path is asked for again after a restart, and a link put in its place leads nowhere",
  ignore,
  async fn() {
    let at = "";
    const asking = () =>
      run({ command: `cat ${at}/docs/a.txt`, paths: [{ path: `${at}/docs` }], reason });
    await using it = await Scenario.begin(
      (request) => request.messages.at(-1)!.role === "user" ? asking() : DONE,
      { start: { approval: "auto" } },
    );
    at = Deno.realPathSync(it.place.env.HOME);
    for (const name of ["docs", "secret"]) {
      Deno.mkdirSync(`${at}/${name}`);
      Deno.writeTextFileSync(`${at}/${name}/a.txt`, `of ${name}\n`);
    }
    const { asked: first, done } = await turn(it, "allow");
    assertEquals(done[0].output, "of docs");
    await it.restart();
    const ended = it.turn("go");
    const fits = ({ data }: { data: { approval_id?: string } }) =>
      data.approval_id !== first[0].approval_id;
    const { approval_id } = (await it.event("approval.requested", fits)).data;
    Deno.renameSync(`${at}/docs`, `${at}/before`);
    Deno.symlinkSync(`${at}/secret`, `${at}/docs`);
    await it.call("session.approve", { approval_id, decision: "allow" });
    await ended;
    const { ok, output } = it.client.of("session.tool_completed").at(-1)!.data;
    assertEquals([ok, output.includes("of secret")], [false, false]);
    assertStringIncludes(output, "has changed");
  },
});

Deno.test({
  name:
    "a session has a network of its own, over a restart and in a fork, and only a person gives it",
  ignore,
  async fn() {
    await using server = registry();
    const { command } = server;
    await using it = await Scenario.begin((request) =>
      request.messages.at(-1)!.role === "user" ? run({ command }) : DONE
    );
    const reaches = async (session_id = it.session_id) => {
      await it.client.turn(session_id, "go");
      return it.client.of("session.tool_completed").at(-1)!.data.ok;
    };
    assertEquals(await reaches(), false);
    const configure = (network: string) => it.call("session.configure", { network });
    assertEquals((await configure("on")).network, "on");
    assertEquals(await reaches(), true);
    await it.restart();
    assertEquals((await it.call("session.get")).network, "on");
    assertEquals(await reaches(), true);
    const { session_id: fork } = await it.call("session.fork");
    await it.client.rpc.call("session.subscribe", { session_id: fork });
    assertEquals(await reaches(fork), true);
    await configure("allowed");
    assertEquals(await reaches(), false);
    await it.event("session.configured", ({ data }) => data.network === "allowed");
    const told = JSON.stringify(it.server.requests.at(-1)!.body);
    assertStringIncludes(told, "Network of commands: allowed hosts only");
    assertEquals((await configure("default")).network, "default");
    assertEquals(await reaches(), false);

    const untrusted = {
      ...{ workdir: it.workdir, model: it.model },
      ...{ trust: "untrusted", network: "on" },
    };
    await assertRejects(() => it.client.rpc.call("session.start", untrusted), Error, "untrusted");
    await using mcp = await McpClient.http(it.daemon, "?caps=all");
    const params = { session_id: it.session_id, network: "on" };
    const { isError, content } = await mcp.call("svc.session.configure", params);
    assertEquals(isError, true);
    assertStringIncludes(JSON.stringify(content), "only a person");
    const ctl = (...args: string[]) => it.place.svc(["ctl", "sessions", ...args]);
    const { stdout } = await ctl("configure", it.session_id, "--network", "on");
    assertStringIncludes(stdout, "network");
    assertEquals(await reaches(), true);
    const chat = ["chat", it.workdir, "--model", it.model, "--network", "on", "--approve", "auto"];
    const said = await it.place.svc([...chat, "-p", "go", "--output", "stream-json"]);
    assertStringIncludes(said.stdout, "a package");
  },
});
