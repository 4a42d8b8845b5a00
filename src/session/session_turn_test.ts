import { assert, assertEquals, assertRejects } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import { delay } from "@std/async";
import { granted } from "../../tests/support/permissions.ts";
import {
  journaled,
  Kept,
  newSession,
  note,
  range,
  reopened,
  TempDir,
} from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import type { Session } from "./session.ts";
import type { Turn, TurnEnd } from "./turn.ts";

/** Declares a test with a directory and the path of a session's journal in it. */
function test(name: string, run: (place: { dir: TempDir; path: string }) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !granted("read", "write"),
    async fn() {
      using dir = new TempDir();
      await run({ dir, path: dir.join("journal.ndjson") });
    },
  });
}

/** Waits for what has to come, but not for ever. */
async function until(holds: () => boolean): Promise<void> {
  for (let n = 0; n < 20_000 && !holds(); n++) await delay(1);
  assert(holds());
}

async function refused(promise: () => Promise<unknown>, code: string): Promise<void> {
  assertEquals((await assertRejects(async () => await promise(), SvcError)).code, code);
}

/** A turn that streams until it is stopped. */
async function streams(session: Session, turn: Turn): Promise<TurnEnd> {
  session.takeFresh();
  while (!turn.soft.aborted) {
    session.emitText(turn.turn_id, "word ");
    await setImmediate();
  }
  turn.signal.throwIfAborted();
  return { stop_reason: "interrupted" };
}

test("nothing follows the end: not what is emitted with it, nor later, nor a message", async ({ path }) => {
  const session = await newSession(path, { runTurn: streams });
  const sink = new Kept();
  await session.subscribe(sink, { since_seq: 0 }).start();
  await session.send("go");
  await delay(5);
  const killed = session.kill();
  await refused(() => session.send("more"), "ended");
  await killed;
  const events = await journaled(path);
  assertEquals(events.slice(-3).map((it) => it.type), [
    "turn.completed",
    "lane.status",
    "session.ended",
  ]);
  session.emitText("turn_1", "late");
  session.emitLaneText("main", "late");
  await refused(() => note(session, "late"), "ended");
  await refused(() => session.kill(), "ended");
  await refused(() => session.pause("operator"), "ended");
  await refused(() => session.resume("operator"), "ended");
  await setImmediate();
  assertEquals(await journaled(path), events);
  assertEquals([sink.seqs, sink.end], [range(1, events.length), { error: undefined }]);
});

test("the same client_message_id sends once: at the same time, later, after a restart", async ({ path }) => {
  const session = await newSession(path);
  const [a, b] = await Promise.all([
    session.send("hi", { client_message_id: "c1" }),
    session.send("hi", { client_message_id: "c1" }),
  ]);
  assertEquals([a, await session.send("hi", { client_message_id: "c1" })], [b, a]);
  await until(() => session.state.last_stop !== undefined);
  session.journal.release();
  const again = await reopened(path);
  assertEquals(await again.send("hi", { client_message_id: "c1" }), a);
  const messages = (await journaled(path)).filter((it) => it.type === "user.message");
  assertEquals(messages.length, 1);
  again.journal.release();
});

test("pause interrupts the turn and holds messages off until resume; a failed turn says why", async ({ path }) => {
  let runTurn = streams;
  const session = await newSession(path, { runTurn: (it, turn) => runTurn(it, turn) });
  await session.send("go");
  await delay(5);
  await session.pause("operator");
  assertEquals([session.state.state, session.state.last_stop], ["paused", "interrupted"]);
  const paused = await journaled(path);
  assertEquals(paused.slice(-2).map((it) => it.type), ["turn.completed", "session.paused"]);
  await refused(() => session.send("more"), "conflict");
  await refused(() => session.pause("operator"), "conflict");
  await session.resume("operator");
  await refused(() => session.resume("operator"), "conflict");
  runTurn = (it) => {
    it.takeFresh();
    return Promise.reject(new Error("no such model"));
  };
  await session.send("again");
  await until(() => session.state.last_stop === "error");
  const last = (await journaled(path)).at(-1)!;
  assert(last.type === "turn.completed");
  assertEquals([last.data.stop_reason, last.data.error], ["error", "no such model"]);
  session.journal.release();
});

test("a turn that fails before it takes up its message is not tried again by itself", async ({ path }) => {
  let turns = 0;
  const session = await newSession(path, {
    runTurn: () => Promise.reject(new Error(`there is no model, try ${++turns}`)),
  });
  const sink = new Kept();
  await session.subscribe(sink, { since_seq: 0 }).start();
  const ended = async (count: number) => {
    while ((await journaled(path)).filter((it) => it.type === "turn.completed").length < count) {
      await delay(1);
    }
    for (let n = 0; n < 10; n++) await setImmediate();
  };
  await session.send("one");
  await ended(1);
  assertEquals(turns, 1);
  await session.send("two");
  await ended(2);
  assertEquals(turns, 2);
  await session.kill();
});

