/** What MCP costs: many small calls, over `svc mcp-serve` and over HTTP. */
import { TextLineStream } from "@std/streams";
import { type Daemon, Place, svcCommand } from "../tests/support/svc.ts";
import { type Figure, median, percentile, short } from "./figures.ts";

const CALLS = 10_000;
const AT_ONCE = 16;
const LISTS = 50;

/** Asks one thing and resolves when the answer is there. */
type Ask = (method: string, params?: unknown) => Promise<void>;

const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};

/** Calls a second and their times over one connection, and what the list of tools takes. */
export async function mcp(): Promise<Figure[]> {
  await using place = new Place();
  const daemon = await place.serve();
  await using stdio = new StdioClient(place);
  const over_stdio = await load("stdio", stdio.ask);
  const over_http = await load("http", await httpClient(daemon));
  return [...over_stdio, ...over_http];
}

async function load(over: "stdio" | "http", ask: Ask): Promise<Figure[]> {
  if (over === "stdio") await ask("initialize", INITIALIZE);
  const name = over === "stdio" ? "mcp-serve" : "/mcp";
  const call = () => ask("tools/call", { name: "svc.daemon.health", arguments: {} });
  for (let n = 0; n < CALLS / 20; n++) await call();
  const times: number[] = [];
  let left = CALLS;
  const worker = async () => {
    while (left-- > 0) {
      const began = performance.now();
      await call();
      times.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const seconds = (performance.now() - began) / 1000;
  const lists: number[] = [];
  for (let n = 0; n < LISTS; n++) {
    const began = performance.now();
    await ask("tools/list");
    lists.push(performance.now() - began);
  }
  return [
    {
      id: `mcp_${over}`,
      name: `tools/call over ${name}`,
      unit: "/s",
      value: CALLS / seconds,
      note: `${CALLS} calls, ${AT_ONCE} at once, p50 ${short(median(times))} ms`,
    },
    {
      id: `mcp_${over}_p99`,
      name: `tools/call over ${name}, p99`,
      unit: "ms",
      value: percentile(times, 0.99),
    },
    {
      id: `mcp_${over}_list`,
      name: `tools/list over ${name}`,
      unit: "ms",
      value: median(lists),
      note: `median of ${LISTS}`,
    },
  ];
}

/** One `svc mcp-serve`. */
class StdioClient implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  #waiting = new Map<number, () => void>();
  #next_id = 1;

  constructor(place: Place) {
    const [program, first] = svcCommand();
    this.#child = new Deno.Command(program, {
      args: [...first, "mcp-serve"],
      env: place.env,
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reading = this.#read();
  }

  readonly ask: Ask = async (method, params = {}) => {
    const id = this.#next_id++;
    const answered = new Promise<void>((resolve) => this.#waiting.set(id, resolve));
    await this.#writer.write(encoded({ jsonrpc: "2.0", id, method, params }));
    await answered;
  };

  async #read(): Promise<void> {
    const lines = this.#child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    for await (const line of lines) {
      const { id, result } = JSON.parse(line);
      if (id === undefined) continue;
      if (result === undefined || result.isError) throw new Error(`unexpected answer: ${line}`);
      this.#waiting.get(id)?.();
      this.#waiting.delete(id);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close();
    await this.#reading;
    await this.#child.status;
  }
}

async function httpClient({ url, token }: Daemon): Promise<Ask> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  let id = 0;
  const post = (method: string, params: unknown) =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
    });
  const opened = await post("initialize", INITIALIZE);
  await opened.text();
  headers["mcp-session-id"] = opened.headers.get("mcp-session-id")!;
  headers["mcp-protocol-version"] = INITIALIZE.protocolVersion;
  return async (method, params = {}) => {
    const text = await (await post(method, params)).text();
    if (!text.includes('"result"')) throw new Error(`unexpected answer: ${text}`);
  };
}

function encoded(message: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(message)}\n`);
}
