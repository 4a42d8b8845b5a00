import { assert, assertEquals } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import { Random } from "../../tests/support/random.ts";
import { Kept, range } from "../../tests/support/sessions.ts";
import type { SessionEvent } from "../protocol/events.ts";
import {
  type Deltas,
  type Published,
  type Source,
  Subscription,
  WAITING_MAX,
} from "./subscription.ts";

const at = "2026-01-02T03:04:05.678Z";

function published(event: Pick<SessionEvent, "type" | "data">, seq: number): Published {
  const data_json = JSON.stringify(event.data);
  return { ...event, seq, at, session_id: "sess_1", data_json } as Published;
}

function text(seq: number): Published {
  return published({ type: "session.delta", data: { turn_id: "t", text: `${seq}` } }, seq);
}

/** A session in memory: journals, then publishes, as the real one does. */
class Writer implements Source {
  journal: Published[] = [];
  published_seq = 0;
  final = false;
  joined = new Set<Subscription>();
  readonly #random: Random;

  constructor(random = new Random(1)) {
    this.#random = random;
  }

  /** Journals events; they are published `later` or at once. */
  write(events: Published[]): () => void {
    this.journal.push(...events);
    return () => {
      for (const event of events) {
        this.published_seq = event.seq;
        if (event.type === "session.ended") this.final = true;
        for (const subscription of this.joined) subscription.push(event);
      }
    };
  }

  async *replay(since_seq: number): AsyncGenerator<Published> {
    // What is in the journal by now, though not all of it need be published.
    for (const event of this.journal.slice(since_seq)) {
      if (this.#random.chance(0.1)) await setImmediate();
      yield event;
    }
  }

  join(subscription: Subscription): void {
    this.joined.add(subscription);
  }

  leave(subscription: Subscription): void {
    this.joined.delete(subscription);
  }
}

/** Writes `count` texts and the end, in batches and with pauses. */
async function writeAll(writer: Writer, random: Random, count: number): Promise<void> {
  for (let seq = 1; seq <= count;) {
    const batch = range(seq, Math.min(count, seq + random.below(6))).map(text);
    seq += batch.length;
    const publish = writer.write(batch);
    // Between journal and publication others have their turn.
    if (random.chance(0.5)) await Promise.resolve();
    if (random.chance(0.2)) await setImmediate();
    publish();
    if (random.chance(0.3)) await setImmediate();
  }
  writer.write([published({ type: "session.ended", data: { reason: "killed" } }, count + 1)])();
}

async function ended(sink: Kept): Promise<void> {
  while (sink.end === undefined) await setImmediate();
}

Deno.test("whoever subscribes while a writer writes gets every event once, in order (200 seeds)", async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const writer = new Writer(random);
    const count = 20 + random.below(200);
    const writing = writeAll(writer, random, count);
    const subscribers: { since_seq: number; sink: Kept }[] = [];
    for (let n = 0; n < 5; n++) {
      for (let wait = random.below(20); wait > 0; wait--) await setImmediate();
      const since_seq = random.below(writer.published_seq + 1);
      const slow = random.next() * 0.5;
      const sink = new Kept(() => random.chance(slow) ? setImmediate() : undefined);
      new Subscription(writer, sink, { since_seq, deltas: "both" }).start();
      subscribers.push({ since_seq, sink });
    }
    await writing;
    for (const { since_seq, sink } of subscribers) {
      await ended(sink);
      assertEquals(sink.end, { error: undefined }, `seed ${seed}`);
      assertEquals(sink.seqs, range(since_seq + 1, count + 1), `seed ${seed}`);
    }
    assertEquals(writer.joined.size, 0);
  }
});

