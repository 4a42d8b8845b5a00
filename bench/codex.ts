/** Start and stop beside codex's app-server, a widely used server of the same kind. */
import { writeIndex, writeSession } from "../tests/support/histories.ts";
import { Place } from "../tests/support/svc.ts";
import { type Figure, median, short } from "./figures.ts";

const RUNS = 15;
const SESSIONS = 300;

interface Run {
  /** From the start of the process to the first list of sessions, in ms. */
  start: number;
  /** From SIGTERM to the end, in ms. */
  stop: number;
}

/**
 * Measures in turn: svc, svc with idle sessions, codex. CODEX_BIN names the `codex` program
 * (`npm i @openai/codex@0.169.0`); without it there is nothing to compare with.
 */
export async function codex(): Promise<Figure[]> {
  const program = Deno.env.get("CODEX_BIN");
  if (program === undefined) {
    console.error("  codex: not measured, CODEX_BIN names no program");
    return [];
  }
  await using empty = new Place();
  await using full = new Place();
  await using theirs = new Place();
  writeIndex(
    full,
    Array.from({ length: SESSIONS }, (_, n) => writeSession(full.mkdir(`p-${n}`), "paused")),
  );
  const runs = { empty: [] as Run[], full: [] as Run[], codex: [] as Run[] };
  // The first run of each fills caches.
  for (let n = 0; n <= RUNS; n++) {
    const round = {
      empty: await runSvc(empty, 0),
      full: await runSvc(full, SESSIONS),
      codex: await runCodex(program, theirs),
    };
    if (n === 0) continue;
    for (const name of ["empty", "full", "codex"] as const) runs[name].push(round[name]);
  }
  const of = (name: keyof typeof runs, part: keyof Run) =>
    median(runs[name].map((run) => run[part]));
  const start = of("empty", "start");
  const ratio = (value: number, other: number) => short(value / other);
  return [
    {
      id: "start_listed",
      name: "start to the first list of sessions",
      unit: "ms",
      value: start,
      note: `${ratio(start, of("codex", "start"))} times codex app-server's ` +
        `${short(of("codex", "start"))} ms in the same run, aim 1.2`,
    },
    {
      id: "start_listed_idle",
      name: `the same with ${SESSIONS} idle sessions`,
      unit: "ms",
      value: of("full", "start"),
      note: `${ratio(of("full", "start"), start)} times that of none, aim 1.3`,
    },
    {
      id: "stop_listed",
      name: "SIGTERM to the end",
      unit: "ms",
      value: of("empty", "stop"),
      note: `with ${SESSIONS} idle sessions ${short(of("full", "stop"))}, aim 50; ` +
        `codex app-server ${short(of("codex", "stop"))}`,
    },
  ];
}

async function runSvc(place: Place, sessions: number): Promise<Run> {
  const began = performance.now();
  const daemon = await place.serve();
  const { json } = await daemon.http("GET", "/v1/sessions");
  const start = performance.now() - began;
  if (json.sessions.length !== sessions) throw new Error("not every session is listed");
  const stopping = performance.now();
  await daemon.stop();
  return { start, stop: performance.now() - stopping };
}

async function runCodex(program: string, place: Place): Promise<Run> {
  const probe = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = probe.addr as Deno.NetAddr;
  probe.close();
  const url = `ws://127.0.0.1:${port}`;
  const began = performance.now();
  await using server = new Deno.Command(program, {
    args: ["app-server", "--listen", url],
    env: { ...place.env, HOME: place.dir, CODEX_HOME: place.mkdir("codex") },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const socket = await connected(url);
  await asked(socket, "initialize", { clientInfo: { name: "bench", version: "1.0.0" } });
  socket.send(JSON.stringify({ method: "initialized" }));
  await asked(socket, "thread/list", {});
  const start = performance.now() - began;
  socket.close();
  const stopping = performance.now();
  server.kill("SIGTERM");
  await server.status;
  return { start, stop: performance.now() - stopping };
}

/** Connects as soon as it listens. */
async function connected(url: string): Promise<WebSocket> {
  for (let left = 5_000;; left--) {
    const socket = new WebSocket(url);
    const open = await new Promise<boolean>((resolve) => {
      socket.onopen = () => resolve(true);
      socket.onerror = () => resolve(false);
    });
    if (open) return socket;
    if (left === 0) throw new Error(`nothing listens at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Resolves with the answer. */
function asked(socket: WebSocket, method: string, params: unknown): Promise<unknown> {
  const id = crypto.randomUUID();
  return new Promise((resolve, reject) => {
    socket.onmessage = ({ data }) => {
      const answer = JSON.parse(data);
      if (answer.id !== id) return;
      if (answer.error === undefined) resolve(answer.result);
      else reject(new Error(JSON.stringify(answer.error)));
    };
    socket.send(JSON.stringify({ id, method, params }));
  });
}
