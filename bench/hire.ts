/** What hiring costs: tasks of an executor that does nothing, waited for over HTTP. */
import { fromFileUrl } from "@std/path";
import type { Figure } from "./figures.ts";

/** Connections, and the tasks that are sent over them. */
const ROUNDS: readonly [number, number][] = [[1, 1_000], [32, 20_000], [256, 20_000]];
/** Until the code is compiled. */
const WARM = 5_000;
/** Tasks between the two looks at memory; `SVC_BENCH_TASKS` sets another number. */
const MEMORY_TASKS = 10_000;

const REQUEST = (() => {
  const body = JSON.stringify({ task_type: "nothing", query: "x" });
  return new TextEncoder().encode(
    "POST /api/task HTTP/1.1\r\nhost: 127.0.0.1\r\nx-svc-bearer: token\r\n" +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
})();

/** Rates and delays by connections, and memory before and after many tasks. */
export async function hire(): Promise<Figure[]> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-hire-" });
  await Deno.chmod(dir, 0o700);
  const server = await HireServer.start(dir);
  try {
    const figures: Figure[] = [];
    await load(server.port, 32, WARM);
    for (const [connections, tasks] of ROUNDS) {
      const name = `hired tasks, ${connections} ${
        connections === 1 ? "connection" : "connections"
      }`;
      const done = await load(server.port, connections, tasks);
      figures.push(loadFigure(`hire_${connections}`, name, done));
    }
    const before = await server.rssMb();
    const tasks = Number(Deno.env.get("SVC_BENCH_TASKS") ?? MEMORY_TASKS);
    await load(server.port, 32, tasks);
    const after = await server.rssMb();
    figures.push({
      id: "hire_rss",
      name: `RSS after ${tasks} more hired tasks`,
      unit: "MB",
      value: after,
      note: `${before.toFixed(1)} MB before`,
    });
    return figures;
  } finally {
    await server.close();
    await Deno.remove(dir, { recursive: true });
  }
}

/** Returns the rate of tasks, with the delays of their clients. */
export function loadFigure(id: string, name: string, { rate, times }: Load): Figure {
  times.sort((a, b) => a - b);
  const at = (share: number) => ms(times[Math.floor(times.length * share)]);
  return { id, name, unit: "/s", value: rate, note: `p50 ${at(0.5)}, p99 ${at(0.99)}` };
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

interface Load {
  /** Tasks a second. */
  rate: number;
  /** The delays, in milliseconds. */
  times: number[];
}

/** Sends so many tasks over so many connections, each its next when the last is answered. */
export async function load(port: number, connections: number, tasks: number): Promise<Load> {
  const times: number[] = [];
  let left = tasks;
  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, async () => {
    using conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay();
    const answer = new Uint8Array(16 * 1024);
    while (left-- > 0) {
      const sent = performance.now();
      await conn.write(REQUEST);
      const text = new TextDecoder().decode(answer.subarray(0, await conn.read(answer) ?? 0));
      if (!text.includes('"status":"completed"')) throw new Error(`unexpected answer: ${text}`);
      times.push(performance.now() - sent);
    }
  }));
  return { times, rate: tasks / (performance.now() - began) * 1000 };
}

/** `hire_main.ts` in a process of its own. */
export class HireServer {
  readonly port: number;
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** @param restate_url keeps tasks on Restate */
  static async start(dir: string, restate_url?: string): Promise<HireServer> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--no-check", "--permission-set"],
        `--config=${fileBeside("../deno.json")}`,
        ...[fileBeside("hire_main.ts"), dir, ...restate_url === undefined ? [] : [restate_url]],
      ],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value = "" } = await reader.read();
    reader.releaseLock();
    return new HireServer(child, Number(value));
  }

  async rssMb(): Promise<number> {
    const args = ["-o", "rss=", "-p", `${this.#child.pid}`];
    const { stdout } = await new Deno.Command("ps", { args }).output();
    return Number(new TextDecoder().decode(stdout)) * 1024 / 1e6;
  }

  async close(): Promise<void> {
    await this.#child.stdin.close();
    await this.#child.status;
    await this.#child.stdout.cancel().catch(() => {});
  }
}

function fileBeside(name: string): string {
  return fromFileUrl(new URL(name, import.meta.url));
}
