import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { join } from "@std/path";
import { setImmediate } from "node:timers/promises";
import { granted } from "../../../tests/support/permissions.ts";
import { MemoryLog } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { WAITING_MAX } from "../../session/subscription.ts";
import { Bus, type BusEntry, type BusOptions, type BusRecord } from "./bus.ts";
import { encodeRecord } from "../../session/record.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import { decodeBusRecord, encodeBusRecord } from "./record.ts";

const ignore = !granted("read", "write");
const at = "2026-01-02T03:04:05.678Z";

/** A directory for a bus, removed at the end. */
class Dir implements Disposable {
  readonly path = join(Deno.makeTempDirSync({ prefix: "svc-bus-" }), "bus");
  readonly log = new MemoryLog();

  bus(options: Partial<BusOptions> = {}): Bus {
    return new Bus({ dir: this.path, log: this.log, ...options });
  }

  names(): string[] {
    return [...Deno.readDirSync(this.path)].map(({ name }) => name).sort();
  }

  [Symbol.dispose](): void {
    Deno.removeSync(join(this.path, ".."), { recursive: true });
  }
}

function entry(seq: number, type = "lane.note", text = `${seq}`): BusEntry {
  return { seq, at, type, data_json: JSON.stringify({ text }) };
}

async function all(bus: Bus, since_seq = 0): Promise<BusRecord[]> {
  const records = [];
  for await (const record of bus.replay(since_seq)) records.push(record);
  return records;
}

/** Fills a bus with `count` events, `a_time` in one batch. */
async function fill(bus: Bus, count: number, a_time = 1): Promise<void> {
  for (let n = 1; n <= count; n += a_time) {
    bus.record(
      "sess_1",
      Array.from({ length: Math.min(a_time, count - n + 1) }, (_, i) => entry(n + i)),
    );
    await setImmediate();
    await setImmediate();
  }
  while (await bus.lastSeq() < count) await setImmediate();
}

Deno.test("a record reads back as it was written; what is not one does not", () => {
  const record = { seq: 7, scope: "sess_1", session_seq: 3, at, type: "x", data_json: '{"a":1}' };
  assertEquals(decodeBusRecord(encodeBusRecord(record)), record);
  const before = encodeBusRecord(record).replace("task_scope", "scope");
  assertEquals(decodeBusRecord(before), record, "of an earlier build");
  const own = { ...record, session_seq: undefined, scope: "daemon" };
  assertEquals(decodeBusRecord(encodeBusRecord(own)), own);
  for (
    const line of ["", "{", "null", "1", '{"v":2}', encodeBusRecord(record).replace("7", '"7"')]
  ) {
    assertEquals(decodeBusRecord(line), undefined, line);
  }
});

Deno.test({
  name: "events of all sessions get one bus_seq without gaps, text deltas are left out",
  ignore,
  async fn() {
    using dir = new Dir();
    const bus = dir.bus();
    bus.record("sess_1", [entry(1), entry(2, "session.delta"), entry(3, "lane.delta"), entry(4)]);
    bus.record("sess_2", [entry(1)]);
    bus.record("daemon", [{ at, type: "daemon.shutdown", data_json: "{}" }]);
    await bus.close();
    const path = join(dir.path, "0000000000000001.ndjson");
    const lines = Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(lines.map(({ bus_seq, task_scope, seq }) => [bus_seq, task_scope, seq]), [
      [1, "sess_1", 1],
      [2, "sess_1", 4],
      [3, "sess_2", 1],
      [4, "daemon", undefined],
    ]);
    assertEquals(lines[0], {
      v: 1,
      bus_seq: 1,
      at,
      task_scope: "sess_1",
      seq: 1,
      type: "lane.note",
      data: { text: "1" },
    });
    if (Deno.build.os !== "windows") {
      assertEquals(Deno.statSync(dir.path).mode! & 0o777, 0o700);
      assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
    }
  },
});

