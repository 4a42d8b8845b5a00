import { assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { within } from "../base/within.ts";
import { granted } from "../../tests/support/permissions.ts";
import { journaled, newSession, reopened, TempDir } from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import { Continuations } from "./continuations.ts";
import type { Session, SessionParts } from "./session.ts";
import type { Turn, TurnEnd } from "./turn.ts";

/** Declares a test with the path of a session's journal. */
function test(name: string, run: (path: string) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !granted("read", "write"),
    async fn() {
      using dir = new TempDir();
      await run(dir.join("journal.ndjson"));
    },
  });
}

/** Waits for what has to come, but not for ever. */
async function until(holds: () => boolean): Promise<void> {
  for (let n = 0; n < 20_000 && !holds(); n++) await delay(1);
  assertEquals(holds(), true);
}

/** A turn that says half of its answer and then waits until it is stopped. */
function half(session: Session, turn: Turn): Promise<TurnEnd> {
  session.takeFresh();
  session.emitText(turn.turn_id, "half");
  return new Promise((resolve) =>
    turn.soft.addEventListener("abort", () => resolve({ stop_reason: "interrupted" }))
  );
}

function whole(session: Session, turn: Turn): Promise<TurnEnd> {
  session.takeFresh();
  session.emitText(turn.turn_id, "whole");
  return Promise.resolve({ stop_reason: "ok" });
}

const goesOn = () => true;

/** A session whose turn a stop has left open, as the next daemon finds it. */
async function left(path: string, parts: Partial<SessionParts> = {}): Promise<Session> {
  const before = await newSession(path, { runTurn: half, goesOn });
  await before.send("go");
  await until(() => before.state.turn?.text === "half");
  await before.pause("daemon_shutdown");
  await before.release();
  const session = await reopened(path, { runTurn: whole, goesOn, ...parts });
  await session.recover();
  await session.resume("daemon_started");
  return session;
}

const typesOf = async (path: string) =>
  (await journaled(path)).map(({ type }) => type)
    .filter((type) => /^(turn|session\.(paused|resumed|ended)|user)/.test(type));

const LEFT = ["user.message", "turn.started", "session.paused", "session.resumed"];

test("a turn that a stop has left waits, and goes on once", async (path) => {
  const session = await left(path);
  assertEquals([session.waitsToGoOn, session.activity, session.cutOff], [true, "working", true]);
  session.takeUp();
  assertEquals(session.waitsToGoOn, true, "not by itself");
  assertEquals([session.goOn(), session.goOn()], [true, false]);
  await until(() => session.state.turn === undefined);
  assertEquals(session.state.last_stop, "ok");
  assertEquals(await typesOf(path), [...LEFT, "turn.continued", "turn.completed"]);
  const { data } = (await journaled(path)).findLast(({ type }) => type === "turn.completed")!;
  assertEquals((data as { message: string }).message, "whole");
  await session.release();
});

test("a message has the turn go on that waits, and is part of it", async (path) => {
  const session = await left(path);
  await session.send("hurry");
  await until(() => session.state.turn === undefined);
  const rest = ["user.message", "turn.continued", "turn.completed"];
  assertEquals(await typesOf(path), [...LEFT, ...rest]);
  await session.release();
});

test("cancel, an operator's pause and kill end the turn that waits", async (path) => {
  const cancelled = await left(path);
  assertEquals([await cancelled.cancel(), await cancelled.cancel()], [true, false]);
  assertEquals([cancelled.state.last_stop, cancelled.cutOff], ["cancelled", false]);
  await cancelled.release();
  const paused = await left(`${path}2`);
  await paused.pause("operator");
  assertEquals([paused.state.state, paused.state.last_stop], ["paused", "interrupted"]);
  assertEquals([paused.waitsToGoOn, paused.cutOff], [false, true]);
  await paused.release();
  const killed = await left(`${path}3`);
  await killed.kill();
  assertEquals((await typesOf(`${path}3`)).slice(-2), ["turn.completed", "session.ended"]);
});

test("what is cancelled while the daemon stops is not continued", async (path) => {
  const runTurn = (session: Session, turn: Turn) =>
    new Promise<TurnEnd>((_, reject) => {
      session.takeFresh();
      turn.signal.addEventListener("abort", () => reject(turn.signal.reason));
    });
  const session = await newSession(path, { runTurn, goesOn });
  await session.send("go");
  await until(() => session.state.turn !== undefined);
  const pausing = session.pause("daemon_shutdown", 60_000);
  await session.cancel();
  await pausing;
  assertEquals((await typesOf(path)).slice(-2), ["turn.completed", "session.paused"]);
  await session.release();
});

