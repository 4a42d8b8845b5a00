/** product.md, Endpoints: surface A's command line. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { basename, join } from "@std/path";
import { Hire } from "../support/hire.ts";
import { firstLine } from "../support/processes.ts";
import { publishFor, scriptBinary } from "../support/releases.ts";
import { gone, Place, spawnSvc, tests_binary } from "../support/svc.ts";
import { can_run_systemd, UserSystemd } from "../support/systemd.ts";
import { row } from "./row.ts";
import { createSession, http, Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "Command line";

/** Runs `svc` against the shared daemon; it must do well. */
async function svc(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await shared.place.svc(args);
  assertEquals(code, 0, stderr);
  return stdout;
}

row("product", SECTION, "svc serve: run the daemon", async () => {
  await using place = new Place();
  const child = spawnSvc(place, ["serve"]);
  await firstLine(child);
  const { pid, port } = place.discovery();
  const health = await fetch(`http://127.0.0.1:${port}/v1/health`);
  assertEquals((await health.json()).sessions, 0);
  assertEquals(pid, child.pid);
  child.kill("SIGTERM");
  assertEquals((await child.output()).code, 0);
});

row("product", SECTION, "svc serve --addr <addr>", async () => {
  await using place = new Place();
  // Free, and not one that the system hands out to others meanwhile.
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  Deno.listen({ hostname: "127.0.0.1", port }).close();
  const daemon = await place.serve("--addr", `127.0.0.1:${port}`);
  assertEquals(daemon.port, port);
  assertEquals((await http(daemon, "GET", "/v1/health")).status, 200);
});

row("product", SECTION, "svc serve --port=0", async () => {
  await using place = new Place();
  assert((await place.serve("--port=0")).port > 0);
});

row("product", SECTION, "svc serve --emit-port-stdout: a daemon.listening line", async () => {
  await using place = new Place();
  const child = spawnSvc(place, ["serve", "--emit-port-stdout"]);
  const line = JSON.parse(await firstLine(child));
  assertEquals([line.event, line.port], ["daemon.listening", place.discovery().port]);
  child.kill("SIGTERM");
  await child.output();
});

row("product", SECTION, "svc serve --enable-agent-routes", async () => {
  await using place = new Place();
  await using hire = await Hire.serve(place);
  const health = await fetch(`http://127.0.0.1:${hire.daemon_port}/v1/health`);
  assertEquals((await health.json()).status, "ok");
  assertEquals((await hire.request("GET", "/api/capabilities")).status, 200);
  const { stdout } = await place.svc(["serve", "--help"]);
  assertStringIncludes(stdout.replaceAll(/\s+/g, " "), ":8440 by default");
});

row("product", SECTION, "svc serve --install: write a per-user background unit", async () => {
  await using place = new Place();
  await using systemd = await UserSystemd.start(place);
  const { code, stderr } = await place.svc(["serve", "--install"]);
  assertEquals(code, 0, stderr);
  const path = await systemd.show("FragmentPath");
  assertMatch(Deno.readTextFileSync(path), /^ExecStart=.*\bserve\b/m);
}, { ignore: !can_run_systemd });

row("product", SECTION, "svc serve --uninstall: stop and remove the unit", async () => {
  await using place = new Place();
  await using systemd = await UserSystemd.start(place);
  assertEquals((await place.svc(["serve", "--install"])).code, 0);
  const { pid } = place.discovery();
  const { code, stderr } = await place.svc(["serve", "--uninstall"]);
  assertEquals(code, 0, stderr);
  assert(await gone(pid));
  assertEquals(await systemd.show("LoadState"), "not-found");
}, { ignore: !can_run_systemd });

row("product", SECTION, "svc serve --status: show daemon status", async () => {
  const shown = await svc("serve", "--status");
  for (const value of [shared.daemon.pid, shared.daemon.port]) {
    assertStringIncludes(shown, String(value));
  }
});

