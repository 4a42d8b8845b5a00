/** A load balancer for workers, over HTTP/2 without TLS, and a way to a port that can be cut. */
import { delay } from "@std/async";
import { toText } from "@std/streams";
import {
  type AddressInfo,
  createConnection,
  createServer,
  type Server,
  type Socket,
} from "node:net";
import { freePort } from "./free_port.ts";
import { endProcess } from "./processes.ts";
import { hasProgram } from "./programs.ts";

/** Whether a balancer is installed, and may be started. */
export const has_balancer = hasProgram("caddy");

/** How long a balancer may take to start. */
const START_MS = 60_000;

/** Caddy, as docs/how-to/many-machines.md sets it up, but without TLS. */
export class Balancer implements AsyncDisposable {
  readonly url: string;
  readonly #dir: string;
  readonly #child: Deno.ChildProcess;
  readonly #log: Promise<string>;

  private constructor(port: number, dir: string, child: Deno.ChildProcess) {
    this.#dir = dir;
    this.url = `http://127.0.0.1:${port}`;
    this.#child = child;
    this.#log = toText(child.stderr);
  }

  /** @param ports of the workers, which need not run yet */
  static async start(ports: readonly number[]): Promise<Balancer> {
    const [port, dir] = [freePort(), await Deno.makeTempDir({ prefix: "svc-caddy-" })];
    const child = new Deno.Command("caddy", {
      args: ["run", "--config", "-", "--adapter", "caddyfile"],
      clearEnv: true,
      // It keeps its configuration there.
      env: { HOME: dir },
      stdin: "piped",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const balancer = new Balancer(port, dir, child);
    const config = new Blob([caddyfile(port, ports)]).stream();
    await config.pipeTo(child.stdin);
    let ended = false;
    void child.status.then(() => ended = true);
    for (const end = Date.now() + START_MS; Date.now() < end && !ended; await delay(20)) {
      const connected = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => undefined);
      connected?.close();
      if (connected !== undefined) return balancer;
    }
    await balancer[Symbol.asyncDispose]();
    throw new Error(`caddy did not start: ${await balancer.#log}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcess(this.#child, "SIGKILL");
    await this.#log;
    await Deno.remove(this.#dir, { recursive: true });
  }
}

function caddyfile(port: number, workers: readonly number[]): string {
  return `{
    admin off
    servers {
      protocols h1 h2c
    }
  }
  http://127.0.0.1:${port} {
    bind 127.0.0.1
    reverse_proxy ${workers.map((worker) => `h2c://127.0.0.1:${worker}`).join(" ")} {
      lb_policy least_conn
      lb_try_duration 10s
      fail_duration 5s
      unhealthy_status 503
      flush_interval -1
    }
  }`;
}

/** Passes connections on to a port. */
export class TcpProxy implements AsyncDisposable {
  /** Connections are refused while there is none. */
  target: number | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;

  private constructor(target: number | undefined) {
    this.target = target;
    this.#server = createServer((socket) => {
      if (this.#cut || this.target === undefined) return void socket.destroy();
      const options = { host: "127.0.0.1", port: this.target, noDelay: true };
      const target = createConnection(options);
      socket.setNoDelay(true);
      for (const [one, other] of [[socket, target], [target, socket]]) {
        this.#sockets.add(one);
        one.on("close", () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.on("error", () => {});
        one.pipe(other);
      }
    });
  }

  static async start(target?: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    proxy.#server.once("error", reject);
    proxy.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks its connections, and lets no others begin. */
  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#cut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.cut();
    await closed;
  }
}
