/**
 * The wall clock set back and forth, while the daemon runs and between two runs: libfaketime gives
 * the daemon another time, the monotonic clock goes on as on a real machine.
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { decodeRecord } from "../../src/session/record.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { writeIndex, writeSession } from "../support/histories.ts";
import { granted } from "../support/permissions.ts";
import { until } from "../support/scripted.ts";
import { range } from "../support/sessions.ts";
import { can_run_svc, Place, type TestClient } from "../support/svc.ts";

const HOUR = 3_600_000;

/** Debian has it in the package libfaketime. */
const LIBRARY = Deno.build.os === "linux" && granted("read", "run")
  ? ["x86_64-linux-gnu", "aarch64-linux-gnu", "."]
    .map((part) => join("/usr/lib", part, "faketime", "libfaketime.so.1"))
    .find((path) => {
      try {
        return Deno.statSync(path).isFile;
      } catch {
        return false;
      }
    })
  : undefined;
const ignore = !can_run_svc || LIBRARY === undefined;

/** A place whose daemons have a clock that can be set. */
class ClockPlace extends Place {
  constructor() {
    super({ LD_PRELOAD: LIBRARY!, FAKETIME_NO_CACHE: "1", DONT_FAKE_MONOTONIC: "1" });
    this.env.FAKETIME_TIMESTAMP_FILE = join(this.dir, "clock");
    this.set(0);
    this.configure(`[agent]\napproval = "auto"\n`);
  }

  /** Sets the clock, as so many hours from the right time. */
  set(hours: number): void {
    const path = join(this.dir, "clock.new");
    Deno.writeTextFileSync(path, `${hours < 0 ? "" : "+"}${hours * 3600}\n`);
    Deno.renameSync(path, join(this.dir, "clock"));
  }
}

function journalPath(workdir: string, session_id: string): string {
  return join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
}

function journaled(workdir: string, session_id: string): SessionEvent[] {
  const text = Deno.readTextFileSync(journalPath(workdir, session_id));
  return text.trimEnd().split("\n").map(decodeRecord);
}

/** How far, in hours, the time of an event is from the right one. */
function off({ at }: { at: string }): number {
  return Math.round((Date.parse(at) - Date.now()) / HOUR);
}

/** Every event once, in the order of seq, whatever their times are. */
function assertWhole(client: TestClient, workdir: string, session_id: string): SessionEvent[] {
  const events = journaled(workdir, session_id);
  assertEquals(events.map((it) => it.seq), range(1, events.length));
  const seen = client.events.filter((it) => it.session_id === session_id);
  assertEquals(seen.map((it) => [it.seq, it.at]), events.map((it) => [it.seq, it.at]));
  return events;
}

Deno.test({
  name: "the clock jumps while the daemon runs: order, ids, turns and timers do not mind",
  ignore,
  async fn() {
    await using place = new ClockPlace();
    // The clock will be years ahead; what retention makes of that is another test.
    place.configure(`[journal]\nretention_hours = 20000\n[agent]\napproval = "auto"\n`);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = place.mkdir("project");
    const session_id = await client.session({ workdir });
    const ids = [session_id];
    const jumps = [0, -2, -48, 5, -1, 24 * 400, 0];
    for (const hours of jumps) {
      place.set(hours);
      for (let n = 0; n < 5; n++) {
        ids.push(
          (await client.rpc.call("session.start", { workdir: place.mkdir("more") }))
            .session_id,
        );
      }
      const { data, at } = await client.turn(session_id, "ls\nrun sleep 0.3");
      assertEquals(data.stop_reason, "ok");
      assertEquals(off({ at }), hours, "the daemon has the other clock");
      assertEquals((await daemon.http("GET", "/v1/health")).status, 200);
    }
    const events = assertWhole(client, workdir, session_id);
    const made = events.flatMap((it) =>
      it.type === "turn.started"
        ? [it.data.turn_id]
        : it.type === "user.message"
        ? [it.data.message_id]
        : []
    );
    for (const it of [ids, made]) {
      assertEquals(new Set(it).size, it.length, "ids are unique");
      const ulids = it.map((id) => id.split("_")[1]);
      assertEquals(ulids.toSorted(), ulids, "ids sort as they were made");
    }
    const took = events.flatMap((it) =>
      it.type === "session.tool_completed" ? [it.data.duration_ms] : []
    );
    assert(took.every((ms) => ms >= 0 && ms < HOUR / 2), `tools took ${took}`);

    // Timers: the session comes to rest and gives its journal back, whatever the clock says.
    place.set(0);
    await client.turn(session_id, "help");
    place.set(-3);
    const open = () =>
      [...Deno.readDirSync(`/proc/${daemon.pid}/fd`)].some(({ name }) => {
        try {
          return Deno.readLinkSync(`/proc/${daemon.pid}/fd/${name}`) ===
            journalPath(workdir, session_id);
        } catch {
          return false;
        }
      });
    assert(open());
    await until(() => !open(), "the rest of the session", 20_000);
    assertEquals((await daemon.stop()).code, 0);
  },
});

