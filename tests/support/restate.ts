/** A real restate-server on loopback with its data in a directory of the test, and its workers. */
import { delay } from "@std/async";
import retry from "p-retry";
import { TextLineStream, toText } from "@std/streams";
import { freePort } from "./free_port.ts";
import { TOKENS } from "./hire.ts";
import { endProcess } from "./processes.ts";
import { hasProgram } from "./programs.ts";
import { type Place, spawnSvc } from "./svc.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Json = any;

/** Whether a restate-server is installed, and may be started. */
export const has_restate = hasProgram("restate-server");

/** How long a server may take to start. */
const START_MS = 180_000;
/** How long it may take to answer. */
const ANSWER_MS = 30_000;

export class RestateServer implements AsyncDisposable {
  readonly url: string;
  readonly admin_url: string;
  readonly #dir: string;
  readonly #config: string;
  #child: Deno.ChildProcess | undefined;
  #log: Promise<string> = Promise.resolve("");

  private constructor(dir: string, more: string, name = "test", node = freePort()) {
    this.#dir = dir;
    const [ingress, admin] = [freePort(), freePort()];
    this.url = `http://127.0.0.1:${ingress}`;
    this.admin_url = `http://127.0.0.1:${admin}`;
    this.#config = `${dir}.toml`;
    Deno.writeTextFileSync(
      this.#config,
      `node-name = "${name}"\ndefault-num-partitions = 4\nlisten-mode = "tcp"\n` +
        `rocksdb-total-memory-size = "128.0 MiB"\nlog-filter = "warn"\nlog-disable-ansi-codes = true\n` +
        `disable-telemetry = true\nbind-address = "127.0.0.1:${node}"\n${more}` +
        `[ingress]\nbind-address = "127.0.0.1:${ingress}"\n` +
        `[admin]\nbind-address = "127.0.0.1:${admin}"\ndisable-web-ui = true\n`,
    );
  }

  /**
   * Starts one on free ports.
   *
   * @param dir where it keeps its data
   * @param more of its configuration, before the sections
   */
  static async start(dir: string, more = ""): Promise<RestateServer> {
    for (let tries = 1;; tries++) {
      const server = new RestateServer(dir, more);
      try {
        await server.start();
        return server;
      } catch (error) {
        // Another program has taken a port since it was found free.
        if (tries === 3 || !(error as Error).message.includes("Address in use")) throw error;
      }
    }
  }

  /** Starts servers that keep everything twice, so that one of them may be away. */
  static async cluster(dir: string, count: number): Promise<RestateServer[]> {
    const ports = Array.from({ length: count }, () => freePort());
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const servers = ports.map((port, n) =>
      new RestateServer(
        `${dir}${n}`,
        `cluster-name = "test"\nauto-provision = ${n === 0}\ndefault-replication = 2\n` +
          `advertised-address = "${urls[n]}"\n` +
          `metadata-client.addresses = ${JSON.stringify(urls)}\n`,
        `n${n}`,
        port,
      )
    );
    await Promise.all(servers.map((server) => server.start()));
    return servers;
  }

  /** Starts it, on the ports and with the data that it had before, and waits until it answers. */
  async start(): Promise<void> {
    const child = new Deno.Command("restate-server", {
      args: ["--config-file", this.#config, "--base-dir", this.#dir, "--no-logo"],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#child = child;
    this.#log = Promise.all([toText(child.stdout), toText(child.stderr)]).then((it) => it.join(""));
    let ended = false;
    void child.status.then(() => ended = true);
    const answers = (url: string) =>
      fetch(url, { signal: AbortSignal.timeout(5_000) })
        .then(async (it) => (await it.body?.cancel(), it.ok), () => false);
    for (const end = Date.now() + START_MS; Date.now() < end; await delay(25)) {
      if (ended) break;
      if (
        await answers(`${this.admin_url}/health`) && await answers(`${this.url}/restate/health`)
      ) return;
    }
    await this.kill();
    throw new Error(`restate-server did not start: ${await this.#log}`);
  }

  /** Ends it at once; its data stays. */
  async kill(): Promise<void> {
    if (this.#child !== undefined) await endProcess(this.#child, "SIGKILL");
    await this.#log;
  }

  /** Stops its process without an end of its connections. */
  freeze(): void {
    this.#child?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Ends it, removes its data and starts it again. */
  async lose(): Promise<void> {
    await this.kill();
    await Deno.remove(this.#dir, { recursive: true });
    await this.start();
  }

  /** Asks what it keeps, in SQL. A server of a cluster that has just started may need a moment. */
  async query(sql: string): Promise<Json[]> {
    return await retry(async () => {
      const response = await fetch(`${this.admin_url}/query`, {
        signal: AbortSignal.timeout(ANSWER_MS),
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify({ query: sql }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${sql}: ${text}`);
      return JSON.parse(text).rows;
    }, { retries: 8, minTimeout: 250 });
  }

  /** Calls a handler of an object of svc's. */
  async call(service: string, key: string, handler: string, input: unknown = null): Promise<Json> {
    const response = await fetch(`${this.url}/${service}/${key}/${handler}`, {
      signal: AbortSignal.timeout(ANSWER_MS),
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(input),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${service}/${handler}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** Returns the `[tasks]` section that keeps tasks on a server. */
export function restateToml(
  { url, admin_url }: Pick<RestateServer, "url" | "admin_url">,
  more = "",
): string {
  return `[tasks]\nengine = "restate"\nrestate_url = "${url}"\n` +
    `restate_admin_url = "${admin_url}"\n${more}`;
}

/** A running `svc task worker`. */
export class TaskWorker implements AsyncDisposable {
  readonly pid: number;
  /** Where it listens for the Restate server. */
  readonly url: string;
  /** What it printed: a line of JSON each. */
  readonly said: string[];
  readonly #child: Deno.ChildProcess;
  readonly #log: Promise<string>;
  readonly #drained: Promise<unknown>;

  private constructor(
    child: Deno.ChildProcess,
    said: string[],
    log: Promise<string>,
    drained: Promise<unknown>,
  ) {
    this.#child = child;
    this.pid = child.pid;
    this.url = JSON.parse(said[0]).url;
    this.said = said;
    this.#log = log;
    this.#drained = drained;
  }

  /** Starts one, registers it, and waits until it works. @throws with what it said if it does not. */
  static start(place: Place, ...args: string[]): Promise<TaskWorker> {
    return TaskWorker.unregistered(place, "--register", ...args);
  }

  /** Starts one that registers itself only if the flags say so. */
  static async unregistered(place: Place, ...args: string[]): Promise<TaskWorker> {
    const address = args.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
    const child = spawnSvc(place, ["task", "worker", "--json", ...address, ...args], {
      env: { TMPDIR: place.mkdir("tmp"), SVC_SERVE_TOKENS: TOKENS.join(",") },
    });
    const log = toText(child.stderr);
    const lines = child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()).getReader();
    const said: string[] = [];
    const ready = `"event":"worker.${args.includes("--register") ? "registered" : "started"}"`;
    while (!said.at(-1)?.includes(ready)) {
      const { value, done } = await lines.read();
      if (done) throw new Error(`svc task worker did not start: ${await log}`);
      said.push(value);
    }
    const drained = (async () => {
      for (;;) {
        const { value, done } = await lines.read();
        if (done) return;
        said.push(value);
      }
    })();
    return new TaskWorker(child, said, log, drained);
  }

  /** What it wrote on standard error, once it has ended. */
  get log(): Promise<string> {
    return this.#log;
  }

  /** Stops its process without an end of its connections. */
  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
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
    await Promise.all([this.#log, this.#drained]);
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
