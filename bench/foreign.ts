/**
 * Turns as programs that we did not write see them: Node's WebSocket, Chromium's, and curl on the
 * event stream. Our own clients cannot show how the kernel's delays meet another program's reads.
 */
import { fromFileUrl } from "@std/path";
import { TextLineStream } from "@std/streams";
import { Browser, chromiumPath } from "../tests/support/browser.ts";
import { firstLine } from "../tests/support/processes.ts";
import { type Daemon, Place } from "../tests/support/svc.ts";
import { type Figure, median, percentile, short } from "./figures.ts";
import { followTurns } from "./foreign_client.mjs";

const WARM = 3;
const TURNS = 30;
const AT_ONCE = 50;
const ROUNDS = 5;
const PACES_MS = [5, 20];
const PACED_TURNS = 3;

interface Work {
  url: string;
  token: string;
  session_ids: string[];
  rounds: number;
}

interface Measured {
  rounds: number[];
  first: number[];
  late: number[];
}

/** The figures of each foreign client that is installed. */
export async function foreign(): Promise<Figure[]> {
  if (!await runs("node", "--version")) return [];
  await using model = await ForeignModel.start();
  await using place = new Place();
  place.configure(
    `[cortex]\ncurator = false\n` +
      `[models.paced]\nkind = "openai-compatible"\nbase_url = "${model.url}"\n`,
  );
  const daemon = await place.serve();
  const session = async (pace_ms: number) => {
    const workdir = place.mkdir(crypto.randomUUID());
    const body = { workdir, model: `paced/pace-${pace_ms}` };
    const { json } = await daemon.http("POST", "/v1/sessions", body);
    return json.session_id as string;
  };
  const work = (session_ids: string[], rounds: number): Work => ({
    url: `${daemon.url.replace("http", "ws")}/v1/ws`,
    token: daemon.token,
    session_ids,
    rounds,
  });
  const figures: Figure[] = [];
  const client = async (
    id: string,
    name: string,
    follow: (work: Work) => Promise<Measured>,
  ): Promise<void> => {
    const { rounds, first } = await follow(work([await session(0)], WARM + TURNS));
    const turns = rounds.slice(WARM);
    figures.push({
      id: `turn_${id}`,
      name: `a turn of 100 deltas, ${name}`,
      unit: "ms",
      value: median(turns),
      note: `first delta ${short(median(first.slice(WARM)))}, p99 ${
        short(percentile(turns, 0.99))
      }`,
    });
    const ids = await Promise.all(Array.from({ length: AT_ONCE }, () => session(0)));
    const at_once = await follow(work(ids, 1 + ROUNDS));
    figures.push({
      id: `turns_50_${id}`,
      name: `${AT_ONCE} such turns at once, ${name}`,
      unit: "ms",
      value: median(at_once.rounds.slice(1)),
      note: `median of ${ROUNDS}, first round ${short(at_once.rounds[0])}`,
    });
    for (const pace_ms of PACES_MS) {
      const { late } = await follow(work([await session(pace_ms)], PACED_TURNS));
      figures.push(lateness(`${id}_${pace_ms}`, `${name}, a delta every ${pace_ms} ms`, late));
    }
  };
  await client("node", "Node's WebSocket", nodeTurns);
  if (chromiumPath() !== undefined) {
    await using browser = await Browser.launch();
    const page = await browser.page(daemon.url);
    await client("chromium", "Chromium's WebSocket", (work) => page.evaluate(followTurns, work));
  }
  if (await runs("curl", "--version")) {
    for (const pace_ms of PACES_MS) {
      const late = await curlDelays(daemon, await session(pace_ms));
      figures.push(lateness(`curl_${pace_ms}`, `curl, a delta every ${pace_ms} ms`, late));
    }
  }
  return figures;
}

function lateness(id: string, name: string, late: number[]): Figure {
  return {
    id: `late_${id}`,
    name: `event delay, ${name}, p99`,
    unit: "ms",
    value: percentile(late, 0.99),
    note: `${late.length} deltas, p50 ${median(late)}, most ${Math.max(...late)}`,
  };
}

/** The work as a Node program does it. The token goes in over its input, where nobody sees it. */
async function nodeTurns(work: Work): Promise<Measured> {
  const child = new Deno.Command("node", {
    args: ["--no-warnings", "--experimental-websocket", fileBeside("foreign_client.mjs")],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(work)));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("Node's WebSocket client failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** How late curl prints each delta of some turns. */
async function curlDelays(daemon: Daemon, session_id: string): Promise<number[]> {
  const child = new Deno.Command("curl", {
    args: ["-sN", "--config", "-", `${daemon.url}/v1/sessions/${session_id}/events`],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const header = `header = "Authorization: Bearer ${daemon.token}"\n`;
  await writer.write(new TextEncoder().encode(header));
  await writer.close();
  const late: number[] = [];
  let ended = 0;
  const path = `/v1/sessions/${session_id}/messages`;
  await daemon.http("POST", path, { text: "go on" });
  const lines = child.stdout.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream());
  for await (const line of lines) {
    if (!line.startsWith("data:")) continue;
    const { type, at } = JSON.parse(line.slice(5));
    if (type === "session.delta") late.push(Math.max(0, Date.now() - Date.parse(at)));
    if (type !== "turn.completed") continue;
    if (++ended === PACED_TURNS) break;
    await daemon.http("POST", path, { text: "go on" });
  }
  child.kill();
  await child.status;
  return late;
}

/** `foreign_model.mjs` in a process of its own. */
class ForeignModel implements AsyncDisposable {
  readonly url: string;
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(): Promise<ForeignModel> {
    const child = new Deno.Command("node", {
      args: [fileBeside("foreign_model.mjs")],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    return new ForeignModel(child, JSON.parse(await firstLine(child)).url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.stdin.close();
    await this.#child.status;
    await this.#child.stdout.cancel().catch(() => {});
  }
}

async function runs(program: string, ...args: string[]): Promise<boolean> {
  try {
    const command = new Deno.Command(program, { args, stdout: "null", stderr: "null" });
    return (await command.output()).success;
  } catch {
    return false;
  }
}

function fileBeside(name: string): string {
  return fromFileUrl(new URL(name, import.meta.url));
}
