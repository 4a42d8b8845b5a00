import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { Finding } from "../../src/cli/doctor/check.ts";
import { programPath } from "../support/programs.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const SECRET = "sk-secret-secret-secret";

async function doctor(
  place: Place,
): Promise<{ code: number; failed: Finding[]; of(name: string): Finding }> {
  const { code, stdout, stderr } = await place.svc(["doctor", "--json"]);
  assertEquals(stderr, "");
  const { ok, checks }: { ok: boolean; checks: Finding[] } = JSON.parse(stdout);
  assertEquals(ok, code === 0);
  return {
    code,
    failed: checks.filter(({ status }) => status === "fail"),
    of: (name) => checks.find((it) => it.name === name)!,
  };
}

Deno.test({
  name: "doctor finds nothing wrong with a new home, nor with a daemon that runs",
  ignore,
  async fn() {
    await using place = new Place({ ANTHROPIC_API_KEY: SECRET });
    const before = await doctor(place);
    assertEquals([before.code, before.of("socket").status], [0, "warn"]);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const gone = await client.session({ workdir: place.mkdir("gone") });
    await client.rpc.call("session.kill", { session_id: gone });
    await client.rpc.call("session.delete", { session_id: gone });
    await client.session({ workdir: place.mkdir("project") });
    const after = await doctor(place);
    assertEquals(after.failed, []);
    assertEquals(after.code, 0);
    for (const name of ["versions", "files", "config", "socket", "port", "token", "journals"]) {
      assertEquals([name, after.of(name).status], [name, "ok"], after.of(name).message);
    }
    assertStringIncludes(after.of("journals").message, "1 session");
    assertStringIncludes(after.of("models").message, "anthropic");
    const { status, message } = after.of("limits");
    assertEquals(status, "ok", message);
    if (Deno.build.os === "linux") {
      assertMatch(message, /(?:control group holds|watches) the memory/);
    }
    const { stdout } = await place.svc(["doctor"]);
    assertEquals(
      [stdout.includes(SECRET), stdout.includes("\x1b"), stdout.includes(daemon.token)],
      [
        false,
        false,
        false,
      ],
    );
  },
});

Deno.test({
  name:
    "doctor tries the default model: an unknown provider, a missing key, a server that is not there",
  ignore,
  async fn() {
    const models = startOpenAiServer(() => ({ text: "hello" }), { open: true });
    await using place = new Place();
    const local = (url: string) =>
      `default_model = "local/m"\n[models.local]\nkind = "openai-compatible"\nbase_url = "${url}"\n`;
    const examined = async (toml: string) => {
      place.configure(toml);
      const daemon = await place.serve();
      const running = await doctor(place);
      await daemon.stop();
      const resting = await doctor(place);
      return [running, resting].map((it) => [it.of("models").status, it.of("models").message]);
    };
    for (const [status, message] of await examined('default_model = "ghost/x"\n')) {
      assertEquals(status, "fail");
      assertStringIncludes(message, "the default model is ghost/x, and cannot be used: ");
      assertStringIncludes(message, "ghost");
    }
    for (const [status, message] of await examined('default_model = "openai/gpt-5.1"\n')) {
      assertEquals(status, "fail");
      assertStringIncludes(message, "API key");
    }
    // The control, then the same server when it is gone.
    assertEquals((await examined(local(models.url))).map(([status]) => status), ["ok", "ok"]);
    await models.close();
    const [[status, message]] = await examined(local(models.url));
    assertEquals(status, "fail", message);
  },
});

