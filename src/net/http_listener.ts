/** A supervised HTTP listener. */
import { connectWithin } from "./connect_within.ts";
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import { type TcpSockets, tcpSockets } from "./tcp_sockets.ts";

export interface HttpListenerOptions {
  /** For a loopback address, the other family's is bound too: `localhost` means both. */
  hostname: string;
  /** 0 picks a free port. */
  port: number;
  /** Whether sockets of this user that hold the port without listening may have it too (Linux). */
  beside?: boolean;
  log: Log;
  /** How long useless connections stay, and how often that is checked. */
  patience?: Patience;
}

/** Milliseconds. */
interface Patience {
  look: number;
  /** Without a request or an answer. */
  idle: number;
  /** Without a byte of an answer read. */
  blocked: number;
}

const PATIENCE: Patience = { look: 5_000, idle: 30_000, blocked: 600_000 };
const CONNECT_MS = 2_000;
/** Only there nobody but the same user can share a port. */
const LINUX = Deno.build.os === "linux";
/** An address where another user's program could otherwise listen instead of ours. */
const COMPANIONS: Readonly<Record<string, string>> = {
  "127.0.0.1": "::1",
  "0.0.0.0": "::1",
  "::1": "127.0.0.1",
};
/** Free ports of one family to try with the other. */
const PORT_TRIES = 50;

type Handle = Deno.ServeHandler<Deno.NetAddr>;
type Info = Deno.ServeHandlerInfo<Deno.NetAddr>;

/**
 * Deno's server stops listening for good when the process is out of descriptors, and reports it
 * only after its last connection. This one listens again. It also ends connections without a
 * request and WebSockets whose peer is gone, which would use up the descriptors. One server per
 * address.
 */
export class HttpListener {
  readonly hostname: string;
  readonly #options: HttpListenerOptions;
  readonly #handle: Handle;
  readonly #patience: Patience;
  readonly #sockets: TcpSockets | undefined;
  /** Requests without a complete answer. */
  readonly #answering = new Set<Info>();
  readonly #timer: number;
  /** By address; the one of `hostname` is the first. */
  readonly #servers: Map<string, Deno.HttpServer<Deno.NetAddr>>;
  /** Replaced servers, with answers in progress. */
  readonly #ending = new Set<Promise<void>>();
  #looking = Promise.resolve();

  /** @throws as `Deno.serve`; AddrInUse also when another program has one of the addresses */
  constructor(options: HttpListenerOptions, handle: Handle) {
    this.hostname = options.hostname;
    this.#options = options;
    this.#handle = handle;
    this.#patience = options.patience ?? PATIENCE;
    this.#sockets = tcpSockets();
    this.#servers = this.#serveAll(options.port);
    this.#sockets?.sendAtOnce();
    this.#timer = setInterval(() => {
      this.#endIdle();
      for (const hostname of this.#servers.keys()) {
        this.#looking = this.#looking.then(() => this.#look(hostname));
      }
    }, this.#patience.look);
  }

  get port(): number {
    return this.#servers.get(this.hostname)!.addr.port;
  }

  #serveAll(wanted: number): Map<string, Deno.HttpServer<Deno.NetAddr>> {
    const { hostname } = this;
    for (let tries = wanted === 0 ? PORT_TRIES : 1;; tries--) {
      const server = this.#serve(hostname, wanted);
      const servers = new Map([[hostname, server]]);
      try {
        const other = COMPANIONS[hostname];
        if (other !== undefined) servers.set(other, this.#serve(other, server.addr.port));
        return servers;
      } catch (error) {
        // Without the other family nobody else can use it either.
        if (isWithoutAddress(error)) return servers;
        server.shutdown();
        if (tries === 1 || !(error instanceof Deno.errors.AddrInUse)) throw error;
      }
    }
  }

  #serve(
    hostname: string,
    port: number,
    reusePort = this.#options.beside,
  ): Deno.HttpServer<Deno.NetAddr> {
    const { log } = this.#options;
    const server = Deno.serve(
      { hostname, port, reusePort, onListen() {} },
      (request, info) => this.#answer(request, info),
    );
    server.finished.catch((error) => {
      log.error("a listener failed", {
        hostname,
        port: server.addr.port,
        error: messageOf(error),
      });
    });
    return server;
  }

  #answer(request: Request, info: Info): Response | Promise<Response> {
    const response = this.#handle(request, info);
    if (response instanceof Response) return response;
    const answering = this.#answering.add(info);
    const answered = () => void answering.delete(info);
    response.then(({ headers }) => {
      if (headers.get("content-type") !== "text/event-stream") return answered();
      info.completed.then(answered, answered);
    }, answered);
    return response;
  }

  /** Ends unused connections: without a request, or with a client that does not read. */
  #endIdle(): void {
    const { idle, blocked } = this.#patience;
    const quiet = this.#sockets?.accepted?.(this.port)
      .filter((socket) => socket.quiet_ms > (socket.blocked ? blocked : idle)) ?? [];
    if (quiet.length === 0) return;
    const busy = new Set([...this.#answering].map(({ remoteAddr }) => remoteAddr.port));
    for (const socket of quiet) {
      if (socket.blocked || !busy.has(socket.peer_port)) this.#sockets!.shutdown(socket.fd);
    }
  }

  /** Never rejects. */
  async #look(hostname: string): Promise<void> {
    const { log } = this.#options;
    const { port } = this;
    try {
      if (await isListenedOn(hostname, port)) return;
      const ending = this.#servers.get(hostname)!.shutdown().catch(() => {})
        .finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
      this.#servers.set(hostname, this.#serve(hostname, port, LINUX));
      this.#sockets?.sendAtOnce();
      (await import("./held_port.ts")).sealPort(port);
      log.warn("the listener had stopped; listening again", { hostname, port });
    } catch (error) {
      log.error("cannot listen on the port; retrying", { port, error: messageOf(error) });
    }
  }

  /** Stops listening; resolves when all answers are sent. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    const servers = [...this.#servers.values()];
    await Promise.all([...servers.map((server) => server.shutdown()), ...this.#ending]);
  }
}

/** Whether this machine lacks an address (EADDRNOTAVAIL) or its family (EAFNOSUPPORT). */
function isWithoutAddress(error: unknown): boolean {
  return error instanceof Deno.errors.AddrNotAvailable ||
    (error as { code?: unknown }).code === "EAFNOSUPPORT";
}

/** Whether connections are accepted; a busy server counts. */
async function isListenedOn(hostname: string, port: number): Promise<boolean> {
  try {
    (await connectWithin({ hostname: reachable(hostname), port }, CONNECT_MS)).close();
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.ConnectionRefused);
  }
}

/** The address to reach a listener on every address. */
function reachable(hostname: string): string {
  return { "0.0.0.0": "127.0.0.1", "::": "::1" }[hostname] ?? hostname;
}
