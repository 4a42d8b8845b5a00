/** Commands reach what a person grants of the machine, and nothing else of it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { programPath } from "../support/programs.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux" || programPath("bwrap") === undefined ||
  programPath("curl") === undefined;

const ASK = 'curl -s --unix-socket "${DOCKER_HOST#unix://}" http://d/ || echo refused';
const run = { calls: [{ name: "run_command", args: { command: ASK } }] };
const DONE = { text: "Done." };

/** A server on a Unix socket in place of Docker. */
function docker(): AsyncDisposable & { env: { DOCKER_HOST: string }; ask(): Promise<string> } {
  const directory = Deno.makeTempDirSync({ prefix: "docker" });
  const path = join(directory, "sock");
  const server = Deno.serve({ path, onListen() {} }, () => new Response("I am Docker"));
  return {
    env: { DOCKER_HOST: `unix://${path}` },
    async ask() {
      const args = ["-s", "--unix-socket", path, "http://d/"];
      const { stdout } = await new Deno.Command("curl", { args }).output();
      return new TextDecoder().decode(stdout);
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      Deno.removeSync(directory, { recursive: true });
    },
  };
}

const outputs = (it: Scenario) =>
  it.client.of("session.tool_completed").map(({ data }) => data.output.trim());

async function grant(it: Scenario, names: string): Promise<void> {
  const path = join(it.place.home, "daemon.toml");
  const toml = Deno.readTextFileSync(path).replace(/^grant = .*$/m, `grant = [${names}]`);
  Deno.writeTextFileSync(path, toml);
  await it.client.rpc.call("daemon.reload_config");
}

Deno.test({
  name: "a reload grants and takes back, a restart keeps it, work for others gets nothing",
  ignore,
  async fn() {
    await using server = docker();
    assertEquals(await server.ask(), "I am Docker", "control");
    const steps = [run, DONE, run, DONE, run, DONE, run, DONE, run, DONE];
    const toml = '[sandbox]\ngrant = ["gpu"]\n';
    await using it = await Scenario.begin(steps, { env: server.env, toml });
    await it.turn("one");
    await grant(it, '"gpu", "docker"');
    await it.turn("two");
    await it.restart();
    await it.turn("three");
    const untrusted = await it.client.session({
      workdir: it.place.mkdir("hired"),
      model: it.model,
      approval: "auto",
      trust: "untrusted",
    });
    await it.client.turn(untrusted, "four");
    await grant(it, "");
    await it.turn("five");
    const seen = new Map(
      it.client.of("session.tool_completed").map(({ seq, session_id, data }) => [
        `${session_id} ${seq}`,
        data.output.trim(),
      ]),
    );
    const own = [...seen].filter(([key]) => key.startsWith(it.session_id)).map(([, out]) => out);
    assertEquals(own, ["refused", "I am Docker", "I am Docker", "refused"]);
    const hired = [...seen].filter(([key]) => key.startsWith(untrusted)).map(([, out]) => out);
    assertEquals(hired, ["refused"]);
    const told = it.client.of("context.told").map(({ data }) => data.text).join("\n");
    assertStringIncludes(told, "Granted to commands: gpu");
    assertStringIncludes(told, "docker (Docker, at DOCKER_HOST)");
    assertStringIncludes(told, "Granted to commands: none");
  },
});

Deno.test({
  name: "the question about a command names what is granted, and a failed one what could be",
  ignore,
  async fn() {
    await using server = docker();
    const fails = "echo 'Cannot connect to the Docker daemon at unix:///x. Is it running?'; false";
    const call = { calls: [{ name: "run_command", args: { command: fails } }] };
    await using it = await Scenario.begin([call, DONE, run, DONE], {
      env: server.env,
      toml: "[sandbox]\ngrant = []\n",
    });
    await it.turn("one");
    assertStringIncludes(
      outputs(it)[0],
      '[docker is not granted to commands; the person can grant it: [sandbox] grant = ["docker"] ' +
        "in daemon.toml]",
    );
    await grant(it, '"docker"');
    await it.call("session.configure", { approval: "ask" });
    await it.send("two");
    const { data } = await it.event("approval.requested");
    assertEquals(data.reason, `run with docker granted: ${ASK}`);
  },
});

Deno.test({
  name: "an unknown grant is refused with the known ones",
  ignore,
  async fn() {
    await using it = await Scenario.begin([DONE]);
    it.place.configure('[sandbox]\ngrant = ["dokcer"]\n');
    const error = await it.client.rpc.call("daemon.reload_config").then(
      () => ({ code: "", message: "" }),
      (error) => error,
    );
    assertEquals(error.code, "validation");
    assertStringIncludes(error.message, "sandbox.grant");
    assertStringIncludes(error.message, '"dokcer" is not one of ssh-agent, docker, podman');
  },
});

Deno.test({
  name: "svc doctor says what each grant opens, and what is not there",
  ignore,
  async fn() {
    await using server = docker();
    await using place = new Place({ ...server.env, SSH_AUTH_SOCK: "/missing" });
    place.configure('[sandbox]\ngrant = ["docker", "ssh-agent"]\n');
    const { stdout } = await place.svc(["doctor"]);
    assertStringIncludes(stdout, "docker: commands can start containers as root");
    assertStringIncludes(stdout, "(not there)");
  },
});