Deno.test({
  name: "doctor names what is wrong with files, configuration, journals and the discovery file",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    let id: string;
    {
      await using client = await daemon.rpc();
      id = await client.session({ workdir });
      await client.turn(id, "help");
    }
    const index = join(place.home, "sessions-index.json");
    await daemon.stop();
    const journal = join(workdir, ".svc", "sessions", id, "journal.ndjson");
    const lines = Deno.readTextFileSync(journal).split("\n");
    lines[2] = "rubbish";
    Deno.writeTextFileSync(journal, lines.join("\n"));
    Deno.chmodSync(index, 0o644);
    place.configure("[agent]\nmax_stps = 3\n");
    const left = {
      pid: 2 ** 22 + 1,
      sock: "",
      port: 1,
      token: "t",
      version: "",
      protocol_version: 1,
    };
    Deno.writeTextFileSync(join(place.home, "daemon.json"), JSON.stringify(left), { mode: 0o600 });

    const { code, of } = await doctor(place);
    assertEquals(code, 1);
    assertEquals(of("files").status, "fail");
    assertStringIncludes(of("files").hint!, `chmod 0600 ${index}`);
    assertStringIncludes(of("config").hint!, "agent.max_steps");
    assertStringIncludes(of("journals").message, `1 of 1 cannot be read: ${id}`);
    assertEquals(of("token").status, "warn");
    assertStringIncludes(of("token").message, "has stopped");
  },
});

Deno.test({
  name: "doctor tells when the installed binary is newer than the running daemon",
  ignore,
  async fn() {
    await using place = new Place();
    await place.serve();
    const bin = join(place.home, "bin");
    Deno.mkdirSync(bin, { mode: 0o700 });
    Deno.writeTextFileSync(join(bin, "svc"), "#!/bin/sh\necho 'svc 99.0.0+abc (deno 3)'\n", {
      mode: 0o700,
    });
    const { code, of } = await doctor(place);
    assertEquals([code, of("versions").status], [0, "warn"]);
    assertStringIncludes(of("versions").message, "is 99.0.0+abc");
    assertStringIncludes(of("versions").hint!, "svc serve restart");
  },
});

Deno.test({
  name: "a socket path that is too long is named by serve, chat and doctor, with what to set",
  ignore,
  async fn() {
    await using place = new Place();
    const long = place.mkdir("x".repeat(120));
    place.env.SVC_HOME = join(long, "home");
    const said = "the path of the local socket is too long: ";
    for (const args of [["serve"], ["chat", "-p", "ls"]]) {
      const { code, stderr } = await place.svc(args);
      assertEquals(code, 1);
      assertStringIncludes(stderr, said);
      assertStringIncludes(stderr, "set SVC_RUNTIME_DIR to a directory with a shorter path");
    }
    const { stdout } = await place.svc(["doctor", "--json"]);
    const { checks } = JSON.parse(stdout) as { checks: Finding[] };
    const socket = checks.find(({ name }) => name === "socket")!;
    assertEquals(socket.status, "fail");
    assertStringIncludes(socket.message, said);
    // What the hint says is enough.
    place.env.SVC_RUNTIME_DIR = join(place.dir, "run");
    await place.serve();
  },
});

Deno.test({
  name: "one session in / takes git and the browser from svc while it can run, and says so",
  ignore: ignore || programPath("git") !== "/usr/bin/git",
  async fn() {
    await using place = new Place({ PATH: "/usr/bin:/bin" });
    const id = "sess_01M8AVVP519CJDTS5JN2QBJJ3Q";
    const journal_path = `/.svc/sessions/${id}/journal.ndjson`;
    const entry = {
      workdir: "/",
      started_at: "2026-11-26T00:00:00.000Z",
      journal_path,
      last_seq: 1,
    };
    const anchors = join(place.home, "ledger");
    Deno.mkdirSync(anchors, { recursive: true, mode: 0o700 });
    Deno.chmodSync(place.home, 0o700);
    const write = (path: string, value: unknown) =>
      Deno.writeTextFileSync(path, JSON.stringify(value), { mode: 0o600 });
    write(join(place.home, "sessions-index.json"), { [id]: entry });
    write(join(anchors, "sessions.json"), { [id]: { state: "running" } });
    const open = (await doctor(place)).of("git");
    assertEquals([open.status, open.message], [
      "warn",
      "git is in /usr/bin, which a session in / can write to",
    ]);
    write(join(anchors, "sessions.json"), { [id]: { state: "ended" } });
    const ended = (await doctor(place)).of("git");
    assertEquals(ended.status, "ok", ended.message);
    assertStringIncludes(ended.message, "git version");
  },
});