test("what a cut-off turn is said to have said has its last words", async ({ path }) => {
  const session = await newSession(path, {
    runTurn: async (it, turn) => {
      it.takeFresh();
      const cut = new Promise<void>((done) => turn.signal.addEventListener("abort", () => done()));
      it.emitText(turn.turn_id, "the first words, ");
      await cut;
      return turn.signal.reason;
    },
  });
  await session.send("go");
  await until(() => session.state.turn?.text !== undefined && session.state.turn.text !== "");
  session.emitText(session.state.turn!.turn_id, "the last words");
  await session.cancel();
  const events = await journaled(path);
  const said = events.flatMap((it) => it.type === "session.delta" ? [it.data.text] : []).join("");
  const [end] = events.flatMap((it) => it.type === "turn.completed" ? [it.data] : []);
  assertEquals(said, "the first words, the last words");
  assertEquals([end.stop_reason, end.message], ["cancelled", said]);
  await session.kill();
});

test("asked to pause or to resume twice at once, a session does it once", async ({ path }) => {
  const session = await newSession(path, { runTurn: streams });
  await session.send("go");
  const [one, two] = await Promise.all([session.pause("operator"), session.pause("operator")]);
  assertEquals(one, two);
  await Promise.all([session.resume("operator"), session.resume("operator")]);
  const types = (await journaled(path)).map((it) => it.type);
  assertEquals(types.filter((it) => it === "session.paused").length, 1);
  assertEquals(types.filter((it) => it === "session.resumed").length, 1);
  await session.kill();
});

/** What the turns of a session were given, and how many there were. */
class Answered {
  readonly seen: string[][] = [];

  /** A turn that takes up what waits and ends, or goes on until it is stopped. */
  turn(endless: () => boolean) {
    return async (session: Session, turn: Turn): Promise<TurnEnd> => {
      const { waiting } = await session.transcript();
      const seen_seq = session.published_seq;
      session.takeFresh();
      this.seen.push(waiting);
      if (endless()) return await streams(session, turn);
      const nothing = { usd_delta: 0, tokens_in: 0, tokens_out: 0, tokens_cached: 0 };
      await session.emit("cost.tick", { ...nothing, seen_seq });
      return { stop_reason: "ok" };
    };
  }
}

test("a message that came during a turn is answered after the turn was cancelled", async ({ path }) => {
  const answered = new Answered();
  const runTurn = answered.turn(() => answered.seen.length === 1);
  const session = await newSession(path, { runTurn });
  await session.send("go");
  await until(() => answered.seen.length === 1);
  await session.send("steer");
  assertEquals(await session.cancel(), true);
  await until(() => session.state.last_stop === "ok");
  assertEquals(answered.seen.length, 2);
  assert(answered.seen[1].includes("steer"));
  assertEquals([session.fresh, await session.cancel()], [false, false]);
  await session.kill();
});

test("a message that came during a turn is answered after a crash, and only that one", async ({ dir, path }) => {
  const before = new Answered();
  const cut = await newSession(path, { runTurn: before.turn(() => true) });
  await cut.send("go");
  await until(() => before.seen.length === 1);
  await cut.send("steer");
  const crashed = dir.join("crashed.ndjson");
  Deno.copyFileSync(path, crashed);
  const after = new Answered();
  const again = await reopened(crashed, { runTurn: after.turn(() => false) });
  await again.recover();
  again.takeUp();
  await until(() => again.state.last_stop === "ok");
  assertEquals(after.seen.map((it) => it.at(-1)), ["steer"]);
  assertEquals(again.fresh, false);
  again.journal.release();
  const whole = await reopened(crashed, { runTurn: after.turn(() => false) });
  assertEquals([whole.fresh, whole.state], [false, again.state]);
  await cut.kill();
  whole.journal.release();
});

test("a message whose turn had not begun when the daemon was killed gets one after the restart", async ({ path }) => {
  const session = await newSession(path);
  await session.emit("user.message", { message_id: "msg_1", text: "hi" });
  session.journal.release();
  const answered = new Answered();
  const again = await reopened(path, { runTurn: answered.turn(() => false) });
  await again.recover();
  again.takeUp();
  await until(() => again.state.last_stop === "ok");
  assertEquals(answered.seen, [["hi"]]);
  again.journal.release();
});

test("no turn begins while a session pauses, though a message waits; resume begins it", async ({ path }) => {
  const session = await newSession(path, { runTurn: streams });
  await session.send("go");
  await delay(5);
  await session.send("steering");
  const pausing = session.pause("operator");
  await session.send("while it pauses");
  await pausing;
  await delay(10);
  const paused = await journaled(path);
  assertEquals(paused.at(-1)?.type, "session.paused");
  assertEquals(paused.filter((it) => it.type === "turn.started").length, 1);
  await session.resume("operator");
  await until(() => session.state.activity === "working");
  await session.kill();
});

