/**
 * Many sessions and long journals. SVC_SCALE=1 runs 10,000 sessions and a journal of 100 MB; without
 * it 500 and 10 MB. The figures are printed; the bounds are wide enough for a busy machine.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { writeHistory, writeIndex, writeSession } from "../support/histories.ts";
import { hasProgram } from "../support/programs.ts";
import { SocketObserver } from "../support/observers.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const FULL = can_run_svc && Deno.env.get("SVC_SCALE") === "1";
const SESSIONS = FULL ? 10_000 : 500;
const JOURNAL_MB = FULL ? 99 : 10;
const CREATED = FULL ? 100 : 40;
const MB = 1e6;

const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

function percentile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1];
}

async function timed<T>(work: () => Promise<T>): Promise<[number, T]> {
  const began = performance.now();
  const result = await work();
  return [performance.now() - began, result];
}

/** The directories that a daemon has open. */
function openDirectories({ pid }: Daemon): string[] {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].flatMap(({ name }) => {
    try {
      const path = `/proc/${pid}/fd/${name}`;
      return Deno.statSync(path).isDirectory ? [Deno.readLinkSync(path)] : [];
    } catch {
      return [];
    }
  });
}

/** The most memory that a daemon takes while something runs. */
async function peakWhile<T>(daemon: Daemon, work: Promise<T>): Promise<number> {
  let peak = daemon.rss();
  const sampler = setInterval(() => peak = Math.max(peak, daemon.rss()), 20);
  await work.finally(() => clearInterval(sampler));
  return Math.max(peak, daemon.rss());
}

Deno.test({
  name: `${SESSIONS} sessions: health at once, then all are back; a new one takes no long`,
  ignore,
  async fn() {
    await using place = new Place();
    const histories = Array.from({ length: SESSIONS }, (_, n) => {
      const end = (["ended", "ended", "ended", "paused", "stopped", "cut off"] as const)[n % 6];
      return writeSession(place.mkdir(`project-${n % 100}`), end);
    });
    writeIndex(place, histories);

    const [to_listening, daemon] = await timed(() => place.serve());
    const [to_health, health] = await timed(() => daemon.http("GET", "/v1/health"));
    assertEquals(health.status, 200);
    await using client = await daemon.rpc();
    const listing = timed(() => client.rpc.call("session.list", { include_ended: true }));
    const peak = await peakWhile(daemon, listing);
    const [to_list, { sessions }] = await listing;
    const state = { ended: "ended", paused: "paused", stopped: "running", "cut off": "running" };
    const expected = histories.toSorted((a, b) => a.id < b.id ? -1 : 1);
    assertEquals(
      sessions.map((it: { id: string; state: string }) => [it.id, it.state]),
      expected.map(({ id, end }) => [id, state[end]]),
    );
    console.log(
      `${SESSIONS} sessions: listening after ${ms(to_listening)}, health in ${ms(to_health)}, ` +
        `all back after ${ms(to_listening + to_list)}; RSS ${(daemon.rss() / MB).toFixed(0)} MB, ` +
        `at most ${(peak / MB).toFixed(0)} MB`,
    );

    const creates: number[] = [];
    const kills: number[] = [];
    for (let n = 0; n < CREATED; n++) {
      const workdir = place.mkdir(`new-${n}`);
      const [took, { session_id }] = await timed(() =>
        client.rpc.call("session.start", { workdir })
      );
      creates.push(took);
      if (n % 5 === 0) {
        kills.push((await timed(() => client.rpc.call("session.kill", { session_id })))[0]);
      }
    }
    // The index may be written at this moment.
    const closed = () => openDirectories(daemon).length === 0;
    await until(closed, "what was flushed is closed");
    const index = JSON.parse(Deno.readTextFileSync(join(place.home, "sessions-index.json")));
    assertEquals(Object.keys(index).length, SESSIONS + CREATED);
    const [create, slow, kill] = [
      percentile(creates, 0.5),
      percentile(creates, 0.99),
      percentile(kills, 0.5),
    ];
    const turns: number[] = [];
    const workdir = place.mkdir("busy");
    const session_id = await client.session({ workdir, approval: "auto" });
    for (let n = 0; n < 20; n++) {
      turns.push((await timed(() => client.turn(session_id, "ls")))[0]);
    }
    console.log(
      `create p50 ${ms(create)}, p99 ${ms(slow)}; kill p50 ${ms(kill)}; ` +
        `a turn with a tool p50 ${ms(percentile(turns, 0.5))}`,
    );
    const [to_stop, { code }] = await timed(() => daemon.stop());
    assertEquals(code, 0);
    console.log(`stopped after ${ms(to_stop)}`);
  },
});