test("a second stop leaves the turn that waits as it is", async (path) => {
  const session = await left(path);
  await session.pause("daemon_shutdown");
  assertEquals(session.goOn(), false);
  assertEquals((await typesOf(path)).slice(-2), ["session.resumed", "session.paused"]);
  await session.release();
  const again = await reopened(path, { runTurn: whole, goesOn });
  await again.recover();
  assertEquals(again.waitsToGoOn, true);
  await again.release();
});

test("a crash before the turn that a stop has left goes on changes nothing", async (path) => {
  const session = await left(path);
  await session.release();
  const again = await reopened(path, { runTurn: whole, goesOn: (_, after) => after === "stop" });
  await again.recover();
  assertEquals([again.state.state, again.waitsToGoOn, again.goOn()], ["running", true, true]);
  await until(() => again.state.turn === undefined);
  assertEquals(again.state.last_stop, "ok");
  await again.release();
});

test("where turns do not go on, the next daemon interrupts it, and none is continued", async (path) => {
  const session = await left(path, { goesOn: () => false });
  assertEquals([session.waitsToGoOn, session.state.last_stop], [false, "interrupted"]);
  const error = await assertRejects(() => session.continueTurn(), SvcError);
  assertEquals([error.code, session.cutOff], ["conflict", false]);
  await session.release();
});

test("a turn continued by hand cannot be continued again once it has ended", async (path) => {
  const session = await left(path, { goesOn: (_, after) => after === "asked" });
  const turn_id = session.state.cut!.turn_id;
  const [one, two] = await Promise.allSettled([session.continueTurn(), session.continueTurn()]);
  assertEquals([one, two.status], [{ status: "fulfilled", value: turn_id }, "rejected"]);
  await until(() => session.state.turn === undefined);
  await assertRejects(() => session.continueTurn(), SvcError);
  await session.release();
});

/** Asks the same of each turn. */
async function asking(session: Session, turn: Turn, asks: () => void): Promise<TurnEnd> {
  session.takeFresh();
  const request = { call_id: "call_1", tool: "t", args: {}, reason: "r", rule: "t" };
  const decided = session.approvals.ask(request, { signal: turn.soft });
  asks();
  return await decided.then(
    () => ({ stop_reason: "ok" }) as const,
    () => ({ stop_reason: "interrupted" }) as const,
  );
}

test("a stop in the moment in which a continued turn asks again is not missed", async (path) => {
  const before = await newSession(path, {
    runTurn: (session, turn) => asking(session, turn, () => {}),
    goesOn,
  });
  await before.send("go");
  await until(() => before.state.pending_approvals.length === 1);
  await before.pause("daemon_shutdown");
  await before.release();

  let paused: Promise<string> | undefined;
  const session: Session = await reopened(path, {
    runTurn: (it, turn) => asking(it, turn, () => paused = session.pause("daemon_shutdown")),
    goesOn,
  });
  await session.recover();
  await session.resume("daemon_started");
  assertEquals(session.goOn(), true);
  await until(() => paused !== undefined);
  // Far below the time after which a turn that hears nothing is cut off.
  assertEquals(await within(paused!, 2_000), true);
  assertEquals(session.state.pending_approvals.length, 1);
  await session.release();
});

Deno.test("those that ask a person or rest give up their place; none begins before the start", () => {
  const begun: number[] = [];
  const sessions = Array.from({ length: 12 }, (_, n) => {
    const session = { activity: "working", goOn: () => begun.push(n) > 0 };
    return session as unknown as Session & { activity: Session["activity"] };
  });
  const continuations = new Continuations();
  for (const session of sessions) continuations.add(session);
  assertEquals(begun, []);
  continuations.start();
  assertEquals(begun.length, 8);
  continuations.committed(sessions[0]);
  assertEquals(begun.length, 8, "it still works");
  sessions[0].activity = "idle";
  sessions[1].activity = "awaiting_approval";
  continuations.committed(sessions[0]);
  continuations.committed(sessions[0]);
  assertEquals(begun.length, 9);
  continuations.committed(sessions[1]);
  assertEquals(begun, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  continuations.stop();
  sessions[2].activity = "idle";
  continuations.committed(sessions[2]);
  assertEquals(begun.length, 10);
});
