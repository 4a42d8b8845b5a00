import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { Random } from "../../tests/support/random.ts";
import { range, recordOf, TempDir } from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { type Batch, Journal, UnreadableJournal } from "./journal.ts";

const ignore = !granted("read", "write");
const at = "2026-01-02T03:04:05.678Z";

function delta(seq: number, text = `text ${seq}`): SessionEvent {
  return { seq, at, type: "session.delta", data: { turn_id: "turn_1", text } };
}

/** An event as a write of its own. */
function oneLine(event: SessionEvent): Batch {
  const { seq, at } = event;
  return { lines: recordOf(event), first_seq: seq, last_seq: seq, at, durable: false };
}

/** Appends events one write at a time. */
async function fill(journal: Journal, events: readonly SessionEvent[]): Promise<void> {
  for (const event of events) await journal.append(oneLine(event));
}

async function open(path: string) {
  const events: SessionEvent[] = [];
  const { journal, torn_bytes } = await Journal.open(path, {
    onRecord: (event) => events.push(event),
  });
  return { events, torn_bytes, journal, [Symbol.dispose]: () => journal.release() };
}

async function since(journal: Journal, seq: number): Promise<SessionEvent[]> {
  return await Array.fromAsync(journal.read(seq));
}

Deno.test({
  name: "a new journal is private, and never takes the place of another file",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const journal = Journal.create(path);
    await fill(journal, [delta(1)]);
    journal.release();
    if (Deno.build.os !== "windows") assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
    assertThrows(() => Journal.create(path), Deno.errors.AlreadyExists);
    assertEquals(Deno.readTextFileSync(path), recordOf(delta(1)));
  },
});

Deno.test({
  name: "what was appended is read back from any seq on, also after a release and a reopening",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const random = new Random(1);
    const written = Journal.create(path);
    // Lines of up to 200 kB: longer than a chunk is left over, characters cut in two.
    const events = range(1, 60).map((seq) =>
      delta(seq, "é🙂\n".repeat(random.chance(0.3) ? random.below(25_000) : random.below(20)))
    );
    for (let n = 0; n < events.length;) {
      const batch = events.slice(n, n += 1 + random.below(5));
      const lines = batch.map(recordOf).join("");
      await written.append({
        lines,
        first_seq: batch[0].seq,
        last_seq: batch.at(-1)!.seq,
        at: batch[0].at,
        durable: random.chance(0.2),
      });
      if (random.chance(0.3)) written.release();
    }
    written.release();
    using again = await open(path);
    assertEquals(again.events, events);
    assertEquals(again.torn_bytes, 0);
    for (const journal of [written, again.journal]) {
      assertEquals([journal.last_seq, journal.size], [60, Deno.statSync(path).size]);
      for (let seq = 0; seq <= 62; seq++) {
        assertEquals(await since(journal, seq), events.slice(seq));
      }
    }
  },
});

Deno.test({
  name: "a torn last line is cut off, whatever tore it, and the journal goes on",
  ignore,
  async fn() {
    using dir = new TempDir();
    const whole = range(1, 3).map((seq) => recordOf(delta(seq))).join("");
    const next = recordOf(delta(4));
    const bytes = new TextEncoder().encode(next);
    const nuls = new Uint8Array(5000);
    const tails: [string, Uint8Array][] = [
      ["one byte", bytes.slice(0, 1)],
      ["half a record", bytes.slice(0, bytes.length >> 1)],
      ["all but the newline", bytes.slice(0, -1)],
      ["cut, then a newline", new TextEncoder().encode(`${next.slice(0, 20)}\n`)],
      ["an empty line", new TextEncoder().encode("\n")],
      ["NUL bytes", nuls],
      ["NUL bytes and a newline", new Uint8Array([...nuls, 0x0a])],
      ["a record that ends in NUL bytes", new Uint8Array([...bytes.slice(0, 30), ...nuls])],
    ];
    for (const [what, tail] of tails) {
      const path = dir.join("torn.ndjson");
      Deno.writeFileSync(path, new Uint8Array([...new TextEncoder().encode(whole), ...tail]));
      {
        using torn = await open(path);
        assertEquals(torn.torn_bytes, tail.length, what);
        assertEquals(torn.events.map((event) => event.seq), [1, 2, 3], what);
        assertEquals(Deno.readTextFileSync(path), whole, what);
        await fill(torn.journal, [delta(4)]);
      }
      using again = await open(path);
      assertEquals([again.torn_bytes, again.events], [0, range(1, 4).map((seq) => delta(seq))]);
    }
  },
});

