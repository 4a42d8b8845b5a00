/** The measurements: each starts a daemon of its own and gives its figures. */
import { landlock_abi } from "../tests/support/landlock.ts";
import { fromFileUrl, join } from "@std/path";
import { delay } from "@std/async";
import { writeAll } from "../src/base/write_all.ts";
import { writeHistory, writeIndex, writeSession } from "../tests/support/histories.ts";
import { type Daemon, Place, svcCommand } from "../tests/support/svc.ts";
import { type Figure, median, percentile, short } from "./figures.ts";
import type { Load } from "./load.ts";
import { Subscriber, type TurnTimes } from "./subscriber.ts";

const STARTS = 15;
const SETTLE_MS = 2_000;
const SESSIONS = 200;
const CONNECTIONS = 32;
const LOAD_RUNS = 3;
const LOAD_SECONDS = 2;
const TURNS_WARM = 10;
const TURNS = 50;
const AT_ONCE = 50;
const BELOW = 1_000;
const ROUNDS = 5;
const STREAMS = 20;
/** Just under what retention keeps. */
const JOURNAL_BYTES = 99e6;
const PACE_MS = 20;
const WATCHED_TURNS = 3;
const FLOOD = "run yes | head -c 300M";

/** Time from the start of the process to the first answer, and of the least command. */
export async function start(): Promise<Figure[]> {
  // A compiled program may keep its code cache in the temporary directory: what an earlier run left
  // there must not decide the figure, and the first run, which fills it, is told apart.
  await using cache = new Place();
  const env = { TMPDIR: cache.dir };
  const serve: number[] = [];
  const version: number[] = [];
  for (let n = 0; n <= STARTS; n++) {
    await using place = new Place(env);
    const began = performance.now();
    const daemon = await place.serve();
    await health(daemon);
    serve.push(performance.now() - began);
    version.push(await timed(() => bare(place)));
  }
  const [first] = serve.splice(0, 1);
  version.shift();
  const spread = (samples: number[]) => `${short(Math.min(...samples))} at best`;
  return [
    {
      id: "start",
      name: "start to first 200",
      unit: "ms",
      value: median(serve),
      note: `median of ${STARTS}, ${spread(serve)}, first of all ${short(first)}`,
    },
    {
      id: "start_version",
      name: "svc --version",
      unit: "ms",
      value: median(version),
      note: `median of ${STARTS}, ${spread(version)}`,
    },
  ];
}

async function bare(place: Place): Promise<void> {
  const [program, first] = svcCommand();
  const { success } = await new Deno.Command(program, {
    args: [...first, "--version"],
    env: place.env,
    clearEnv: true,
    stdout: "null",
  }).output();
  if (!success) throw new Error("svc --version failed");
}

/** One request over a connection of its own, with nothing of a client's start-up in it. */
async function health(daemon: Daemon): Promise<void> {
  using http = await KeptAlive.connect(daemon);
  await http.request("GET", "/v1/health", 200);
}

/** The least HTTP client: what is measured is the server. Its answers come in one read. */
class KeptAlive implements Disposable {
  readonly #conn: Deno.TcpConn;
  readonly #head: string;
  readonly #answer = new Uint8Array(64 * 1024);

  private constructor(conn: Deno.TcpConn, { port, token }: Daemon) {
    this.#conn = conn;
    this.#head = `host: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n`;
  }

