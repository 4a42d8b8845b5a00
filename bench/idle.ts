/** What sessions that nobody uses cost a daemon's start and stop. */
import { writeIndex, writeSession } from "../tests/support/histories.ts";
import { Place } from "../tests/support/svc.ts";
import { type Figure, median, short } from "./figures.ts";

const RUNS = 7;

interface Run {
  start: number;
  stop: number;
}

/** A start and a stop, in ms. @throws {Error} when the first answers lack sessions. */
async function run(place: Place, sessions: number): Promise<Run> {
  const began = performance.now();
  const daemon = await place.serve();
  const health = await daemon.http("GET", "/v1/health");
  const start = performance.now() - began;
  const list = await daemon.http("GET", "/v1/sessions");
  const told = [health.json.sessions, list.json.sessions.length];
  if (told.some((count) => count !== sessions)) {
    throw new Error(`${sessions} sessions: health and list say ${told.join(" and ")}`);
  }
  const stopping = performance.now();
  await daemon.stop();
  return { start, stop: performance.now() - stopping };
}

/** Start and stop with that many idle sessions, in turn with a daemon that has none. */
export async function idle(sessions: number): Promise<Figure[]> {
  await using empty = new Place();
  await using full = new Place();
  const histories = Array.from(
    { length: sessions },
    (_, n) => writeSession(full.mkdir(`project-${n % 100}`), "paused"),
  );
  writeIndex(full, histories);
  // Its first daemon has no index that says what the journals have come to, and reads them.
  await run(full, sessions);
  const without: Run[] = [];
  const many: Run[] = [];
  for (let n = 0; n < RUNS; n++) {
    without.push(await run(empty, 0));
    many.push(await run(full, sessions));
  }
  const of = (runs: Run[], name: keyof Run) => median(runs.map((it) => it[name]));
  const start = of(many, "start");
  const ratio = short(start / of(without, "start"));
  return [
    {
      id: "start_idle",
      name: `start with ${sessions} idle sessions`,
      unit: "ms",
      value: start,
      note: `${ratio} times that of none, aim 1.3; health and list are complete at once`,
    },
    {
      id: "stop_idle",
      name: `stop with ${sessions} idle sessions`,
      unit: "ms",
      value: of(many, "stop"),
      note: `with none ${short(of(without, "stop"))}`,
    },
  ];
}
