import { assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place, svcCommand } from "../support/svc.ts";

const ignore = !can_run_svc;
const posix = Deno.build.os !== "windows";

/** What lies where and how wide it may be, once there is a daemon with a session. */
function ownFiles(place: Place, { sock }: Daemon, session_id: string) {
  const sessions = join(place.dir, "project", ".svc", "sessions");
  return {
    home: { path: place.home, mode: 0o700 },
    record: { path: join(place.home, "daemon.json"), mode: 0o600 },
    lock: { path: join(place.home, "daemon.lock"), mode: 0o600 },
    index: { path: join(place.home, "sessions-index.json"), mode: 0o600 },
    links: { path: join(place.home, "journals"), mode: 0o700 },
    socket: { path: sock, mode: 0o600 },
    runtime: { path: dirname(sock), mode: 0o700 },
    logs: { path: join(place.home, "log"), mode: 0o700 },
    log: { path: join(place.home, "log", "daemon.ndjson"), mode: 0o600 },
    svc: { path: dirname(sessions), mode: 0o700 },
    sessions: { path: sessions, mode: 0o700 },
    session: { path: join(sessions, session_id), mode: 0o700 },
    journal: { path: join(sessions, session_id, "journal.ndjson"), mode: 0o600 },
  };
}

/** Starts a daemon that should refuse; one that does not is stopped after a while. */
async function refusedStart(place: Place): Promise<{ code: number; stderr: string }> {
  const [program, first] = svcCommand();
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 30_000);
  const { code, stderr } = await new Deno.Command(program, {
    args: [...first, "serve"],
    env: place.env,
    clearEnv: true,
    cwd: "/",
    stdout: "null",
    stderr: "piped",
    signal: stop.signal,
  }).output();
  clearTimeout(timer);
  const text = new TextDecoder().decode(stderr);
  return { code, stderr: stop.signal.aborted ? `it started: ${text}` : text };
}

async function withSession(place: Place): Promise<[Daemon, string]> {
  const daemon = await place.serve();
  const workdir = place.mkdir("project");
  const { json } = await daemon.http("POST", "/v1/sessions", { workdir });
  return [daemon, json.session_id];
}

/** The only session's list item, once a daemon that has just started has tried to open its journal. */
async function opened(daemon: Daemon): Promise<{ id: string; state: string; reason: string }> {
  let item: { id: string; state: string; reason: string };
  await until(async () => {
    const { json } = await daemon.http("GET", "/v1/sessions");
    [item] = json.sessions;
    return item.state === "unreadable";
  }, "the session is unreadable");
  return item!;
}

Deno.test({
  name: "files are for their owner alone, and a daemon refuses to start on wider ones",
  ignore: ignore || !posix,
  async fn() {
    await using place = new Place();
    // The usual umask, and one that leaves everything to the program.
    const [daemon, session_id] = await withSession(place);
    const files = ownFiles(place, daemon, session_id);
    for (const { path, mode } of Object.values(files)) {
      assertEquals((Deno.lstatSync(path).mode! & 0o777).toString(8), mode.toString(8), path);
    }
    // Crashed, it leaves record and socket behind.
    await daemon.kill();
    const { svc: _, sessions: __, session: ___, journal: ____, ...of_daemon } = files;
    for (const { path, mode } of Object.values(of_daemon)) {
      for (const wide of [0o040, 0o004, 0o011]) {
        Deno.chmodSync(path, mode | wide);
        const { code, stderr } = await refusedStart(place);
        assertEquals(code, 1, `${path} ${stderr}`);
        const octal = (value: number) => value.toString(8).padStart(4, "0");
        assertStringIncludes(stderr, `${path} has mode ${octal(mode | wide)}`);
        assertStringIncludes(stderr, `chmod ${octal(mode)} ${path}`);
        assertEquals(Deno.lstatSync(path).mode! & 0o777, mode | wide, "nothing is mended silently");
        Deno.chmodSync(path, mode);
      }
      const moved = `${path}.moved`;
      Deno.renameSync(path, moved);
      Deno.symlinkSync(moved, path);
      const { code, stderr } = await refusedStart(place);
      assertEquals(code, 1, `${path} ${stderr}`);
      assertStringIncludes(stderr, `${path} is a symbolic link`);
      Deno.removeSync(path);
      Deno.renameSync(moved, path);
    }
    Deno.writeTextFileSync(`${daemon.sock}.other`, "mine", { mode: 0o600 });
    Deno.renameSync(`${daemon.sock}.other`, daemon.sock);
    const { code, stderr } = await refusedStart(place);
    assertEquals([code, Deno.readTextFileSync(daemon.sock)], [1, "mine"], stderr);
    Deno.removeSync(daemon.sock);
    const after = await place.serve();
    const got = await after.http("GET", `/v1/sessions/${session_id}`);
    assertEquals(got.json.state, "running");
  },
});

Deno.test({
  name: "a journal that others may read, or that is a link, is not opened, and says how to mend it",
  ignore: ignore || !posix,
  async fn() {
    await using place = new Place();
    const [first, session_id] = await withSession(place);
    const { journal, session, sessions, svc } = ownFiles(place, first, session_id);
    await first.stop();
    for (const { path, mode } of [journal, session, sessions, svc]) {
      Deno.chmodSync(path, mode | 0o044);
      const daemon = await place.serve();
      const item = await opened(daemon);
      assertEquals(item.id, session_id, path);
      assertStringIncludes(item.reason, path);
      assertStringIncludes(item.reason, `chmod ${mode.toString(8).padStart(4, "0")} ${path}`);
      await daemon.stop();
      Deno.chmodSync(path, mode);
    }
    Deno.renameSync(journal.path, `${journal.path}.moved`);
    Deno.symlinkSync(`${journal.path}.moved`, journal.path);
    const linked = await place.serve();
    assertStringIncludes((await opened(linked)).reason, `${journal.path} is a symbolic link`);
    await linked.stop();
    Deno.renameSync(`${journal.path}.moved`, journal.path);
    const daemon = await place.serve();
    const { json } = await daemon.http("GET", `/v1/sessions/${session_id}`);
    assertEquals(json.state, "running");
  },
});

Deno.test({
  name: "a second daemon of the same home says who runs and how to talk to it",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const before = place.discovery();
    const { code, stderr, stdout } = await place.svc(["serve", "--emit-port-stdout"]);
    assertEquals([code, stdout], [1, ""]);
    for (const said of [String(daemon.pid), daemon.sock, "svc ctl"]) {
      assertStringIncludes(stderr, said);
    }
    assertEquals(place.discovery(), before);
    assertEquals((await daemon.http("GET", "/v1/health")).status, 200);
  },
});