Deno.test("a subscriber that does not keep up is closed with its last seq, and loses nothing", async () => {
  const writer = new Writer();
  const stuck = Promise.withResolvers<void>();
  const slow = new Kept(({ seq }) => seq === 3 ? stuck.promise : undefined);
  const quick = new Kept();
  for (const sink of [slow, quick]) {
    new Subscription(writer, sink, { since_seq: 0, deltas: "both" }).start();
  }
  for (let seq = 1; seq <= 3 + WAITING_MAX; seq++) writer.write([text(seq)])();
  assertEquals(slow.end, undefined, "1,024 events may wait");
  writer.write([text(4 + WAITING_MAX)])();
  const error = slow.end?.error;
  assertEquals([error?.code, error?.details], ["crash_recovery", { last_seq: 3 }]);
  assertEquals(slow.seqs, [1, 2, 3]);
  assertEquals(quick.seqs, range(1, 4 + WAITING_MAX));
  stuck.resolve();
  await setImmediate();
  assertEquals(slow.seqs, [1, 2, 3], "nothing comes after the end");

  const again = new Kept();
  new Subscription(writer, again, { since_seq: 3, deltas: "both" }).start();
  while (again.events.length < 1 + WAITING_MAX) await setImmediate();
  writer.write([text(5 + WAITING_MAX)])();
  assertEquals(again.seqs, range(4, 5 + WAITING_MAX));
});

Deno.test("a subscriber that reads slowly while it replays costs no memory and is not closed", async () => {
  const writer = new Writer();
  writer.write(range(1, 5_000).map(text))();
  const sink = new Kept(() => setImmediate());
  new Subscription(writer, sink, { since_seq: 0, deltas: "both" }).start();
  writer.write(range(5_001, 8_000).map(text))();
  while (sink.events.length < 8_000) await setImmediate();
  assertEquals(sink.seqs, range(1, 8_000));
  assertEquals(sink.end, undefined);
});

Deno.test("deltas picks the form of the main lane's text, and nothing else is left out", () => {
  const events = [
    text(1),
    published({
      type: "lane.delta",
      data: { lane_id: "main", delta_seq: 1, content_block: { type: "text", text: "1" } },
    }, 2),
    published({
      type: "lane.delta",
      data: { lane_id: "lane_1", delta_seq: 1, content_block: { type: "text", text: "1" } },
    }, 3),
    published({ type: "session.paused", data: { reason: "operator" } }, 4),
  ];
  const wanted: [Deltas, number[]][] = [["session", [1, 3, 4]], ["lane", [2, 3, 4]], [
    "both",
    [1, 2, 3, 4],
  ]];
  for (const [deltas, seqs] of wanted) {
    const writer = new Writer();
    const sink = new Kept();
    new Subscription(writer, sink, { since_seq: 0, deltas }).start();
    writer.write(events)();
    assertEquals(sink.seqs, seqs);
  }
});

Deno.test("a sink that fails ends its subscription and no other", async () => {
  const writer = new Writer();
  const broken = new Kept(({ seq }) => {
    if (seq === 2) throw new Error("the pipe broke");
  });
  const well = new Kept();
  for (const sink of [broken, well]) {
    new Subscription(writer, sink, { since_seq: 0, deltas: "both" }).start();
  }
  writer.write(range(1, 4).map(text))();
  await setImmediate();
  assertEquals(broken.end?.error?.message, "delivery failed: the pipe broke");
  assertEquals([broken.seqs, well.seqs], [[1, 2], [1, 2, 3, 4]]);
});

Deno.test("closed during the replay, while it waits, or live: nothing more comes", async () => {
  const writer = new Writer();
  writer.write(range(1, 50).map(text))();
  const stopped = new Kept(({ seq }) => {
    if (seq === 10) first.close();
  });
  const first = new Subscription(writer, stopped, { since_seq: 0, deltas: "both" });
  await first.start();
  assertEquals(stopped.seqs, range(1, 10));

  const gate = Promise.withResolvers<void>();
  const waiting = new Kept(() => gate.promise);
  const second = new Subscription(writer, waiting, { since_seq: 50, deltas: "both" });
  await second.start();
  writer.write(range(51, 60).map(text))();
  second.close();
  gate.resolve();
  await setImmediate();
  assertEquals(waiting.seqs, [51]);
  assertEquals([stopped.end, waiting.end], [undefined, undefined]);
  assert(writer.joined.size === 0);
});

Deno.test("a subscription to an ended session replays and ends", async () => {
  const writer = new Writer();
  await writeAll(writer, new Random(3), 5);
  const sink = new Kept();
  await new Subscription(writer, sink, { since_seq: 2, deltas: "both" }).start();
  assertEquals([sink.seqs, sink.end], [[3, 4, 5, 6], { error: undefined }]);
});