Deno.test({
  name: "the clock is set back during a stream: it goes on, and nothing is closed for slowness",
  ignore,
  async fn() {
    const answer = { instant: 2_000, pace_ms: 5 };
    const server = startOpenAiServer(() => answer, { open: true, capture: false });
    await using place = new ClockPlace();
    place.useLocalModel(server.url);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = place.mkdir("project");
    const session_id = await client.session({ workdir, model: "local/m" });
    const turn = client.turn(session_id, "go on", 60_000);
    for (const hours of [-24, 24, -1, 0]) {
      await delay(300);
      place.set(hours);
      await client.wait((it) => it.type === "session.delta" && off(it) === hours, `${hours} hours`);
    }
    const { data } = await turn;
    assertEquals(data.stop_reason, "ok");
    assertEquals(data.message, "word ".repeat(2_000));
    const days = new Set(assertWhole(client, workdir, session_id).map(off));
    assert(days.has(-24) && days.has(24), "the clock was seen to jump");
    await server.close();
  },
});

Deno.test({
  name:
    "the clock is set back between two runs: sessions go on, and retention keeps what is recent",
  ignore,
  async fn() {
    await using place = new ClockPlace();
    const workdir = place.mkdir("project");
    let session_id = "";
    let seen: { seq: number }[] = [];
    const ids: string[] = [];
    // A day and more back, then to the right time again: no event is older than two days.
    place.configure(`[journal]\nretention_hours = 72\n[agent]\napproval = "auto"\n`);
    for (const [run, hours] of [0, -30, 0, -2, 1, 0].entries()) {
      place.set(hours);
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      if (run === 0) session_id = (await client.rpc.call("session.start", { workdir })).session_id;
      const since_seq = seen.at(-1)?.seq ?? 0;
      await client.rpc.call("session.subscribe", { session_id, since_seq });
      const end = await client.turn(session_id, "ls");
      assertEquals([end.data.stop_reason, off(end)], ["ok", hours]);
      ids.push(end.data.turn_id);
      const events = journaled(workdir, session_id);
      await until(() => client.events.at(-1)?.seq === events.at(-1)!.seq, "the last event");
      seen = [...seen, ...client.events];
      assertEquals(seen.map((it) => it.seq), range(1, events.length));
      assertEquals((await daemon.stop()).code, 0);
    }
    assertEquals(new Set(ids).size, ids.length);
    const text = Deno.readTextFileSync(journalPath(workdir, session_id));
    assert(!text.includes("session.checkpoint"), "nothing recent was rewritten");
  },
});

Deno.test({
  name: "retention with events of the future and of the past: only what is too old is rewritten",
  ignore,
  async fn() {
    await using place = new ClockPlace();
    place.configure(`[journal]\nretention_hours = 24\n[agent]\napproval = "auto"\n`);
    const workdir = place.mkdir("project");
    const run = async (hours: number, session_id?: string) => {
      place.set(hours);
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      session_id ??= (await client.rpc.call("session.start", { workdir })).session_id as string;
      await client.rpc.call("session.subscribe", { session_id });
      await client.turn(session_id, "ls");
      // What retention does behind the turn is done before the stop.
      assertEquals((await daemon.stop()).code, 0);
      return session_id;
    };
    // Two days behind, then right.
    const session_id = await run(-48);
    await run(0, session_id);
    const [checkpoint, ...kept] = journaled(workdir, session_id);
    assertEquals(checkpoint.type, "session.checkpoint");
    assert(kept.every((it) => Math.abs(off(it)) <= 1), "the recent events are all there");
    assertEquals(kept.map((it) => it.seq), range(checkpoint.seq + 1, kept.at(-1)!.seq));
    // Ahead, and back once more.
    await run(20, session_id);
    await run(0, session_id);
    const events = journaled(workdir, session_id);
    assertEquals(events[0], checkpoint, "no recent event was rewritten");
    assertEquals(events.slice(1, kept.length + 1), kept);
    assertEquals(new Set(events.slice(1).map(off)), new Set([0, 20]));
  },
});

Deno.test({
  name: "retention of what is old keeps the recent events before a time that was set back",
  ignore,
  async fn() {
    await using place = new ClockPlace();
    place.configure(`[journal]\nretention_hours = 24\n[agent]\napproval = "auto"\n`);
    const workdir = place.mkdir("project");
    const history = writeSession(
      workdir,
      "stopped",
      new Date(Date.now() - 40 * HOUR).toISOString(),
    );
    writeIndex(place, [history]);
    const { id: session_id } = history;
    for (const hours of [-20, -44, 0]) {
      place.set(hours);
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      await client.rpc.call("session.subscribe", { session_id });
      await client.turn(session_id, "ls");
      assertEquals((await daemon.stop()).code, 0);
    }
    const [checkpoint, ...kept] = journaled(workdir, session_id);
    assertEquals([checkpoint.type, checkpoint.seq], ["session.checkpoint", history.last_seq]);
    assertEquals(new Set(kept.map(off)), new Set([-20, -44, 0]));
  },
});
