/** HTTP on a port, for as long as it is wanted. */
import { connectWithin } from "./connect_within.ts";
import { messageOf } from "./errors.ts";
import type { Log } from "./log.ts";

export interface HttpListenerOptions {
  hostname: string;
  /** 0 picks a free port. */
  port: number;
  log: Log;
}

/** How often it is looked whether the port is listened on. */
const LOOK_MS = 5_000;
const CONNECT_MS = 2_000;

/**
 * Deno's server stops listening for good when the process is out of descriptors, and says so only
 * when its last connection has ended. This one is looked after: it listens again once there are
 * descriptors.
 */
export class HttpListener {
  readonly hostname: string;
  readonly #options: HttpListenerOptions;
  readonly #handle: Deno.ServeHandler<Deno.NetAddr>;
  readonly #timer: number;
  #server: Deno.HttpServer<Deno.NetAddr>;
  /** Those before it, which answer what they had begun. */
  readonly #ending = new Set<Promise<void>>();
  #looking = Promise.resolve();

  /** Listens. @throws as `Deno.serve`. */
  constructor(options: HttpListenerOptions, handle: Deno.ServeHandler<Deno.NetAddr>) {
    this.hostname = options.hostname;
    this.#options = options;
    this.#handle = handle;
    this.#server = this.#serve(options.port);
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look());
    }, LOOK_MS);
  }

  get port(): number {
    return this.#server.addr.port;
  }

  #serve(port: number): Deno.HttpServer<Deno.NetAddr> {
    const { hostname, log } = this.#options;
    const server = Deno.serve({ hostname, port, onListen() {} }, this.#handle);
    server.finished.catch((error) => {
      log.error("a listener has failed", {
        hostname,
        port: server.addr.port,
        error: messageOf(error),
      });
    });
    return server;
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { hostname, log } = this.#options;
    const { port } = this;
    try {
      if (await isListenedOn(hostname, port)) return;
      const ending = this.#server.shutdown().catch(() => {}).finally(() =>
        this.#ending.delete(ending)
      );
      this.#ending.add(ending);
      this.#server = this.#serve(port);
      log.warn("nobody listened any more; listening again", { hostname, port });
    } catch (error) {
      log.error("the port cannot be listened on; trying again", { port, error: messageOf(error) });
    }
  }

  /** Listens no more; resolves when every answer that was under way has been given. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all([this.#server.shutdown(), ...this.#ending]);
  }
}

/** Whether connections are taken; who is too busy to tell counts as taking them. */
async function isListenedOn(hostname: string, port: number): Promise<boolean> {
  try {
    (await connectWithin({ hostname: reachable(hostname), port }, CONNECT_MS)).close();
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.ConnectionRefused);
  }
}

/** An address of this machine at which a listener on every address is reached. */
function reachable(hostname: string): string {
  return { "0.0.0.0": "127.0.0.1", "::": "::1" }[hostname] ?? hostname;
}
