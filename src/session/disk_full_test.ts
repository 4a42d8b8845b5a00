/** A disk that is full, for real: a small tmpfs, which only root may mount. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import {
  journaled,
  Kept,
  MemoryLog,
  newSession,
  range,
  recordOf,
  reopened,
  TempDir,
} from "../../tests/support/sessions.ts";
import { SvcError } from "../platform/errors.ts";
import { Journal } from "./journal.ts";
import type { Session } from "./session.ts";

const may_try = Deno.build.os === "linux" && granted("read", "write", "run", "sys") &&
  Deno.uid() === 0;

/** A file system of 256 KiB in a temporary directory. */
class SmallDisk implements Disposable {
  readonly #dir = new TempDir();
  readonly path = this.#dir.mkdir("disk");
  readonly journal = join(this.path, "journal.ndjson");
  readonly mounted = run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", this.path);

  /** Takes up the room but for so many KiB. */
  fill(left_kib: number): void {
    Deno.writeFileSync(join(this.path, "ballast"), new Uint8Array((256 - left_kib) * 1024));
  }

  free(): void {
    Deno.removeSync(join(this.path, "ballast"));
  }

  [Symbol.dispose](): void {
    if (this.mounted) run("umount", this.path);
    this.#dir[Symbol.dispose]();
  }
}

function run(command: string, ...args: string[]): boolean {
  try {
    return new Deno.Command(command, { args, stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

function canMount(): boolean {
  using disk = new SmallDisk();
  return disk.mounted;
}

const ignore = !may_try || !canMount();

function note(session: Session, text: string) {
  return session.emit("lane.note", { lane_id: "main", text, reason_code: "test" });
}

Deno.test({
  name: "an append that does not fit leaves nothing behind, and a smaller one still goes through",
  ignore,
  async fn() {
    using disk = new SmallDisk();
    disk.fill(32);
    const journal = Journal.create(disk.journal);
    const at = "2026-01-02T03:04:05.678Z";
    const batch = (first_seq: number, count: number, length: number) => {
      const last_seq = first_seq + count - 1;
      const data = { turn_id: "turn_1", text: "x".repeat(length) };
      const lines = range(first_seq, last_seq)
        .map((seq) => recordOf({ seq, at, type: "session.delta", data })).join("");
      return { lines, first_seq, last_seq, at, durable: false };
    };
    await journal.append(batch(1, 3, 5_000));
    const before = Deno.readFileSync(disk.journal);
    await assertRejects(() => journal.append(batch(4, 10, 5_000)), Error, "No space left");
    assertEquals(Deno.readFileSync(disk.journal), before);
    assertEquals([journal.last_seq, journal.size], [3, before.length]);
    await journal.append(batch(4, 1, 10));
    disk.free();
    await journal.append(batch(5, 10, 5_000));
    journal.release();
    assertEquals((await journaled(disk.journal)).map((it) => it.seq), range(1, 14));
  },
});

Deno.test({
  name: "a full disk ends the turn and refuses messages clearly; with room again it all goes on",
  ignore,
  async fn() {
    using disk = new SmallDisk();
    disk.fill(64);
    const log = new MemoryLog();
    let floods = true;
    const session = await newSession(disk.journal, {
      log,
      async runTurn(it, turn) {
        it.takeFresh();
        while (floods && !turn.signal.aborted) {
          it.emitText(turn.turn_id, "word ".repeat(100));
          await setImmediate();
        }
        turn.signal.throwIfAborted();
        return { stop_reason: "ok" };
      },
    });
    const sink = new Kept();
    await session.subscribe(sink, { since_seq: 0 }).start();
    await session.send("flood");
    while (!log.of("warn").includes("turn.completed could not be recorded")) await setImmediate();
    assertStringIncludes(log.of("error")[0], "cannot be written: No space left");
    const full = Deno.readTextFileSync(disk.journal);
    assert(full.endsWith("}\n"), "no half record");
    const error = await assertRejects(async () => await session.send("more"), SvcError);
    assertEquals(error.code, "internal");
    assertStringIncludes(error.message, "cannot be written: No space left");
    assertStringIncludes(error.hint!, "free disk space");
    await assertRejects(() => session.kill(), SvcError, "No space left");
    assertEquals(Deno.readTextFileSync(disk.journal), full);

    floods = false;
    disk.free();
    await Promise.all([session.send("and on"), session.send("and on")]);
    await note(session, "written");
    while (session.state.turn !== undefined) await setImmediate();
    await session.kill();
    const events = await journaled(disk.journal);
    assertEquals(events.map((it) => it.seq), range(1, events.length));
    assertEquals(sink.seqs, range(1, events.length), "subscribers saw what is journaled, no more");
    const ends = events.flatMap((it) => it.type === "turn.completed" ? [it.data] : []);
    const starts = events.filter((it) => it.type === "turn.started");
    assertEquals(ends.length, starts.length, "each turn ends once");
    assertEquals(ends[0].stop_reason, "error");
    assert(ends[0].message.startsWith("word word"));
    // What a restart makes of it.
    const again = await reopened(disk.journal);
    assertEquals(again.state, session.state);
    again.journal.release();
  },
});
