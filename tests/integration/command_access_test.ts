/** Commands that ask the person for more than the sandbox gives: the network, or no sandbox. */
import { assertEquals, assertStringIncludes } from "@std/assert";
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
      run({ command }),
      asking,
      asking,
      run({ command, network: true, reason: "another reason" }),
      run({ command: `${command}; true`, network: true, reason }),
      run({ command }),
      DONE,
    ]);
    const { asked, done } = await turn(it, "deny", "allow_always", "allow");
    assertEquals(done.map(({ ok }) => ok), [false, false, true, true, true, false]);
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