test("what a turn says after it was cut off is not recorded", async ({ path }) => {
  const session = await newSession(path, {
    async runTurn(it, turn) {
      it.takeFresh();
      it.emitText(turn.turn_id, "before");
      while (!turn.signal.aborted) await delay(1);
      for (let n = 0; n < 5; n++) {
        it.emitText(turn.turn_id, "late");
        await delay(1);
      }
      return { stop_reason: "ok" };
    },
  });
  await session.send("go");
  await until(() => session.state.turn?.text === "before");
  await session.cancel();
  const last = (await journaled(path)).at(-1)!;
  assert(last.type === "turn.completed");
  assertEquals([last.data.message, last.data.stop_reason], ["before", "cancelled"]);
  session.journal.release();
});

test("two messages at once close a turn that a crash left open once", async ({ path }) => {
  const session = await newSession(path);
  await session.emit("turn.started", { turn_id: "turn_lost", model: "m/m" });
  session.emitText("turn_lost", "so far");
  await note(session, "crash");
  session.journal.release();
  const again = await reopened(path);
  await Promise.all([again.send("one"), again.send("two")]);
  await until(() => !again.fresh && again.state.turn === undefined);
  const closed = (await journaled(path)).filter((it) =>
    it.type === "turn.completed" && it.data.turn_id === "turn_lost"
  );
  assertEquals(closed.length, 1);
  assert(closed[0].type === "turn.completed" && closed[0].data.message === "so far");
  again.journal.release();
});

test("the conversation of an idle session is read again when something has happened", async ({ path }) => {
  const session = await newSession(path);
  await session.send("hi");
  await until(() => session.state.turn === undefined && session.state.last_stop !== undefined);
  const [one, two] = [await session.transcript(), await session.transcript()];
  assertEquals(one.messages(), [{ role: "user", text: "hi" }]);
  assertEquals(two.messages(), one.messages());
  await session.send("again");
  await until(() => session.state.turn === undefined && session.state.messages_count === 2);
  const three = await session.transcript();
  assertEquals(three.messages().length, 2);
  await session.kill();
});

test("queued messages get a turn each, in order, after a crash too; one is taken back", async ({ dir, path }) => {
  const before = new Answered();
  const cut = await newSession(path, { runTurn: before.turn(() => true) });
  await cut.send("go");
  await until(() => before.seen.length === 1);
  const queue = { delivery: "queue" } as const;
  const first = await cut.send("first", { ...queue, client_message_id: "c1", max_steps: 3 });
  assertEquals(await cut.send("first", { ...queue, client_message_id: "c1" }), first);
  const second = await cut.send("second", queue);
  await cut.send("third", queue);
  assertEquals(cut.queued.map(({ delivery }) => delivery), ["queue", "queue", "queue"]);
  assertEquals(
    (await cut.withdraw("local", [second.message_id])).map(({ message }) => message?.text),
    ["second"],
  );
  assertEquals(await cut.withdraw("local", [second.message_id]), []);
  const crashed = dir.join("crashed.ndjson");
  Deno.copyFileSync(path, crashed);
  const after = new Answered();
  const limits: unknown[] = [];
  const runTurn = after.turn(() => false);
  const again = await reopened(crashed, {
    runTurn: (session, turn) => {
      limits.push(session.state.turn?.limits);
      return runTurn(session, turn);
    },
  });
  await again.recover();
  // Its turn was cut off, so that they wait for the person.
  again.takeUp();
  assertEquals([again.state.later_held, again.queued.length], [true, 2]);
  await again.send("go on");
  await until(() => after.seen.length === 3 && again.state.turn === undefined);
  assertEquals(after.seen.map((it) => it.at(-1)), ["go on", "first", "third"]);
  assertEquals(limits, [undefined, { max_steps: 3 }, undefined]);
  const ids = (await journaled(crashed)).flatMap((it) =>
    it.type === "user.message" && it.data.text === "first" ? [it.data.message_id] : []
  );
  assertEquals(ids, [first.message_id]);
  await cut.kill();
  await again.kill();
});

test("a message that steers is queued instead, and one that is queued steers", async ({ path }) => {
  const answered = new Answered();
  const session = await newSession(path, { runTurn: answered.turn(() => true) });
  await session.send("go");
  await until(() => answered.seen.length === 1);
  const sent = () => session.state.queued.map((it) => it.message_id);
  const [begun] = sent();
  const { message_id, seq } = await session.send("this", { client_message_id: "c" });
  const read = (at: number) =>
    Promise.resolve(at === seq ? { message_id, text: "this", client_message_id: "c" } : undefined);
  const waits = () => session.queued.map((it) => it.delivery);
  assertEquals(await session.redeliver(message_id, "queue", "local", read), true);
  assertEquals([waits(), sent(), session.fresh], [["queue"], [begun], false]);
  assertEquals(await session.redeliver(message_id, "queue", "local", read), false);
  assertEquals(await session.redeliver(message_id, "steer", "local", read), true);
  assertEquals([waits(), session.state.later, session.fresh], [["steer"], [], true]);
  assertEquals(await session.redeliver(message_id, "steer", "local", read), false);
  const reread = await reopened(path);
  assertEquals(reread.state.queued.map((it) => it.message_id), [begun, message_id]);
  await session.kill();
});