row("product", SECTION, "svc serve restart: restart-based hot upgrade", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  const workdir = place.mkdir("project");
  const { session_id } = await createSession(daemon, { workdir });
  assertEquals((await place.svc(["serve", "restart"])).code, 0);
  assert(await gone(daemon.pid));
  const { pid, port, token } = place.discovery();
  assert(pid !== daemon.pid);
  const response = await fetch(`http://127.0.0.1:${port}/v1/sessions/${session_id}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assertEquals((await response.json()).workdir, workdir);
});

row("product", SECTION, "svc ctl discover: the values of the discovery file", async () => {
  const printed = await svc("ctl", "discover");
  for (const value of Object.values(shared.place.discovery())) {
    assertStringIncludes(printed, String(value));
  }
});

row("product", SECTION, "svc ctl sessions list", async () => {
  const workdir = shared.workdir();
  const { session_id } = await createSession(shared.daemon, { workdir });
  const printed = await svc("ctl", "sessions", "list");
  const [line] = printed.split("\n").filter((it) => it.includes(session_id));
  for (const value of [workdir, basename(workdir), " ago "]) {
    assertStringIncludes(line.replace("just now", "1 s ago"), value);
  }
});

row("product", SECTION, "svc ctl sessions get <session_id>", async () => {
  const workdir = shared.workdir();
  const { session_id } = await createSession(shared.daemon, { workdir });
  const printed = await svc("ctl", "sessions", "get", session_id);
  for (const value of [session_id, workdir, "running"]) assertStringIncludes(printed, value);
  assertEquals((await shared.place.svc(["ctl", "sessions", "get", "sess_none"])).code, 1);
});

row("product", SECTION, "svc ctl sessions start <workdir>", async () => {
  const workdir = shared.workdir();
  const printed = await svc("ctl", "sessions", "start", workdir);
  const [id] = printed.match(/sess_\w+/)!;
  assertEquals((await shared.http("GET", `/v1/sessions/${id}`)).json.workdir, workdir);
});

row("product", SECTION, "svc ctl sessions kill <session_id>", async () => {
  await using client = await shared.socket();
  const id = await client.session({ workdir: shared.workdir() });
  await svc("ctl", "sessions", "kill", id);
  await client.event((it) => it.session_id === id && it.type === "session.ended");
});

row("product", SECTION, "svc chat: starts the daemon if the socket does not answer", async () => {
  await using place = new Place();
  const workdir = place.mkdir("project");
  Deno.writeTextFileSync(join(workdir, "seen.txt"), "");
  const { code, stdout, stderr } = await place.svc(["chat", workdir, "-p", "ls"]);
  assertEquals(code, 0, stderr);
  assertStringIncludes(stdout, "seen.txt");
  assert(!await gone(place.discovery().pid, 0), "it stays");
});

row("product", SECTION, "svc update: a new binary at ~/.svc/bin/svc by atomic rename", async () => {
  await using place = new Place();
  await using _server = await publishFor(place, "9.0.0");
  const binary = join(place.home, "bin", "svc");
  Deno.mkdirSync(join(place.home, "bin"), { mode: 0o700 });
  Deno.writeFileSync(binary, scriptBinary("8.0.0"), { mode: 0o755 });
  // Whoever has the old one open keeps it.
  using open = await Deno.open(binary);
  const { code, stderr } = await place.svc(["update"]);
  assertEquals(code, 0, stderr);
  assertEquals(Deno.readFileSync(binary), scriptBinary("9.0.0"));
  assertEquals((await open.stat()).size, scriptBinary("8.0.0").length);
  assert((await open.stat()).ino !== Deno.statSync(binary).ino);
}, { ignore: !tests_binary || Deno.build.os === "windows" });

row("product", SECTION, "svc doctor: tells that the installed binary is newer", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  Deno.mkdirSync(join(place.home, "bin"), { mode: 0o700 });
  const script = "#!/bin/sh\necho 'svc 99.0.0+newer (deno 2.0.0, protocol 1)'\n";
  Deno.writeTextFileSync(join(place.home, "bin", "svc"), script, { mode: 0o755 });
  const { stdout, stderr } = await place.svc(["doctor"]);
  const said = stdout + stderr;
  assertStringIncludes(said, "99.0.0+newer");
  assertStringIncludes(said, place.discovery().version);
  assertStringIncludes(said, "svc serve restart");
  assertEquals(place.discovery().pid, daemon.pid);
});
