/** A real nats-server on loopback, with its data in a directory of the test. */
import { deadline, delay } from "@std/async";
import { TextLineStream, toText } from "@std/streams";
import type { Hire } from "./hire.ts";
import { endProcess } from "./processes.ts";
import { hasProgram } from "./programs.ts";
import { type Place, spawnSvc } from "./svc.ts";

/** Whether a nats-server is installed, and may be started. */
export const has_nats = hasProgram("nats-server");

/**
 * Makes what declares tests with a bench of their own; one that waits for what never comes fails.
 *
 * @param patience_ms how long a test may take.
 */
export function natsTests<B extends AsyncDisposable>(start: () => Promise<B>, patience_ms: number) {
  return (name: string, fn: (bench: B) => Promise<void>): void =>
    Deno.test({
      name,
      ignore: !has_nats,
      async fn() {
        await using bench = await start();
        await deadline(fn(bench), patience_ms);
      },
    });
}

export class NatsServer implements AsyncDisposable {
  readonly #dir: string;
  readonly #options: readonly string[];
  #port = 0;
  #child: Deno.ChildProcess | undefined;
  #drained: Promise<void> = Promise.resolve();

  private constructor(dir: string, options: readonly string[]) {
    this.#dir = dir;
    this.#options = options;
  }

  /**
   * Starts one on a free port.
   *
   * @param dir where it keeps its data.
   * @param options more of its command line.
   */
  static async start(dir: string, ...options: string[]): Promise<NatsServer> {
    const server = new NatsServer(dir, options);
    await server.start();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  /** Starts it, on the port that it had before, and waits until it listens. */
  async start(): Promise<void> {
    const port = this.#port === 0 ? "-1" : String(this.#port);
    const child = new Deno.Command("nats-server", {
      args: ["-a", "127.0.0.1", "-p", port, "-js", "-sd", this.#dir, ...this.#options],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#child = child;
    const lines = child.stderr.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()).getReader();
    const said: string[] = [];
    while (!said.at(-1)?.includes("Server is ready")) {
      const { value, done } = await lines.read();
      if (done) throw new Error(`nats-server did not start: ${said.join("\n")}`);
      said.push(value);
      const listening = value.match(/Listening for client connections on .*:(\d+)/);
      if (listening) this.#port = Number(listening[1]);
    }
    this.#drained = (async () => {
      while (!(await lines.read()).done);
    })();
  }

  /** Ends it at once; its data stays. */
  async kill(): Promise<void> {
    if (this.#child !== undefined) await endProcess(this.#child, "SIGKILL");
    await this.#drained;
  }

  /** Ends it, removes its data and starts it again. */
  async lose(): Promise<void> {
    await this.kill();
    await Deno.remove(this.#dir, { recursive: true });
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** What daemon.toml says to keep tasks on a server; a front door alone by default. */
export function natsToml({ url }: NatsServer, workers = 0): string {
  return `[tasks]\nengine = "nats"\nnats_url = "${url}"\nworkers = ${workers}\n`;
}

/** Waits until a front door has found its server. */
export async function connected(front: Hire): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await delay(20)) {
    if ((await front.request("GET", "/api/task/t-0")).status !== 503) return;
  }
  throw new Error("the front door has not found its server");
}

/** A running `svc task worker`. */
export class TaskWorker implements AsyncDisposable {
  readonly pid: number;
  /** What it printed: a line of JSON each. */
  readonly said: string[];
  readonly #child: Deno.ChildProcess;
  readonly #drained: Promise<unknown>;

  private constructor(child: Deno.ChildProcess, said: string[], drained: Promise<unknown>) {
    this.#child = child;
    this.pid = child.pid;
    this.said = said;
    this.#drained = drained;
  }

  /** Starts one in a home and waits until it works. @throws with what it said when it does not. */
  static async start(place: Place, ...args: string[]): Promise<TaskWorker> {
    const child = spawnSvc(place, ["task", "worker", "--json", ...args], {
      env: { TMPDIR: place.mkdir("tmp") },
    });
    const log = toText(child.stderr);
    const lines = child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()).getReader();
    const { value, done } = await lines.read();
    if (done) throw new Error(`svc task worker did not start: ${await log}`);
    const said = [value];
    const drained = (async () => {
      for (;;) {
        const { value, done } = await lines.read();
        if (done) return;
        said.push(value);
      }
    })();
    return new TaskWorker(child, said, Promise.all([log, drained]));
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Asks it to stop and waits; its exit code. */
  async stop(signal: Deno.Signal = "SIGTERM"): Promise<number> {
    return (await this.#end(signal)).code;
  }

  async #end(signal: Deno.Signal): Promise<Deno.CommandStatus> {
    const status = await endProcess(this.#child, signal);
    await this.#drained;
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
