/** Commands in a sandbox that reaches allowed hosts only, against a registry on loopback. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { startPackageRegistry } from "../support/package_registry.ts";
import { hasProgram } from "../support/programs.ts";
import { Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !hasProgram("bwrap");
const DONE: Answer = { text: "Done." };
const run = (command: string, more = {}): Answer => ({
  calls: [{ name: "run_command", args: { command, ...more } }],
});

/** A session with a registry; `@HOST` in commands and in the configuration is the registry's. */
async function withRegistry(
  commands: readonly (string | Answer)[],
  { allowed = ["@HOST"], start, toml = "" }: {
    allowed?: string[];
    start?: ScenarioOptions["start"];
    toml?: string;
  } = {},
) {
  const directory = Deno.makeTempDirSync();
  const registry = await startPackageRegistry(directory);
  const fill = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll("@HOST", registry.host));
  const steps = commands.map((each) => typeof each === "string" ? run(each) : each);
  const it = await Scenario.begin(fill([...steps, DONE]), {
    toml: `[sandbox]\nnetwork = "allowed"\nregistries = false\n` +
      `allowed_hosts = ${JSON.stringify(fill(allowed))}\n${toml}`,
    start,
  });
  const all = (type: string) =>
    // deno-lint-ignore no-explicit-any -- the data of any event
    it.client.events.filter((event) => event.type === type).map(({ data }): any => data);
  return {
    it,
    registry,
    all,
    async done() {
      await it.turn("go");
      return all("session.tool_completed");
    },
    async [Symbol.asyncDispose]() {
      await it[Symbol.asyncDispose]();
      await registry[Symbol.asyncDispose]();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Programs reach their own loopback without the proxy, unless told otherwise. */
const FETCH = "curl --noproxy '' -sS -m 20 http://@HOST/svc-inner | head -c 20";
/** Without the proxy. */
const PLAIN = "curl --noproxy '*' -sS -m 20 http://@HOST/svc-inner | head -c 20";
const curl = ignore || !hasProgram("curl");

Deno.test({
  name: "a listed port of this machine is reached without the proxy, beside one's own servers",
  ignore: curl || !hasProgram("python3"),
  async fn() {
    using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const serve = "python3 -m http.server -b 127.0.0.1 8351 2>/dev/null & " +
      "curl -sS -m 20 --retry 40 --retry-delay 1 --retry-connrefused http://localhost:8351/mine";
    await using here = await withRegistry([
      PLAIN,
      serve,
      PLAIN.replace("@HOST", `127.0.0.1:${other.addr.port}`),
      PLAIN,
    ]);
    Deno.writeTextFileSync(join(here.it.workdir, "mine"), "my own");
    const [listed, own, unlisted, again] = await here.done();
    assertStringIncludes(listed.output, "svc-inner");
    assertStringIncludes(own.output, "my own");
    assertMatch(unlisted.output, /Connection refused|Couldn't connect/);
    assertStringIncludes(again.output, "svc-inner");
    assertEquals(here.all("approval.requested"), []);
  },
});

Deno.test({
  name: "a host that is not allowed is refused with what to do, and nobody is asked in auto",
  ignore: curl,
  async fn() {
    await using here = await withRegistry([
      FETCH.replace(/ \|.*/, ""),
      "curl -sS -m 20 https://refused.example/",
    ], { allowed: ["*.example.com"] });
    const [fetched, refused] = await here.done();
    assertStringIncludes(
      fetched.output,
      `svc: ${here.registry.host} is not an allowed host; to allow it, add ` +
        `"${here.registry.host}" to allowed_hosts in [sandbox] of daemon.toml`,
    );
    assertEquals(refused.ok, false);
    assertStringIncludes(
      refused.output,
      "[svc refused a connection: refused.example:443 is not an allowed host; " +
        'to allow it, add "refused.example" to allowed_hosts',
    );
    assertEquals(here.registry.asked, []);
    assertEquals(here.all("approval.requested"), []);
  },
});

/** Runs a turn and gives each question the next decision. */
async function answered(
  here: Awaited<ReturnType<typeof withRegistry>>,
  ...answers: Record<string, unknown>[]
) {
  const ended = here.done();
  for (const [n, answer] of answers.entries()) {
    await until(() => here.all("approval.requested").length > n, "a question");
    const { approval_id } = here.all("approval.requested")[n];
    await here.it.call("session.approve", { approval_id, ...answer });
  }
  const done = await ended;
  return { done, asked: here.all("approval.requested") };
}

const ASKING = { start: { approval: "ask" }, allowed: [] };

Deno.test({
  name: "in a session that asks, the command waits for the person's answer about a host",
  ignore: curl,
  async fn() {
    await using here = await withRegistry([`${FETCH} && ${FETCH}`, FETCH, FETCH, FETCH], ASKING);
    const { done, asked } = await answered(
      here,
      ...[{ decision: "allow_always" }, { decision: "allow" }],
      ...[{ decision: "allow_always" }, { decision: "deny" }, { decision: "allow_always" }],
    );
    const shown = here.registry.host;
    const hosts = asked.filter(({ tool }: { tool: string }) => tool === "connect");
    assertEquals(hosts.map(({ reason }: { reason: string }) => reason), [
      `connect to ${shown} of this machine`,
      `connect to ${shown} of this machine`,
      `connect to ${shown} of this machine`,
    ]);
    assertEquals(hosts[0].args.host, shown);
    assertStringIncludes(hosts[0].args.for, "curl");
    // Once for both requests of one command; then denied; then allowed for the session.
    assertStringIncludes(done[0].output, "svc-inner");
    assertStringIncludes(done[1].output, `the person did not allow a connection to ${shown}`);
    assertStringIncludes(done[2].output, "svc-inner");
    assertStringIncludes(done[3].output, "svc-inner");
  },
});

Deno.test({
  name: "an answer for the directory holds in its next sessions, also in auto",
  ignore: curl,
  async fn() {
    await using here = await withRegistry([FETCH, DONE, FETCH], ASKING);
    const rule = `connect: ${here.registry.host}`;
    const { asked } = await answered(
      here,
      { decision: "allow" },
      { decision: "allow_always", always: { rule, scope: "directory" } },
    );
    assertEquals(asked[1].choices, [rule]);
    const { it } = here;
    const other = await it.client.session({
      workdir: it.workdir,
      model: it.model,
      approval: "auto",
    });
    await it.client.turn(other, "go");
    const done = here.all("session.tool_completed");
    assertStringIncludes(done.at(-1).output, "svc-inner");
    assertEquals(here.all("approval.requested").length, 2);
  },
});

Deno.test({
  name: "the time that a person takes to answer is no part of a command's time",
  ignore: curl,
  async fn() {
    await using here = await withRegistry([run(FETCH, { timeout_s: 3 })], ASKING);
    const ended = here.done();
    const asked = () => here.all("approval.requested");
    const answer = (n: number, decision: string) =>
      here.it.call("session.approve", { approval_id: asked()[n].approval_id, decision });
    await until(() => asked().length === 1, "a question for the command");
    await answer(0, "allow");
    await until(() => asked().length === 2, "a question for the host");
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    await answer(1, "allow");
    const [fetched] = await ended;
    assertEquals(fetched.ok, true, fetched.output);
    assertStringIncludes(fetched.output, "svc-inner");
  },
});

Deno.test({
  name: "a question about a host that a killed daemon leaves does not hold up the session",
  ignore: curl,
  async fn() {
    await using here = await withRegistry([FETCH, FETCH], {
      ...ASKING,
      toml: '[agent]\ncontinue = "always"\n',
    });
    const { it } = here;
    await it.send("go");
    const asked = () => here.all("approval.requested");
    await until(() => asked().length === 1, "a question for the command");
    await it.call("session.approve", { approval_id: asked()[0].approval_id, decision: "allow" });
    await until(() => asked().length === 2, "a question for the host");
    await it.restart();
    // The turn goes on: the next command asks again.
    await until(() => asked().length === 3, "a question for the next command");
    const { pending_approvals } = await it.call("session.get");
    assertEquals(pending_approvals.length, 1);
    assertEquals(pending_approvals[0].tool, "run_command");
    // The command had begun, so it is not run again.
    const [first] = here.all("session.tool_completed");
    assertStringIncludes(first.output, "it may or may not have taken effect");
    assert(pending_approvals[0].call_id !== asked()[0].call_id);
    await it.call("session.approve", { approval_id: asked()[2].approval_id, decision: "deny" });
    await it.event("turn.completed");
    const left = [...Deno.readDirSync(join(it.place.home, "spaces", "proxies"))];
    assertEquals(left.length <= 1, true);
  },
});

Deno.test({
  name: "work for others asks nobody, and reaches nothing on this machine",
  ignore: curl,
  async fn() {
    const commands = [FETCH, FETCH.replace("@HOST", "other.example"), PLAIN];
    await using here = await withRegistry(commands, {
      start: { approval: "auto", trust: "untrusted" },
    });
    const done = await here.done();
    assertMatch(done[2].output, /Connection refused|Couldn't connect/);
    assertStringIncludes(done[0].output, "is not on the public internet; work for others");
    assertStringIncludes(done[1].output, "other.example:80 is not an allowed host");
    assertEquals([here.all("approval.requested"), here.registry.asked], [[], []]);
  },
});

Deno.test({
  name: "a question about a host goes when its command ends",
  ignore: curl,
  async fn() {
    const impatient = FETCH.replace("-m 20", "-m 2").replace(/ \|.*/, "");
    await using here = await withRegistry([impatient], ASKING);
    const { done, asked } = await answered(here, { decision: "allow" });
    assertEquals(asked.length, 2);
    assertEquals(done[0].ok, false);
    const { pending_approvals, lanes } = await here.it.call("session.get");
    assertEquals(pending_approvals, []);
    assertEquals(lanes.filter(({ status }: { status: string }) => status === "blocked"), []);
  },
});

Deno.test({
  name: "a question about a host goes when its command is killed",
  ignore: curl,
  async fn() {
    await using here = await withRegistry([FETCH], ASKING);
    const { it } = here;
    await it.send("go");
    const asked = () => here.all("approval.requested");
    await until(() => asked().length === 1, "a question for the command");
    await it.call("session.approve", { approval_id: asked()[0].approval_id, decision: "allow" });
    await until(() => asked().length === 2, "a question for the host");
    const { data: { lane_id } } = await it.event(
      "lane.status",
      ({ data }) => data.lane_id !== "main" && data.status === "running",
    );
    await it.call("lanes.kill", { lane_id });
    await it.event("turn.completed");
    const { approval_id } = asked()[1];
    assertEquals(here.all("approval.resolved").slice(1), [
      { approval_id, decision: "deny", by: "svc" },
    ]);
    assertEquals(here.all("session.tool_completed")[0].ok, false);
  },
});

Deno.test({
  name: "rules hold for hosts, but one for many hosts does not reach this machine",
  ignore: curl,
  async fn() {
    const other = "curl -sS -m 20 http://other.example/";
    const denied = "curl -sS -m 20 http://a.denied.example/";
    await using here = await withRegistry([FETCH, other, denied], {
      allowed: ["*.denied.example"],
      toml:
        '[permissions]\nallow = ["connect", "connect: *"]\ndeny = ["connect: *.denied.example"]\n',
    });
    const done = await here.done();
    assertStringIncludes(done[0].output, `${here.registry.host} is not an allowed host`);
    assertStringIncludes(done[1].output, "other.example could not be resolved");
    assertMatch(
      done[2].output,
      /a\.denied\.example:80 is denied by the rule .*connect: \*\.denied/,
    );
    assertEquals(here.registry.asked, []);
  },
});

Deno.test({
  name: "a command in the background keeps its way out as long as it runs, and asks nobody",
  ignore: curl,
  async fn() {
    const directory = Deno.makeTempDirSync();
    await using registry = await startPackageRegistry(directory);
    const fetched = `curl -sS -m 20 http://${registry.host}/svc-inner`;
    const line = `curl -sS -m 20 http://refused.example/ >/dev/null; ${fetched}; sleep 60`;
    const read = (wait_s: number): Scripted => ({ messages }) => {
      const [command_id] = /cmd_[0-9A-Z]+/.exec(JSON.stringify(messages))!;
      return { calls: [{ name: "command_output", args: { command_id, wait_s } }] };
    };
    await using it = await Scenario.begin(
      [run(line, { background: true }), read(10), read(0), DONE],
      {
        toml: `[sandbox]\nnetwork = "allowed"\nallowed_hosts = ["${registry.host}"]\n` +
          '[permissions]\nallow = ["run_command", "command_output"]\n',
        start: { approval: "ask" },
      },
    );
    await it.turn("go");
    const done = it.client.events.filter(({ type }) => type === "session.tool_completed")
      .map(({ data }) => String(data.output));
    assertStringIncludes(done[1], "svc-inner");
    assertStringIncludes(done[1], "[svc refused a connection: refused.example:80");
    assert(!done[2].includes("refused"), done[2]);
    assertEquals(it.types().includes("approval.requested"), false);
    const sockets = () => [...Deno.readDirSync(join(it.place.home, "spaces", "proxies"))].length;
    // One of the proxy, and one of the registry's port.
    assertEquals(sockets(), 2);
    const [command_id] = /cmd_[0-9A-Z]+/.exec(done[0])!;
    await it.call("background.stop", { command_id });
    await until(() => sockets() === 0, "the end of its way out");
    await Deno.remove(directory, { recursive: true });
  },
});