Deno.test({
  name: `a journal of ${JOURNAL_MB} MB opens and is replayed from near its end`,
  ignore,
  async fn() {
    await using place = new Place();
    const history = writeHistory(place.mkdir("project"), JOURNAL_MB * MB);
    writeIndex(place, [history]);
    const daemon = await place.serve();
    const before = daemon.rss();
    await using client = await daemon.rpc();
    const { id: session_id } = history;
    const getting = timed(() => client.rpc.call("session.get", { session_id }));
    // It answers while the journal is read.
    const [to_health] = await timed(() => daemon.http("GET", "/v1/health"));
    const peak = await peakWhile(daemon, getting);
    const [to_open, got] = await getting;
    assertEquals([got.state, got.last_seq], ["running", history.last_seq + 1]);

    const observer = new SocketObserver(session_id);
    const since_seq = history.last_seq - 10;
    observer.seen.push({ seq: since_seq } as SocketObserver["seen"][0]);
    const [to_replay] = await timed(async () => {
      await observer.connect(daemon);
      await observer.reach(got.last_seq);
    });
    assertEquals(observer.seen.at(-1)!.type, "daemon.reloaded");
    assertEquals(observer.seen.length, 12);
    // Its conversation has to be read whole, once.
    await client.rpc.call("session.subscribe", { session_id });
    const [to_turn] = await timed(() => client.turn(session_id, "help", 60_000));
    console.log(
      `${JOURNAL_MB} MB, ${history.last_seq} records: open in ${ms(to_open)}, ` +
        `health meanwhile in ${ms(to_health)}, replay of the last 11 in ${ms(to_replay)}, ` +
        `first turn in ${ms(to_turn)}; RSS ${
          (before / MB).toFixed(0)
        } MB, while it opened at most ` +
        `${(peak / MB).toFixed(0)} MB, then ${(daemon.rss() / MB).toFixed(0)} MB`,
    );
    assert(peak - before < 150 * MB, `it took ${((peak - before) / MB).toFixed(0)} MB`);
    await daemon.stop();
    await observer.gone();
  },
});

Deno.test({
  name: "what a command's sandbox costs does not grow with the sessions there are, or ever were",
  ignore: ignore || !hasProgram("bwrap"),
  async fn() {
    await using place = new Place();
    const [quiet, busy, above] = ["quiet", "busy", "above"].map((name) => place.mkdir(name));
    writeIndex(place, [
      // In the same project, elsewhere, and more below one project than a command covers one by one.
      ...Array.from({ length: 200 }, () => writeSession(busy, "ended")),
      ...Array.from({ length: 200 }, (_, n) => writeSession(place.mkdir(`else/${n}`), "paused")),
      ...Array.from(
        { length: 2_600 },
        (_, n) => writeSession(place.mkdir(`above/below/${n}`), "paused"),
      ),
    ]);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const mountsIn = async (workdir: string) => {
      const id = await client.session({ workdir, approval: "auto" });
      const { data } = await client.turn(
        id,
        "run echo mounts=$(wc -l < /proc/self/mountinfo); ls -A below 2>&-; true",
      );
      const [, mounts, rest] = data.message.match(/^mounts=(\d+)([^]*)/) ?? [];
      assert(mounts !== undefined, data.message);
      return { mounts: Number(mounts), rest };
    };
    const { mounts } = await mountsIn(quiet);
    assertEquals((await mountsIn(busy)).mounts, mounts);
    const many = await mountsIn(above);
    assert(many.mounts <= mounts + 2, `${mounts} mounts became ${many.mounts}`);
    assertEquals(many.rest.trim(), "", "nothing of the other sessions is there");
  },
});
