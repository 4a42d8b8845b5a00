import { assert, assertEquals, assertThrows } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import { delay } from "@std/async";
import { granted } from "../../tests/support/permissions.ts";
import { Random } from "../../tests/support/random.ts";
import {
  journaled,
  Kept,
  MemoryLog,
  newSession,
  note,
  range,
  reopened,
  TempDir,
} from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import type { Session } from "./session.ts";

const ignore = !granted("read", "write");

Deno.test({
  name:
    "what is emitted in one turn of the loop is one write, in order, journaled before it is seen",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const commits: number[] = [];
    const onCommit = (session: Session) => commits.push(session.published_seq);
    const session = await newSession(path, { onCommit: (it) => void onCommit(it) });
    const sink = new Kept(({ seq }) => {
      assert(Deno.readTextFileSync(path).includes(`"seq":${seq},`), "journaled before it is seen");
    });
    await session.subscribe(sink, {}).start();
    const order: number[] = [];
    const emitted = range(1, 50).map(async (n) => {
      const { seq } = await note(session, `${n}`);
      order.push(n);
      return seq;
    });
    assertEquals(await Promise.all(emitted), range(3, 52));
    assertEquals([order, sink.seqs], [range(1, 50), range(3, 52)]);
    assertEquals(commits, [2, 52]);
    assertEquals(
      (await journaled(path)).slice(2).map((it) => it.type === "lane.note" && it.data.text),
      range(1, 50).map(String),
    );
    session.journal.release();
  },
});

Deno.test({
  name: "text of one turn of the loop is one event in each form; lanes number their deltas",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const session = await newSession(path);
    session.emitText("turn_1", "a");
    session.emitText("turn_1", "b");
    session.emitLaneText("main", "x");
    session.emitText("turn_1", "c");
    await note(session, "between");
    session.emitText("turn_1", "d");
    await setImmediate();
    await setImmediate();
    const seen = (await journaled(path)).slice(2).map((it) =>
      it.type === "session.delta"
        ? it.data.text
        : it.type === "lane.delta"
        ? `${it.data.delta_seq}:${it.data.content_block.text}`
        : it.type
    );
    assertEquals(seen, ["ab", "1:ab", "2:x", "c", "3:c", "lane.note", "d", "4:d"]);
    session.journal.release();
    const again = await reopened(path);
    again.emitText("turn_1", "e");
    await note(again, "end");
    const [last] = (await journaled(path)).slice(-2);
    assertEquals([last.seq, last.type === "lane.delta" && last.data.delta_seq], [12, 5]);
    again.journal.release();
  },
});

Deno.test({
  name: "subscribers of a session that writes get each event once, in order (20 seeds)",
  ignore,
  async fn() {
    for (let seed = 1; seed <= 20; seed++) {
      using dir = new TempDir();
      const random = new Random(seed);
      const session = await newSession(dir.join("journal.ndjson"));
      const writing = (async () => {
        for (let n = 0; n < 200; n++) {
          if (random.chance(0.5)) session.emitText("turn_1", "x".repeat(random.below(3_000)));
          else await note(session, `${n}`);
          if (random.chance(0.3)) await setImmediate();
        }
        await session.kill();
      })();
      const sinks: [number, Kept][] = [];
      for (let n = 0; n < 6; n++) {
        await delay(random.below(4));
        const since_seq = random.below(session.published_seq + 1);
        const sink = new Kept(() => random.chance(0.1) ? setImmediate() : undefined);
        session.subscribe(sink, { since_seq }).start();
        sinks.push([since_seq, sink]);
      }
      await writing;
      for (const [since_seq, sink] of sinks) {
        while (sink.end === undefined) await delay(1);
        assertEquals(sink.seqs, range(since_seq + 1, session.published_seq), `seed ${seed}`);
      }
    }
  },
});

Deno.test({
  name: "since_seq beyond the end is refused; without one only what comes from now on is sent",
  ignore,
  async fn() {
    using dir = new TempDir();
    const session = await newSession(dir.join("journal.ndjson"));
    const error = assertThrows(() => session.subscribe(new Kept(), { since_seq: 3 }), SvcError);
    assertEquals(error.code, "validation");
    const sink = new Kept();
    const subscription = session.subscribe(sink, {});
    await note(session, "between subscribe and start");
    await subscription.start();
    await note(session, "after");
    assertEquals(sink.seqs, [3, 4]);
    session.journal.release();
  },
});

Deno.test({
  name: "a stop hands a slow subscriber its last events before it says why it ends",
  ignore,
  async fn() {
    using dir = new TempDir();
    const session = await newSession(dir.join("journal.ndjson"), { log: new MemoryLog() });
    const gate = Promise.withResolvers<void>();
    const slow = new Kept(() => gate.promise);
    const stuck = new Kept(() => new Promise<void>(() => {}));
    for (const sink of [slow, stuck]) await session.subscribe(sink, {}).start();
    for (const n of range(1, 40)) await note(session, `${n}`);
    await session.pause("daemon_shutdown");
    // The client sends it again to the daemon that comes next.
    assertEquals(assertThrows(() => session.send("late"), SvcError).code, "shutting_down");
    const released = session.release();
    assertEquals(slow.events.length, 1);
    gate.resolve();
    await released;
    assertEquals(slow.events.at(-1)?.type, "session.paused");
    assertEquals(slow.seqs, range(3, 43));
    assertEquals([slow.end?.error?.code, stuck.end?.error?.code], [
      "shutting_down",
      "shutting_down",
    ]);
  },
});
