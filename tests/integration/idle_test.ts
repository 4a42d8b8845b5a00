/** Sessions that nobody uses: a start and a stop leave them alone, and they are listed all the same. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { toText } from "@std/streams";
import { type History, writeHistory, writeIndex, writeSession } from "../support/histories.ts";
import { firstLine } from "../support/processes.ts";
import { killKeepers } from "../support/port_keeper.ts";
import { hasProgram } from "../support/programs.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Daemon, gone, Place, svcCommand } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const SESSIONS = 300;
const MB = 1e6;

interface Item {
  id: string;
  state: string;
}

/** A place with sessions that two daemons have seen: the first read them, the second has a note. */
async function rested(place: Place, sessions: number): Promise<History[]> {
  const histories = Array.from(
    { length: sessions },
    (_, n) => writeSession(place.mkdir(`project-${n % 30}`), n % 3 === 0 ? "ended" : "paused"),
  );
  writeIndex(place, histories);
  const daemon = await place.serve();
  await list(daemon);
  await daemon.stop();
  return histories;
}

const open = (histories: readonly History[]) => histories.filter(({ end }) => end !== "ended");

async function list(daemon: Daemon): Promise<Item[]> {
  return (await daemon.http("GET", "/v1/sessions")).json.sessions;
}

/** Starts a daemon below strace, which notes every file that it opens. */
async function serveTraced(place: Place, trace: string): Promise<Daemon> {
  const [program, first] = svcCommand();
  const child = new Deno.Command("strace", {
    args: [
      ...["-f", "-qq", "-e", "trace=open,openat,openat2", "-o", trace],
      ...[program, ...first, "serve", "--emit-port-stdout"],
    ],
    env: place.env,
    clearEnv: true,
    cwd: "/",
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const log = toText(child.stderr);
  return new Daemon(child, log, JSON.parse(await firstLine(child)));
}

/** Bytes that a process has read so far, from wherever. */
function bytesRead({ pid }: Daemon): number {
  return Number(Deno.readTextFileSync(`/proc/${pid}/io`).match(/rchar: (\d+)/)![1]);
}

Deno.test({
  name: "a start and a stop open no file of a session that nobody uses, nor their index",
  ignore: ignore || !hasProgram("strace"),
  async fn() {
    await using place = new Place();
    const histories = await rested(place, SESSIONS);
    const trace = join(place.dir, "trace");
    const run = async (use: (daemon: Daemon) => Promise<void>) => {
      const daemon = await serveTraced(place, trace);
      const health = await daemon.http("GET", "/v1/health");
      assertEquals(health.json.sessions, open(histories).length);
      await use(daemon);
      const stopped = daemon.stop();
      assert(await gone(daemon.pid));
      // strace follows what keeps the port, too.
      await killKeepers(place);
      await stopped;
      const lines = Deno.readTextFileSync(trace);
      const named = histories.filter(({ id }) => lines.includes(id)).map(({ id }) => id);
      return { named, index: lines.includes("sessions-index.json") };
    };
    assertEquals(await run(() => Promise.resolve()), { named: [], index: false });
    // The control: of one that is used the trace tells.
    const { id } = open(histories)[7];
    const used = await run(async (daemon) => {
      assertEquals((await daemon.http("POST", `/v1/sessions/${id}/resume`)).status, 200);
    });
    assertEquals(used, { named: [id], index: true });
    assertEquals(await run(() => Promise.resolve()), { named: [id], index: true }, "it runs again");
  },
});

Deno.test({
  name: `health and the list are right from the first answer, with ${SESSIONS} sessions`,
  ignore,
  async fn() {
    await using place = new Place();
    const histories = await rested(place, SESSIONS);
    const ids = open(histories).map(({ id }) => id).sort();
    const index = join(place.home, "sessions-index.json");
    const lost = open(histories)[0];
    const ends: [string, (daemon: Daemon) => Promise<unknown>][] = [
      ["a stop", (daemon) => daemon.stop()],
      ["a crash", (daemon) => daemon.kill()],
      ["the loss of the index", async (daemon) => {
        await daemon.stop();
        Deno.removeSync(index);
      }],
      ["an index without sessions", async (daemon) => {
        await daemon.stop();
        Deno.writeTextFileSync(index, "{}");
      }],
      ["a journal's end", async (daemon) => {
        await daemon.stop();
        Deno.removeSync(lost.journal_path);
      }],
    ];
    for (const [what, end] of ends) {
      await end(await place.serve());
      const daemon = await place.serve();
      const [health, items] = await Promise.all([
        daemon.http("GET", "/v1/health"),
        list(daemon),
      ]);
      assertEquals(health.json.sessions, ids.length, what);
      assertEquals(items.map(({ id }) => id), ids, what);
      const unreadable = items.filter(({ state }) => state === "unreadable").map(({ id }) => id);
      assertEquals(unreadable, what === "a journal's end" ? [lost.id] : [], what);
      await daemon.stop();
    }
  },
});

Deno.test({
  name: "what a daemon noted at its stop is not believed once a later one was killed",
  ignore,
  async fn() {
    await using place = new Place();
    const [{ id }] = open(await rested(place, 6));
    const note = join(place.home, "ledger", "at-rest.json");
    Deno.statSync(note);
    const daemon = await place.serve();
    assertEquals((await daemon.http("POST", `/v1/sessions/${id}/resume`)).status, 200);
    await daemon.kill();
    await until(() => !exists(note), "the note is gone");
    const next = await place.serve();
    assertEquals((await list(next)).find((it) => it.id === id)?.state, "running");
    await next.stop();
    Deno.statSync(note);
  },
});

Deno.test({
  name: "a long journal is read from its end on: after a stop, a crash, and without the index",
  ignore,
  async fn() {
    await using place = new Place();
    const journal = writeHistory(place.mkdir("long"), 20 * MB);
    writeIndex(place, [journal]);
    const session = `/v1/sessions/${journal.id}`;
    /** Bytes that a daemon reads until the session has taken a message. */
    const reads = async (end: (daemon: Daemon) => Promise<unknown>) => {
      const daemon = await place.serve();
      const sent = await daemon.http("POST", `${session}/messages`, { text: "echo hello" });
      assertEquals(sent.status, 202);
      await until(
        async () => (await list(daemon))[0].state === "running",
        "the session is listed",
      );
      const bytes = bytesRead(daemon);
      await end(daemon);
      return bytes;
    };
    // The control: it was never read before.
    const whole = await reads((daemon) => daemon.stop());
    assert(whole > 20 * MB, `${whole} bytes`);
    const most = whole - 17 * MB;
    for (const end of ["stop", "kill"] as const) {
      const bytes = await reads((daemon) => daemon[end]());
      assert(bytes < most, `before a ${end}: ${bytes} bytes of ${whole}`);
    }
    const after_kill = await reads((daemon) => daemon.stop());
    assert(after_kill < most, `after a kill: ${after_kill} bytes of ${whole}`);
    Deno.removeSync(join(place.home, "sessions-index.json"));
    Deno.removeSync(join(place.home, "ledger", "sessions.json"));
    const found = await reads((daemon) => daemon.stop());
    assert(found < most, `without the index: ${found} bytes of ${whole}`);
  },
});

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
