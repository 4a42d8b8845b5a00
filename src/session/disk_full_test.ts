/** A disk that is full, for real: a small tmpfs, which only root may mount. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import { join } from "@std/path";
import {
  journaled,
  Kept,
  MemoryLog,
  newSession,
  note,
  range,
  recordOf,
  reopened,
  TempDir,
} from "../../tests/support/sessions.ts";
import { canMount, SmallDisk } from "../../tests/support/small_disk.ts";
import { SvcError } from "../protocol/errors.ts";
import { Journal } from "./journal.ts";
import type { Session } from "./session.ts";

const ignore = !canMount();

/** A session on a small disk whose turns write until the disk is full. */
class Flooded implements Disposable {
  readonly log = new MemoryLog();
  readonly path: string;
  readonly #dir = new TempDir();
  readonly #disk = new SmallDisk(this.#dir.mkdir("disk"), 256);
  #floods = true;

  constructor() {
    this.path = join(this.#disk.path, "journal.ndjson");
    this.#disk.fill(64);
  }

  /** The session; its turns begin with `begin`. */
  session(begin = (_: Session): Promise<unknown> => Promise.resolve()): Promise<Session> {
    return newSession(this.path, {
      log: this.log,
      runTurn: async (it, turn) => {
        it.takeFresh();
        if (this.#floods) await begin(it);
        while (this.#floods && !turn.signal.aborted) {
          it.emitText(turn.turn_id, "word ".repeat(100));
          await setImmediate();
        }
        turn.signal.throwIfAborted();
        return { stop_reason: "ok" };
      },
    });
  }

  /** Waits until a turn could not record its end. */
  async full(): Promise<void> {
    while (!this.log.of("warn").includes("could not record turn.completed")) await setImmediate();
  }

  /** Frees space; later turns end at once. */
  free(): void {
    this.#floods = false;
    this.#disk.free();
  }

  [Symbol.dispose](): void {
    this.#disk[Symbol.dispose]();
    this.#dir[Symbol.dispose]();
  }
}

Deno.test({
  name: "an append that does not fit leaves nothing behind, and a smaller one still goes through",
  ignore,
  async fn() {
    using dir = new TempDir();
    using disk = new SmallDisk(dir.mkdir("disk"), 256);
    const path = join(disk.path, "journal.ndjson");
    disk.fill(32);
    const journal = Journal.create(path);
    const at = "2026-01-02T03:04:05.678Z";
    const batch = (first_seq: number, count: number, length: number) => {
      const last_seq = first_seq + count - 1;
      const data = { turn_id: "turn_1", text: "x".repeat(length) };
      const lines = range(first_seq, last_seq)
        .map((seq) => recordOf({ seq, at, type: "session.delta", data })).join("");
      return { lines, first_seq, last_seq, at, durable: false };
    };
    await journal.append(batch(1, 3, 5_000));
    const before = Deno.readFileSync(path);
    await assertRejects(() => journal.append(batch(4, 10, 5_000)), Error, "No space left");
    assertEquals(Deno.readFileSync(path), before);
    assertEquals([journal.last_seq, journal.size], [3, before.length]);
    await journal.append(batch(4, 1, 10));
    disk.free();
    await journal.append(batch(5, 10, 5_000));
    journal.release();
    assertEquals((await journaled(path)).map((it) => it.seq), range(1, 14));
  },
});

Deno.test({
  name: "with room again, the end of a turn is recorded and what waits is answered by itself",
  ignore,
  async fn() {
    using disk = new Flooded();
    const session = await disk.session((it) => it.send("during the turn"));
    await session.send("flood");
    await disk.full();
    disk.free();
    while (session.state.last_stop !== "ok") await setImmediate();
    const ends = (await journaled(disk.path)).flatMap((it) =>
      it.type === "turn.completed" ? [it.data.stop_reason] : []
    );
    assertEquals(ends, ["error", "ok"]);
    await session.kill();
  },
});

Deno.test({
  name: "a full disk ends the turn and refuses messages clearly; with room again it all goes on",
  ignore,
  async fn() {
    using disk = new Flooded();
    const { path, log } = disk;
    const session = await disk.session();
    const sink = new Kept();
    await session.subscribe(sink, { since_seq: 0 }).start();
    await session.send("flood");
    await disk.full();
    assertStringIncludes(log.of("error")[0], "No space left");
    assertEquals([session.state.activity, session.activity], ["working", "idle"]);
    const full = Deno.readTextFileSync(path);
    assert(full.endsWith("}\n"), "no half record");
    const error = await assertRejects(async () => await session.send("more"), SvcError);
    assertEquals(error.code, "internal");
    assertStringIncludes(error.message, "No space left");
    assertStringIncludes(error.hint!, "free disk space");
    await assertRejects(() => session.kill(), SvcError, "No space left");
    assertEquals(Deno.readTextFileSync(path), full);

    disk.free();
    await Promise.all([session.send("and on"), session.send("and on")]);
    await note(session, "written");
    while (session.state.turn !== undefined) await setImmediate();
    await session.kill();
    const events = await journaled(path);
    assertEquals(events.map((it) => it.seq), range(1, events.length));
    assertEquals(sink.seqs, range(1, events.length), "subscribers saw what is journaled, no more");
    const ends = events.flatMap((it) => it.type === "turn.completed" ? [it.data] : []);
    const starts = events.filter((it) => it.type === "turn.started");
    assertEquals(ends.length, starts.length, "each turn ends once");
    assertEquals(ends[0].stop_reason, "error");
    assert(ends[0].message.startsWith("word word"));
    // What a restart makes of it.
    const again = await reopened(path);
    assertEquals(again.state, session.state);
    again.journal.release();
  },
});
