/** The compiled binary, installed by install.sh and brought up to date by itself. */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { join } from "@std/path";
import { RpcClient } from "../../src/client/rpc.ts";
import {
  Half,
  makeRelease,
  publishFor,
  ReleaseServer,
  testSigner,
  updateToml,
  withVersion,
} from "../support/releases.ts";
import { can_run_svc, gone, Place, TestClient, tests_binary } from "../support/svc.ts";

const ignore = !can_run_svc || !tests_binary || Deno.build.os === "windows";
const ARCHIVE = `svc-${Deno.build.target}.tar.gz`;

/** Runs a program to its end with nothing in its environment but what is named. */
async function run(program: string, args: string[], env: Record<string, string>, cwd = "/") {
  const command = new Deno.Command(program, { args, env, clearEnv: true, cwd, stdin: "null" });
  const { code, stdout, stderr } = await command.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** The version that a binary tells, without its revision. */
async function versionOf(binary: string): Promise<string> {
  return (await run(binary, ["--version"], {})).stdout.match(/^svc ([^+]+)\+/)![1];
}

Deno.test({
  name:
    "a stranger's home: install.sh, then chat with nothing but the binary on PATH, and away again",
  ignore,
  async fn() {
    await using place = new Place();
    const binary = Deno.env.get("SVC_BIN")!;
    await using server = new ReleaseServer(join(place.dir, "release"));
    await makeRelease({
      out: server.dir,
      version: await versionOf(binary),
      signer: await testSigner(),
      binary: await Deno.readFile(binary),
      base_url: server.base_url,
    });
    const home = place.mkdir("stranger");
    const script = join(server.dir, "install.sh");
    const system = { HOME: home, TMPDIR: home, PATH: Deno.env.get("PATH")! };
    const installed = await run("sh", [script], system);
    assertEquals(installed.code, 0, installed.stderr);
    const bin = join(home, ".svc", "bin");
    const workdir = place.mkdir("project");
    Deno.writeTextFileSync(join(workdir, "greeting.txt"), "hello");
    const alone = { HOME: home, TMPDIR: home, PATH: bin };
    try {
      const chat = await run(join(bin, "svc"), ["chat", "-p", "ls"], alone, workdir);
      assertEquals(chat.code, 0, chat.stderr);
      assertStringIncludes(chat.stdout, "greeting.txt");
    } finally {
      const { pid } = JSON.parse(Deno.readTextFileSync(join(home, ".svc", "daemon.json")));
      const removed = await run("sh", [script, "--uninstall"], system);
      assertEquals(removed.code, 0, removed.stdout + removed.stderr);
      assert(await gone(pid));
    }
    assertEquals(
      [...Deno.readDirSync(join(home, ".svc"))].some(({ name }) => name === "bin"),
      false,
    );
  },
});

Deno.test({
  name: "an update under a daemon at work: killed, then done; the sessions go over to it and back",
  ignore,
  async fn() {
    await using place = new Place();
    const bin = join(place.home, "bin");
    const svc = join(bin, "svc");
    place.env.PATH = `${bin}:${place.env.PATH}`;
    Deno.mkdirSync(bin, { recursive: true, mode: 0o700 });
    Deno.chmodSync(place.home, 0o700);
    Deno.copyFileSync(Deno.env.get("SVC_BIN")!, svc);
    const old = await versionOf(svc);
    const fresh = `9${old.slice(1)}`;
    const signer = await testSigner();
    await using server = new ReleaseServer(join(place.dir, "release"));
    const binary = await withVersion(svc, old, fresh);
    await makeRelease({ out: server.dir, version: fresh, signer, binary });
    place.configure(updateToml(server, signer));

    // The daemon runs from the very file that is to be replaced.
    const workdir = place.mkdir("project");
    assertEquals((await run(svc, ["chat", "-p", "help"], place.env, workdir)).code, 0);
    const { pid, sock } = place.discovery();
    await using client = new TestClient(
      new RpcClient(await Deno.connect({ transport: "unix", path: sock })),
    );
    const id = await client.session({ workdir, approval: "auto" });
    const stop = join(workdir, "stop");
    const prompt = `run until test -e stop; do echo busy; sleep 0.1; done; echo finished`;
    await client.rpc.call("session.send", { session_id: id, text: prompt });
    await client.wait(({ type }) => type === "session.tool_started");

    const half = new Half();
    server.faults.set(ARCHIVE, half.fault);
    const killed = new Deno.Command(svc, {
      args: ["update"],
      env: place.env,
      clearEnv: true,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await deadline(half.reached.promise, 60_000);
    killed.kill("SIGKILL");
    await killed.status;
    half.goOn();
    server.faults.clear();
    assertEquals(await versionOf(svc), old);

    const updated = await run(svc, ["update"], place.env);
    assertEquals([updated.code, await versionOf(svc)], [0, fresh], updated.stderr);
    assertStringIncludes(updated.stdout, "`svc serve restart` switches to the new binary");
    assertEquals(updated.stderr.includes("was not changed"), false);
    const files = [...Deno.readDirSync(join(place.home, "bin"))].map(({ name }) => name).sort();
    assertEquals(files, ["svc", "svc.previous"]);
    assertEquals(await versionOf(`${svc}.previous`), old);

    Deno.writeTextFileSync(stop, "");
    const done = await client.wait(({ type }) => type === "session.tool_completed");
    assertEquals([done.data.ok, done.data.output.includes("finished")], [true, true]);
    await client.wait(({ type, session_id }) => type === "turn.completed" && session_id === id);
    const seqs = client.events.filter((it) => it.session_id === id).map(({ seq }) => seq);
    assertEquals(seqs, [...seqs.keys()].map((n) => n + 1));
    assertEquals(place.discovery().pid, pid);

    const { checks } = JSON.parse((await run(svc, ["doctor", "--json"], place.env)).stdout);
    const versions = checks.find(({ name }: { name: string }) => name === "versions");
    assertEquals(versions.status, "warn");
    assertStringIncludes(versions.message, `is ${fresh}`);
    const restarted = await run(svc, ["serve", "restart"], place.env);
    assertEquals(restarted.code, 0, restarted.stderr);
    assertNotEquals(place.discovery().pid, pid);
    assertStringIncludes(place.discovery().version, fresh);
    const got = await run(svc, ["ctl", "sessions", "get", id], place.env);
    assertEquals(JSON.parse(got.stdout).state, "running");

    const back = await run(svc, ["update", "--rollback", "--restart", "--json"], place.env);
    assertEquals([back.code, await versionOf(svc)], [0, old], back.stderr);
    assertStringIncludes(JSON.parse(back.stdout).daemon.version, old);
    assertStringIncludes(place.discovery().version, old);
    const forth = await run(svc, ["update", "--rollback", "--restart"], place.env);
    assertEquals(forth.code, 0, forth.stderr);
    assertStringIncludes(forth.stdout, `svc ${place.discovery().version} is running with pid`);
    assertStringIncludes(place.discovery().version, fresh);
  },
});

Deno.test({
  name: "an archive that is changed on its way leaves the compiled binary as it is",
  ignore,
  async fn() {
    await using place = new Place();
    await using server = await publishFor(place, "9.0.0");
    server.faults.set(ARCHIVE, () => "something else");
    const { code, stderr } = await place.svc(["update"]);
    assertEquals([code, [...Deno.readDirSync(join(place.home, "bin"))]], [1, []], stderr);
  },
});