Deno.test({
  name: "every cut through the last record leaves the records before it",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("cut.ndjson");
    const first = new TextEncoder().encode(recordOf(delta(1)));
    const both = new TextEncoder().encode(recordOf(delta(1)) + recordOf(delta(2, "ä🙂")));
    for (let length = first.length; length < both.length; length++) {
      Deno.writeFileSync(path, both.slice(0, length));
      using cut = await open(path);
      assertEquals(cut.events, [delta(1)]);
      assertEquals(cut.torn_bytes, length - first.length);
      assertEquals(Deno.readFileSync(path), first);
    }
  },
});

Deno.test({
  name: "a bad line in the middle, a newer version, a gap: unreadable, and the file as it was",
  ignore,
  async fn() {
    using dir = new TempDir();
    const newer = `{"v":2,"seq":2,"at":"${at}","kind":"session.delta"}\n`;
    const cases: [string, string][] = [
      [recordOf(delta(1)) + "garbage\n" + recordOf(delta(2)), "line 2 is not valid JSON"],
      [recordOf(delta(1)) + "\0\0\n" + recordOf(delta(2)), "line 2 is not valid JSON"],
      [recordOf(delta(1)) + "\n" + recordOf(delta(2)), "line 2 is not valid JSON"],
      [recordOf(delta(1)) + "garbage\n" + "torn", "line 2 is not valid JSON"],
      [recordOf(delta(1)) + newer, "line 2 has schema version 2, this svc reads 1"],
      [recordOf(delta(1)) + newer + recordOf(delta(3)), "line 2 has schema version 2"],
      [recordOf(delta(1)) + recordOf(delta(3)), "line 2 has seq 3, expected 2"],
      [recordOf(delta(1)) + recordOf(delta(1)), "line 2 has seq 1, expected 2"],
      [recordOf(delta(2)) + recordOf(delta(1)), "line 1 has seq 2, expected 1"],
    ];
    for (const [text, why] of cases) {
      const path = dir.join("bad.ndjson");
      Deno.writeTextFileSync(path, text);
      await assertRejects(() => open(path), UnreadableJournal, why);
      assertEquals(Deno.readTextFileSync(path), text);
    }
  },
});

Deno.test({
  name: "a link, a directory or nothing in the journal's place is not opened",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    using dir = new TempDir();
    Deno.writeTextFileSync(dir.join("elsewhere"), recordOf(delta(1)) + "torn");
    Deno.symlinkSync(dir.join("elsewhere"), dir.join("link"));
    await assertRejects(() => open(dir.join("link")), UnreadableJournal, "not a regular file");
    assertEquals(Deno.readTextFileSync(dir.join("elsewhere")), recordOf(delta(1)) + "torn");
    await assertRejects(() => open(dir.mkdir("dir")), UnreadableJournal, "not a regular file");
    await assertRejects(() => open(dir.join("none")), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "only the next seq can be appended",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const journal = Journal.create(path);
    await fill(journal, [delta(1)]);
    for (const seq of [0, 1, 3]) {
      const error = await assertRejects(
        () => journal.append(oneLine(delta(seq))),
        SvcError,
      );
      assertEquals(error.code, "append_only_violation");
    }
    journal.release();
    assertEquals(Deno.readTextFileSync(path), recordOf(delta(1)));
  },
});

Deno.test({
  name: "a reader beside the writer sees whole records only, in order, once each",
  ignore,
  async fn() {
    using dir = new TempDir();
    const journal = Journal.create(dir.join("journal.ndjson"));
    const random = new Random(7);
    const write = async () => {
      for (let seq = 1; seq <= 300; seq++) {
        await fill(journal, [delta(seq, "x".repeat(random.below(4000)))]);
        if (random.chance(0.2)) await new Promise((resolve) => setTimeout(resolve, 0));
      }
    };
    const read = async () => {
      let last = 0;
      while (last < 300) {
        for (const event of await since(journal, last)) assertEquals(event.seq, ++last);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    };
    await Promise.all([write(), read(), read()]);
    journal.release();
    assert(journal.last_seq === 300);
  },
});