Deno.test({
  name: "nothing is opened before the first event, and closing an unused bus leaves no trace",
  ignore,
  async fn() {
    using dir = new Dir();
    await dir.bus().close();
    assertThrows(() => Deno.statSync(dir.path), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "an observer gets every event once, replay before live, wherever it joins",
  ignore,
  async fn() {
    using dir = new Dir();
    const bus = dir.bus({ segment_bytes: 2_000 });
    await fill(bus, 40, 7);
    const observers = [0, 13, 40].map((since_seq) => ({ since_seq, seen: [] as number[] }));
    for (const { since_seq, seen } of observers) {
      bus.subscribe({ deliver: ({ seq }) => void seen.push(seq), ended() {} }, since_seq).start();
    }
    for (let n = 41; n <= 90; n++) {
      bus.record("sess_2", [entry(n)]);
      if (n % 3 === 0) await setImmediate();
    }
    while (observers.some(({ seen }) => seen.at(-1) !== 90)) await setImmediate();
    await bus.close();
    for (const { since_seq, seen } of observers) {
      assertEquals(seen, Array.from({ length: 90 - since_seq }, (_, n) => since_seq + 1 + n));
    }
  },
});

Deno.test({
  name: "an observer that does not keep up is closed with the last bus_seq it was given",
  ignore,
  async fn() {
    using dir = new Dir();
    const bus = dir.bus();
    assertEquals(await bus.lastSeq(), 0);
    const ended = Promise.withResolvers<SvcError | undefined>();
    const stuck = { deliver: () => new Promise<void>(() => {}), ended: ended.resolve };
    bus.subscribe(stuck, 0).start();
    await fill(bus, WAITING_MAX + 10, 100);
    const error = await ended.promise;
    assertEquals([error?.code, error?.details], ["crash_recovery", { last_seq: 1 }]);
    await bus.close();
  },
});

Deno.test({
  name: "closing lets an observer have the rest, unless it takes nothing; then nothing is read on",
  ignore,
  async fn() {
    for (const takes of [true, false]) {
      using dir = new Dir();
      // A slow machine needs its time; what takes nothing has had enough of it.
      const bus = dir.bus({ segment_bytes: 2_000, deliver_grace_ms: takes ? 60_000 : 1 });
      await fill(bus, 100, 10);
      const seen: number[] = [];
      const ends: (string | undefined)[] = [];
      bus.subscribe({
        deliver({ seq }) {
          seen.push(seq);
          return takes ? setImmediate() : new Promise<void>(() => {});
        },
        ended: (error) => void ends.push(error?.code),
      }, 0).start();
      while (seen.length === 0) await setImmediate();
      // The test runner finds a file that is still read.
      await bus.close();
      assertEquals([seen.length, ends], [takes ? 100 : 1, ["shutting_down"]]);
    }
  },
});

Deno.test({
  name: "segments are rotated by size, the oldest dropped; before them it answers journal_trimmed",
  ignore,
  async fn() {
    using dir = new Dir();
    const bus = dir.bus({ segment_bytes: 1_000, total_bytes: 4_000 });
    await fill(bus, 200);
    const names = dir.names();
    const sizes = names.map((name) => Deno.statSync(join(dir.path, name)).size);
    assert(
      names.length > 2 && sizes.reduce((a, b) => a + b) <= 4_000 && Math.max(...sizes) <= 1_000,
    );
    const oldest_seq = parseInt(names[0]);
    const trimmed = await assertRejects(() => all(bus), SvcError);
    assertEquals([trimmed.code, trimmed.details], ["journal_trimmed", { oldest_seq }]);
    assertThrows(() => bus.subscribe({ deliver() {}, ended() {} }, 0), SvcError, "starts at");
    const kept = (await all(bus, oldest_seq - 1)).map(({ seq }) => seq);
    assertEquals(kept, Array.from({ length: 201 - oldest_seq }, (_, n) => oldest_seq + n));
    await bus.close();

    const again = dir.bus({ segment_bytes: 1_000, total_bytes: 4_000 });
    assertEquals(await again.lastSeq(), 200);
    again.record("sess_1", [entry(201)]);
    await again.close();
    const reader = dir.bus();
    assertEquals((await all(reader, 198)).map(({ seq }) => seq), [199, 200, 201]);
    await reader.close();
  },
});

Deno.test({
  name: "a torn last line is cut off and said, whatever its length",
  ignore,
  async fn() {
    const line = encodeBusRecord({ ...entry(3), seq: 3, scope: "sess_1", session_seq: 3 });
    for (let cut = 1; cut < line.length; cut += 9) {
      using dir = new Dir();
      const bus = dir.bus();
      await fill(bus, 2);
      await bus.close();
      const path = join(dir.path, "0000000000000001.ndjson");
      Deno.writeTextFileSync(path, line.slice(0, cut), { append: true });
      const again = dir.bus();
      again.record("sess_1", [entry(9)]);
      assertEquals(await again.lastSeq() >= 2, true);
      await again.close();
      const reader = dir.bus();
      assertEquals((await all(reader)).map(({ seq, session_seq }) => [seq, session_seq]), [
        [1, 1],
        [2, 2],
        [3, 9],
      ]);
      await reader.close();
      assertStringIncludes(dir.log.of("warn").join(), "torn");
    }
  },
});

Deno.test({
  name: "a bad segment is moved aside and said, the others are read, no bus_seq is given twice",
  ignore,
  async fn() {
    for (const where of ["middle", "newest"]) {
      using dir = new Dir();
      const limits = { segment_bytes: 1_000 };
      const bus = dir.bus(limits);
      await fill(bus, 30);
      await bus.close();
      const names = dir.names();
      const bad = where === "middle" ? names[1] : names.at(-1)!;
      const path = join(dir.path, bad);
      const lines = Deno.readTextFileSync(path).split("\n");
      lines[0] = "rubbish";
      Deno.writeTextFileSync(path, lines.join("\n"));
      const lost = lines.length - 1;

      const again = dir.bus(limits);
      again.record("sess_1", [entry(31)]);
      const seqs = (await all(again)).map(({ seq }) => seq);
      while (await again.lastSeq() < 31) await setImmediate();
      if (!seqs.includes(31)) seqs.push(31);
      assertEquals(seqs.length, 31 - lost, where);
      assertEquals(seqs, [...new Set(seqs)].sort((a, b) => a - b));
      assertEquals(seqs.at(-1), 31);
      await again.close();
      assert(dir.names().includes(`${bad}.bad`));
      assertStringIncludes(dir.log.of("error").join(), "moved aside");

      const third = dir.bus(limits);
      assertEquals(await third.lastSeq(), 31);
      await third.close();
    }
  },
});

Deno.test({
  name:
    "where the bus cannot be written, events are counted as dropped, said once, and it recovers",
  ignore,
  async fn() {
    using dir = new Dir();
    Deno.writeTextFileSync(dir.path, "in the way");
    const bus = dir.bus();
    for (let n = 1; n <= 3; n++) {
      bus.record("sess_1", [entry(n)]);
      await assertRejects(() => bus.lastSeq(), SvcError, "is not a directory");
      while (bus.dropped < n) await setImmediate();
    }
    assertEquals(dir.log.of("error"), ["the bus drops events"]);
    Deno.removeSync(dir.path);
    bus.record("sess_1", [entry(4)]);
    await bus.close();
    assertEquals(bus.dropped, 3);
    const reader = dir.bus();
    assertEquals((await all(reader)).map(({ seq, session_seq }) => [seq, session_seq]), [[1, 4]]);
    await reader.close();
  },
});

/** The journal of a session beside the bus: events 1 to `count`, every third a text delta. */
function journal(dir: Dir, scope: string, count: number, chars = 1): string {
  const path = join(dir.path, "..", `${scope}.ndjson`);
  const lines = Array.from({ length: count }, (_, n) => {
    const seq = n + 1;
    const type = isDelta(seq) ? "session.delta" : "lane.note";
    const data = { text: "x".repeat(chars), kind: "named as in the envelope" };
    return encodeRecord({ seq, at, type, data } as unknown as SessionEvent, JSON.stringify(data));
  });
  Deno.writeTextFileSync(path, lines.join(""));
  return path;
}

function isDelta(seq: number): boolean {
  return seq % 3 === 0;
}

function untilSeq(to: number): number[] {
  return Array.from({ length: to }, (_, n) => n + 1).filter((seq) => !isDelta(seq));
}

function seqsOf(records: readonly BusRecord[], scope: string): (number | undefined)[] {
  return records.filter((it) => it.scope === scope).map((it) => it.session_seq);
}

Deno.test({
  name: "after a crash the bus is completed from the journals, in order, once, and says so",
  ignore,
  async fn() {
    for (const size of [2_000, 8_000_000]) {
      using dir = new Dir();
      const paths = new Map<string, string>();
      const journals = () => Promise.resolve(paths);
      const crashed = dir.bus({ journals, segment_bytes: size });
      crashed.record("sess_1", untilSeq(50).map((seq) => entry(seq)));
      crashed.record("sess_2", untilSeq(10).map((seq) => entry(seq)));
      while (await crashed.lastSeq() < untilSeq(50).length + untilSeq(10).length) {
        await setImmediate();
      }
      // It is never closed: what its sessions did after that is in the journals only.
      paths.set("sess_1", journal(dir, "sess_1", 2_000, 300));
      paths.set("sess_2", journal(dir, "sess_2", 10));
      paths.set("sess_3", journal(dir, "sess_3", 4));
      paths.set("sess_gone", join(dir.path, "nothing.ndjson"));

      const bus = dir.bus({ journals, segment_bytes: size });
      // Restored sessions tell of themselves before the journals were read.
      bus.record("sess_1", [entry(2_000), entry(2_001)]);
      while (!dir.log.of("info").join().includes("completed")) await setImmediate();
      const seen: BusRecord[] = [];
      bus.subscribe({ deliver: (it) => void seen.push(it), ended() {} }, 0).start();
      bus.record("sess_3", [entry(5)]);
      // A slow machine reads it in more than the time that close gives it.
      while (!seqsOf(seen, "sess_3").includes(5)) await setImmediate();
      await bus.close();
      await crashed.close();
      assertEquals(seqsOf(seen, "sess_1"), [...untilSeq(2_000), 2_001]);
      assertEquals(seqsOf(seen, "sess_2"), untilSeq(10));
      assertEquals(seqsOf(seen, "sess_3"), [...untilSeq(4), 5]);
      const told = seen.filter(({ type }) => type === "bus.completed");
      const events = untilSeq(2_000).length - untilSeq(50).length + untilSeq(4).length;
      assertEquals(told.map(({ data_json }) => JSON.parse(data_json)), [{ events, sessions: 2 }]);
      assertEquals(JSON.parse(seen.find((it) => it.session_seq === 2_000)!.data_json), {
        text: "x".repeat(300),
        kind: "named as in the envelope",
      });
    }
  },
});

Deno.test({
  name: "after a clean stop no journal is read, after a crash only what follows the bus",
  ignore,
  async fn() {
    using dir = new Dir();
    let asked = 0;
    const journals = () => {
      asked++;
      return Promise.resolve(new Map([["sess_1", journal(dir, "sess_1", 400)]]));
    };
    const first = dir.bus({ journals });
    first.record("sess_1", [entry(397)]);
    await first.close();
    asked = 0;
    const second = dir.bus({ journals });
    second.record("sess_2", [entry(1)]);
    while (await second.lastSeq() < 2) await setImmediate();
    await setImmediate();
    assertEquals(asked, 0);
    second.record("sess_1", [entry(398)]);
    await second.close();
    const reader = dir.bus();
    assert(!dir.log.of("info").join().includes('"sessions":2'));
    assertEquals(seqsOf(await all(reader), "sess_1").at(-1), 398);
    await reader.close();
  },
});

Deno.test({
  name: "after a clean stop no record is read to go on; without its positions all of a segment is",
  ignore,
  async fn() {
    for (const kept of [true, false]) {
      using dir = new Dir();
      const journals = () => Promise.resolve(new Map<string, string>());
      const first = dir.bus({ journals });
      await fill(first, 30);
      await first.close();
      const path = join(dir.path, "0000000000000001.ndjson");
      const text = Deno.readTextFileSync(path);
      Deno.writeTextFileSync(path, text.replace('"bus_seq":2,', '"bus_seq":x,'));
      if (!kept) Deno.removeSync(join(dir.path, "positions.json"));

      const second = dir.bus({ journals });
      assertEquals(await second.lastSeq(), 30);
      assertEquals(dir.names().includes("0000000000000001.ndjson.bad"), !kept);
      second.record("sess_1", [entry(31)]);
      while (await second.lastSeq() < 31) await setImmediate();
      assertEquals((await all(second, 30)).map(({ session_seq }) => session_seq), [31]);
      await second.close();
    }
  },
});

Deno.test({
  name: "positions of another segment, or of another end, are not gone by",
  ignore,
  async fn() {
    using dir = new Dir();
    const journals = () => Promise.resolve(new Map<string, string>());
    const path = join(dir.path, "0000000000000001.ndjson");
    const first = dir.bus({ journals });
    await fill(first, 30);
    await first.close();
    const positions = JSON.parse(Deno.readTextFileSync(join(dir.path, "positions.json")));
    assertEquals(positions, { v: 1, bus_seq: 30, first: 1, size: positions.size, sessions: {} });
    assertEquals(positions.size, Deno.statSync(path).size);
    const good = Deno.readTextFileSync(path);
    for (const wrong of [{ first: 7 }, { size: positions.size - 1 }, { bus_seq: 90 }]) {
      const text = JSON.stringify({ ...positions, ...wrong });
      Deno.writeTextFileSync(join(dir.path, "positions.json"), text, { mode: 0o600 });
      Deno.writeTextFileSync(path, good);
      const again = dir.bus({ journals });
      assertEquals(await again.lastSeq(), 30, JSON.stringify(wrong));
      await again.close();
    }
  },
});

Deno.test({
  name: "what did not fit into memory follows from the journals, in order",
  ignore,
  async fn() {
    using dir = new Dir();
    const journals = () => Promise.resolve(new Map([["sess_1", path]]));
    const bus = dir.bus({ journals, total_bytes: 512 * 1024 * 1024 });
    assertEquals(await bus.lastSeq(), 0);
    const path = journal(dir, "sess_1", 30, 1_000_000);
    bus.record("sess_1", untilSeq(30).map((seq) => entry(seq, "lane.note", "x".repeat(1_000_000))));
    assert(bus.dropped > 0, "some found no place");
    await bus.close();
    const reader = dir.bus({ total_bytes: 512 * 1024 * 1024 });
    assertEquals(seqsOf(await all(reader), "sess_1"), untilSeq(30));
    await reader.close();
  },
});
