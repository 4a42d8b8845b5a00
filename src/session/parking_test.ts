import { assert, assertEquals } from "@std/assert";
import { FakeClock, settle } from "../../tests/support/clock.ts";
import { granted } from "../../tests/support/permissions.ts";
import { journaled, newSession, reopened, TempDir } from "../../tests/support/sessions.ts";
import { isOver, PARK_MAX_MS, parkedUntil } from "./parked.ts";
import { Parking } from "./parking.ts";
import type { Session, SessionParts } from "./session.ts";
import type { Published } from "./subscription.ts";
import type { TurnEnd } from "./turn.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-28T12:00:00Z");

Deno.test("a turn is parked a moment longer than asked, up to a bound and its deadline", () => {
  const until = (wait_ms: number, more = {}) => {
    const found = parkedUntil({ wait_ms, now: NOW, ...more });
    return "until" in found ? found.until : found.refused;
  };
  assertEquals(until(3 * HOUR), "2026-11-28T15:00:01.000Z");
  assertEquals(until(40 * 24 * HOUR), "svc waits at most 8 days");
  // Again and again without an answer.
  const parked_since = new Date(NOW - PARK_MAX_MS + HOUR).toISOString();
  assertEquals(until(HOUR / 2, { parked_since }), "2026-11-28T12:30:01.000Z");
  assertEquals(until(HOUR, { parked_since }), "svc waits at most 8 days");
  // Set back since.
  assert(until(HOUR, { parked_since: new Date(NOW + HOUR).toISOString() }).endsWith("Z"));
  assertEquals(
    until(HOUR, { deadline_at: NOW + HOUR }),
    "that is after the task's deadline",
  );
});

Deno.test("a wait is over at its time, or when the clock was set back to long before it", () => {
  assertEquals(isOver(NOW + 1, NOW), false);
  assertEquals(isOver(NOW, NOW), true);
  assertEquals(isOver(NOW + PARK_MAX_MS, NOW), false);
  assertEquals(isOver(NOW + 366 * 24 * HOUR, NOW), true);
});

interface Fake {
  state: { turn?: { parked: { until: string } } };
  early: number;
  goOn(): void;
}

const commit = (type: string, data = {}) => [{ type, data }] as unknown as Published[];

Deno.test("a parked turn is woken by the time of day, also when timers stood still", async () => {
  const clock = new FakeClock(NOW);
  const woken: unknown[] = [];
  const parking = new Parking((session) => woken.push(session), clock);
  const fake = (until: string): Fake => ({
    state: { turn: { parked: { until } } },
    early: 0,
    goOn() {
      this.early++;
    },
  });
  const soon = fake("2026-11-28T12:10:00Z");
  const late = fake("2026-11-28T18:00:00Z");
  const other = fake("2026-11-28T12:05:00Z");
  for (const one of [soon, late, other] as unknown as Session[]) {
    parking.committed(one, commit("turn.parked"));
  }
  parking.committed(other as unknown as Session, commit("turn.completed"));
  await clock.advance(9 * 60_000);
  assertEquals(woken, []);
  await clock.advance(75_000);
  assertEquals(woken[0], soon);
  parking.committed(soon as unknown as Session, commit("turn.continued"));
  assertEquals(woken.splice(0).length, 1);
  // The machine slept.
  clock.jump(7 * HOUR);
  await clock.advance(16_000);
  assertEquals(woken, [late]);
  parking.add(late as unknown as Session);
  parking.committed(late as unknown as Session, commit("session.configured", { model: "m/m" }));
  await settle();
  assertEquals(late.early, 1);
  parking.stop();
  assertEquals(clock.waiting, 0);
});

const limited = (wait_ms: number) => (): Promise<TurnEnd> =>
  Promise.resolve({
    stop_reason: "rate_limit",
    error: "quota",
    park: { wait_ms, reason: "quota" },
  });
const parks = () => ({ after_ms: 1, asks: false });
const goesOn = () => true;

async function parkedSession(path: string, parts: Partial<SessionParts> = {}): Promise<Session> {
  const session = await newSession(path, { runTurn: limited(HOUR), parks, goesOn, ...parts });
  await session.send("go");
  while (session.parked === undefined && session.state.last_stop === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return session;
}

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

test("a parked turn does not go on before its time, but when it is asked to", async (path) => {
  const session = await parkedSession(path);
  assertEquals([session.waitsToGoOn, session.activity, session.cutOff], [true, "working", true]);
  assertEquals(session.goOn(), false);
  await session.send("more");
  assertEquals([session.waitsToGoOn, session.state.queued.length], [true, 2]);
  await session.continueTurn();
  while (session.parked === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
  assertEquals((await journaled(path)).filter(({ type }) => type === "turn.parked").length, 2);
  await session.release();
});

test("an operator's pause interrupts a parked turn; kill ends it", async (path) => {
  const session = await parkedSession(path);
  await session.pause("operator");
  assertEquals([session.state.last_stop, session.parked], ["interrupted", undefined]);
  assertEquals(session.cutOff, true);
  await session.release();
  const killed = await parkedSession(`${path}2`);
  await killed.kill();
  const types = (await journaled(`${path}2`)).map(({ type }) => type);
  const after = types.slice(types.indexOf("turn.parked") + 1);
  assertEquals(after, ["turn.completed", "lane.status", "session.ended"]);
});

test("crashes while it is parked are none of the turn; where turns do not go on, it ends", async (path) => {
  const session = await parkedSession(path);
  await session.release();
  for (let crash = 0; crash < 4; crash++) {
    const again = await reopened(path, { runTurn: limited(HOUR), parks, goesOn });
    await again.recover();
    assertEquals(again.parked?.reason, "quota");
    await again.release();
  }
  const last = await reopened(path, { parks: () => undefined, goesOn: () => false });
  await last.recover();
  const { data } = (await journaled(path)).findLast(({ type }) => type === "turn.completed")!;
  assertEquals(data, { ...data, stop_reason: "rate_limit", error: "quota" });
  await last.release();
});

test("a turn with a deadline before the end of the limit ends", async (path) => {
  const session = await newSession(path, { runTurn: limited(HOUR), parks, goesOn });
  session.deadline_at = Date.now() + HOUR / 2;
  await session.send("go");
  while (session.state.last_stop === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const { data } = (await journaled(path)).findLast(({ type }) => type === "turn.completed")!;
  assert((data as { error: string }).error.endsWith("after the task's deadline"));
  assertEquals(session.state.last_stop, "rate_limit");
  await session.release();
});

test("what is cancelled while it is being parked is cancelled", async (path) => {
  const session = await newSession(path, { runTurn: limited(HOUR), parks, goesOn });
  await session.send("go");
  await session.cancel();
  assertEquals([session.state.last_stop, session.parked], ["cancelled", undefined]);
  await session.release();
});