  static async connect(daemon: Daemon): Promise<KeptAlive> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port: daemon.port });
    conn.setNoDelay();
    return new KeptAlive(conn, daemon);
  }

  async request(method: string, path: string, status: number, body = ""): Promise<void> {
    const content = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    const request = new TextEncoder().encode(
      `${method} ${path} HTTP/1.1\r\n${this.#head}${body && content}\r\n${body}`,
    );
    await writeAll(this.#conn, request);
    const read = await this.#conn.read(this.#answer) ?? 0;
    const text = new TextDecoder().decode(this.#answer.subarray(0, read));
    if (!text.startsWith(`HTTP/1.1 ${status} `)) throw new Error(`unexpected answer: ${text}`);
  }

  [Symbol.dispose](): void {
    this.#conn.close();
  }
}

/** Memory with more and more idle sessions, what making them takes, and rates with all of them. */
export async function sessions(load: Load): Promise<Figure[]> {
  await using place = new Place();
  const daemon = await place.serve();
  await delay(SETTLE_MS);
  const idle = await rssMb(daemon.pid);
  const health_rate = await rate(load, daemon, "/v1/health");

  // Memory is taken from a daemon that has served nothing else.
  await using quiet = new Place();
  const second = await quiet.serve();
  using http = await KeptAlive.connect(second);
  const times: number[] = [];
  const rss: Record<number, number> = {};
  for (let made = 1; made <= SESSIONS; made++) {
    const body = JSON.stringify({ workdir: quiet.mkdir(`project-${made}`) });
    times.push(await timed(() => http.request("POST", "/v1/sessions", 201, body)));
    if ([1, 50, SESSIONS].includes(made)) {
      await delay(SETTLE_MS);
      rss[made] = await rssMb(second.pid);
    }
  }
  const list_rate = await rate(load, second, "/v1/sessions");
  const { json } = await second.http("GET", "/v1/sessions");
  if (json.sessions.length !== SESSIONS) throw new Error("not every session is listed");
  const list_kb = JSON.stringify(json).length / 1000;

  const per_session_kb = (rss[SESSIONS] - rss[1]) / (SESSIONS - 1) * 1000;
  return [
    { id: "rss_idle", name: "RSS, idle", unit: "MB", value: idle },
    { id: "rss_1", name: "RSS, 1 idle session", unit: "MB", value: rss[1] },
    { id: "rss_50", name: "RSS, 50 idle sessions", unit: "MB", value: rss[50] },
    {
      id: "rss_200",
      name: `RSS, ${SESSIONS} idle sessions`,
      unit: "MB",
      value: rss[SESSIONS],
      note: `${short(per_session_kb)} kB a session`,
    },
    {
      id: "create_p50",
      name: "create a session, p50",
      unit: "ms",
      value: median(times),
      note: `over HTTP, ${SESSIONS} one after the other`,
    },
    { id: "create_p99", name: "create a session, p99", unit: "ms", value: percentile(times, 0.99) },
    {
      id: "health",
      name: "GET /v1/health",
      unit: "/s",
      value: health_rate,
      note: `${CONNECTIONS} connections`,
    },
    {
      id: "list_200",
      name: `GET /v1/sessions, ${SESSIONS} sessions`,
      unit: "/s",
      value: list_rate,
      note: `${CONNECTIONS} connections, ${short(list_kb)} kB an answer`,
    },
  ];
}

/** Requests per second: after a warm-up, the median of several runs. */
async function rate(load: Load, daemon: Daemon, path: string): Promise<number> {
  const { port, token } = daemon;
  const target = { port, token, path, connections: CONNECTIONS };
  await load({ ...target, seconds: 1 });
  const rates: number[] = [];
  for (let n = 0; n < LOAD_RUNS; n++) {
    rates.push(await load({ ...target, seconds: LOAD_SECONDS }));
  }
  return median(rates);
}

/** Turns of 100 deltas: one after the other, for both wire formats, and many at once. */
export async function turns(): Promise<Figure[]> {
  await using openai = await ModelProcess.start("openai", 0);
  await using anthropic = await ModelProcess.start("anthropic", 0);
  await using place = new Place({ BENCH_KEY: "none" });
  place.configure(`
[cortex]
curator = false
[models.openai_like]
kind = "openai-compatible"
base_url = "${openai.url}"
[models.anthropic_like]
kind = "anthropic"
base_url = "${anthropic.url}"
api_key_env = "BENCH_KEY"
`);
  const daemon = await place.serve();
  using subscriber = await Subscriber.connect(daemon);
  const figures: Figure[] = [];
  for (const kind of ["openai", "anthropic"]) {
    const newSession = () =>
      subscriber.session({ workdir: place.mkdir("project"), model: `${kind}_like/bench` });
    const times: TurnTimes[] = [];
    // A new session now and then, so that the conversation that is sent along stays short.
    for (let at = 0, session_id = ""; at < TURNS_WARM + TURNS; at++) {
      if (at % 10 === 0) session_id = await newSession();
      const turn = await subscriber.turn(session_id, "go on");
      if (at >= TURNS_WARM) times.push(turn);
    }
    const total = times.map((it) => it.total);
    const first_delta = median(times.map((it) => it.first_delta));
    const deltas = median(times.map((it) => it.deltas));
    figures.push({
      id: `turn_${kind}`,
      name: `a turn of 100 deltas, ${kind}`,
      unit: "ms",
      value: median(total),
      note: `first delta ${short(first_delta)}, p99 ${short(percentile(total, 0.99))}; ` +
        `what comes at once is one event, ${deltas} here`,
    });
  }

  const ids: string[] = [];
  for (let n = 0; n < AT_ONCE; n++) {
    const workdir = place.mkdir(`project-${n}`);
    ids.push(await subscriber.session({ workdir, model: "openai_like/bench" }));
  }
  const rounds: number[] = [];
  for (let n = 0; n <= ROUNDS; n++) {
    rounds.push(
      await timed(() => Promise.all(ids.map((id) => subscriber.turn(id, "go on")))),
    );
  }
  const [first, ...warm] = rounds;
  figures.push({
    id: "turns_50",
    name: `${AT_ONCE} such turns at once`,
    unit: "ms",
    value: median(warm),
    note: `until the last turn.completed; first round ${short(first)}`,
  });
  return figures;
}

/** Turns that run one command each, in the sandbox and without, and turns that read one file each. */
export async function commands(): Promise<Figure[]> {
  const inside = await toolTurns("", "run true");
  const outside = await toolTurns('[sandbox]\nshell = "none"\n', "run true");
  const landlocked = landlock_abi > 0
    ? await toolTurns('[sandbox]\nshell = "landlock"\n', "run true")
    : [];
  const reading = await toolTurns("", "read notes.txt");
  const cost = median(inside) - median(outside);
  return [
    {
      id: "turn_command",
      name: "a turn: run true",
      unit: "ms",
      value: median(inside),
      note: `median of ${TURNS}, p99 ${short(percentile(inside, 0.99))}`,
    },
    {
      id: "sandbox_cost",
      name: "the sandbox's part of it",
      unit: "ms",
      value: cost,
      note: `${short(median(outside))} without a sandbox; aim 10`,
    },
    ...(landlocked.length === 0 ? [] : [{
      id: "landlock_cost",
      name: "the part of Landlock, where it is the sandbox",
      unit: "ms" as const,
      value: median(landlocked) - median(outside),
      note: `a turn ${short(median(landlocked))}`,
    }]),
    {
      id: "turn_read",
      name: "a turn: read a file",
      unit: "ms",
      value: median(reading),
      note: `median of ${TURNS}, p99 ${short(percentile(reading, 0.99))}`,
    },
  ];
}

/** What turns of one call take, in milliseconds. */
async function toolTurns(toml: string, text: string): Promise<number[]> {
  await using place = new Place();
  place.configure(toml);
  const daemon = await place.serve();
  using subscriber = await Subscriber.connect(daemon);
  const workdir = place.mkdir("project");
  Deno.writeTextFileSync(join(workdir, "notes.txt"), "one line\n");
  const model = "builtin/toolbelt";
  const session_id = await subscriber.session({ workdir, model, approval: "auto" });
  const times: number[] = [];
  for (let n = 0; n < TURNS_WARM + TURNS; n++) {
    const { total } = await subscriber.turn(session_id, text);
    if (n >= TURNS_WARM) times.push(total);
  }
  return times;
}

/** What a command takes in a session above others, beside the same directories without sessions. */
export async function below(): Promise<Figure[]> {
  const medians: number[] = [];
  for (const with_sessions of [false, true]) {
    await using place = new Place();
    const workdirs = Array.from({ length: BELOW }, (_, n) => place.mkdir(`all/project-${n}`));
    if (with_sessions) writeIndex(place, workdirs.map((it) => writeSession(it, "stopped")));
    const daemon = await place.serve();
    using subscriber = await Subscriber.connect(daemon);
    const workdir = place.mkdir("all");
    const model = "builtin/toolbelt";
    const session_id = await subscriber.session({ workdir, model, approval: "auto" });
    const times: number[] = [];
    for (let n = 0; n < TURNS_WARM + TURNS; n++) {
      const { total } = await subscriber.turn(session_id, "run true");
      if (n >= TURNS_WARM) times.push(total);
    }
    medians.push(median(times));
  }
  const [without, with_them] = medians;
  return [{
    id: "turn_below",
    name: `a turn: run true, above ${BELOW.toLocaleString("en-US")} sessions`,
    unit: "ms",
    value: with_them,
    note: `${(with_them / without).toFixed(2)} times that above as many plain directories`,
  }];
}

/** How late events of one session are while another floods and more stream. */
export async function fairness(): Promise<Figure[]> {
  await using model = await ModelProcess.start("openai", PACE_MS);
  await using place = new Place();
  place.configure(
    `[cortex]\ncurator = false\n` +
      `[models.paced]\nkind = "openai-compatible"\nbase_url = "${model.url}"\n`,
  );
  const daemon = await place.serve();
  using watcher = await Subscriber.connect(daemon);
  using others = await Subscriber.connect(daemon);
  const paced = (subscriber: Subscriber, name: string) =>
    subscriber.session({ workdir: place.mkdir(name), model: "paced/bench" });
  const watched = await paced(watcher, "watched");
  const streams: string[] = [];
  for (let n = 0; n < STREAMS; n++) streams.push(await paced(others, `project-${n}`));
  const flooding = await others.session({
    workdir: place.mkdir("flood"),
    model: "builtin/toolbelt",
    approval: "auto",
  });
  // What is made once, such as the tools' sandbox, is no part of the delay.
  await Promise.all([
    watcher.turn(watched, "go on"),
    others.turn(flooding, "run true"),
  ]);

  let over = false;
  let floods = 0;
  const background = [
    ...streams.map(async (id) => {
      while (!over) await others.turn(id, "go on");
    }),
    (async () => {
      while (!over) {
        await others.turn(flooding, FLOOD);
        floods++;
      }
    })(),
  ];
  const delays: number[] = [];
  watcher.onEvent = ({ at }) => delays.push(Math.max(0, Date.now() - Date.parse(at)));
  for (let n = 0; n < WATCHED_TURNS; n++) await watcher.turn(watched, "go on");
  watcher.onEvent = () => {};
  over = true;
  await Promise.all(background);
  return [{
    id: "delay_p99",
    name: "event delay beside a flood, p99",
    unit: "ms",
    value: percentile(delays, 0.99),
    note: `${delays.length} events, p50 ${median(delays)}, most ${Math.max(...delays)}; ` +
      `${STREAMS} more sessions stream; ${floods} × ${FLOOD.slice(4)}`,
  }];
}

/** Time until a session with a long journal is back after a start, and what its reading takes. */
export async function reopening(): Promise<Figure[]> {
  await using place = new Place();
  const history = writeHistory(place.mkdir("long"), JOURNAL_BYTES);
  writeIndex(place, [history]);
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const took = await timed(() => client.rpc.call("session.get", { session_id: history.id }));
  const megabytes = Math.round(Deno.statSync(history.journal_path).size / 1e6);
  return [{
    id: "journal_open",
    name: `open a journal of ${megabytes} MB`,
    unit: "ms",
    value: took,
    note: `${history.last_seq} records, from the listening of the daemon on`,
  }];
}

/** Appends per second of the journal, from its micro benchmark. */
export async function journal(): Promise<Figure[]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "bench",
      "--json",
      "--no-check",
      "--allow-read",
      "--allow-write",
      `--config=${fileBeside("../deno.json")}`,
      fileBeside("journal_bench.ts"),
    ],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const { benches } = JSON.parse(new TextDecoder().decode(stdout)) as {
    benches: { name: string; results: { ok?: { avg: number } }[] }[];
  };
  return benches.map(({ name, results }, n) => ({
    id: `journal_${n}`,
    name: `journal: ${name}`,
    unit: "/s",
    // A batch counts as the records it has.
    value: 1e9 / (results[0].ok?.avg ?? Infinity) * Number(name.match(/(\d+) records/)?.[1] ?? 1),
    note: /\d+ records/.test(name) ? "records" : undefined,
  }));
}

/** A model server in a process of its own. */
class ModelProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(kind: string, pace_ms: number): Promise<ModelProcess> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-check",
        "--allow-net=127.0.0.1",
        "--allow-env",
        `--config=${fileBeside("../deno.json")}`,
        fileBeside("../tests/support/model_server_main.ts"),
        `--kind=${kind}`,
        `--pace-ms=${pace_ms}`,
      ],
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value = "" } = await reader.read();
    reader.releaseLock();
    return new ModelProcess(child, JSON.parse(value).url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#child.stdout.cancel().catch(() => {});
  }
}

/** Resident memory as `ps` tells it: reading it from /proc would take every permission. */
async function rssMb(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", `${pid}`] })
    .output();
  return Number(new TextDecoder().decode(stdout)) * 1024 / 1e6;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function fileBeside(name: string): string {
  return join(fromFileUrl(new URL(".", import.meta.url)), name);
}
