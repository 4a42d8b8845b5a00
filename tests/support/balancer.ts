/** A load balancer for workers, over HTTP/2 without TLS, and a way to a port that can be cut. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer as createTcpServer } from "node:net";
import type { Server, Socket } from "node:net";

/** How often a worker is asked for its health, and how long it may take to answer. */
const CHECK_MS = 500;
const HEALTH_MS = 2_000;

interface BehindOptions {
  port: number;
  /** Of `--health`. */
  health_port?: number;
}

/** One worker behind a balancer. */
export class Behind {
  readonly #options: BehindOptions;
  readonly #timer: number | undefined;
  readonly streams = new Set<ClientHttp2Stream>();
  #session: Promise<ClientHttp2Session> | undefined;
  #well = true;
  #cut = false;

  constructor(options: BehindOptions) {
    this.#options = options;
    if (options.health_port !== undefined) {
      this.#timer = setInterval(() => void this.#check(), CHECK_MS);
    }
  }

  get takes(): boolean {
    return this.#well && !this.#cut;
  }

  /** Breaks its connections, and lets no others begin. */
  cut(): void {
    this.#cut = true;
    this.#break();
  }

  mend(): void {
    this.#cut = false;
  }

  /** @throws {Error} when it cannot be reached */
  async request(
    headers: Record<string, string | string[] | undefined>,
  ): Promise<ClientHttp2Stream> {
    this.#session ??= this.#connect();
    const session = await this.#session;
    const stream = session.request(headers, { endStream: false });
    this.streams.add(stream);
    // It may break before anyone else listens.
    stream.on("error", () => {});
    stream.on("close", () => this.streams.delete(stream));
    return stream;
  }

  #connect(): Promise<ClientHttp2Session> {
    const { port } = this.#options;
    // deno-lint-ignore prefer-const -- it is what the function compares with
    let connecting: Promise<ClientHttp2Session>;
    const forget = () => {
      if (this.#session === connecting) this.#session = undefined;
    };
    connecting = (async () => {
      // A session that is destroyed while it connects throws out of nowhere (Deno 2.7.11).
      const socket = createConnection({ host: "127.0.0.1", port, noDelay: true });
      await once(socket, "connect");
      if (this.#cut) socket.destroy();
      const session = connect(`http://127.0.0.1:${port}`, { createConnection: () => socket });
      for (const event of ["error", "close", "goaway"]) session.on(event, forget);
      return session;
    })();
    connecting.catch(forget);
    return connecting;
  }

  #break(): void {
    for (const stream of this.streams) stream.destroy(new Error("cut"));
    this.#session?.then((it) => it.destroy(), () => {});
    this.#session = undefined;
  }

  /** A worker that stops takes no more; one that does not answer loses its connections too. */
  async #check(): Promise<void> {
    const url = `http://127.0.0.1:${this.#options.health_port}/health`;
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS) });
      await response.body?.cancel();
      this.#well = response.ok;
    } catch {
      if (this.#well) this.#break();
      this.#well = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#break();
  }
}

export class Balancer implements AsyncDisposable {
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #behind = new Set<Behind>();
  #turn = 0;

  private constructor(server: Http2Server) {
    this.#server = server;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => {});
    });
    server.on("stream", (stream, headers) => this.#pass(stream, headers));
  }

  static async start(): Promise<Balancer> {
    const balancer = new Balancer(createServer());
    addEventListener("error", ignoreCancelled);
    addEventListener("unhandledrejection", ignoreCancelled);
    await listening(balancer.#server);
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  add(options: BehindOptions): Behind {
    const behind = new Behind(options);
    this.#behind.add(behind);
    return behind;
  }

  remove(behind: Behind): void {
    this.#behind.delete(behind);
    behind.close();
  }

  /** Passes a request to one worker after another, until one takes it. */
  #pass(front: ServerHttp2Stream, headers: Record<string, string | string[] | undefined>): void {
    const sent: Uint8Array[] = [];
    let back: ClientHttp2Stream | undefined;
    let front_ended = false;
    let answered = false;
    const refuse = () => {
      if (front.destroyed || front.closed) return;
      front.respond({ ":status": 503 });
      front.end();
    };
    const next = async (left: Behind[]): Promise<void> => {
      const [behind, ...others] = left;
      if (front.destroyed) return;
      if (behind === undefined) return refuse();
      let gone = false;
      const lose = () => {
        if (gone) return;
        gone = true;
        if (answered) front.close(2);
        else void next(others);
      };
      let stream: ClientHttp2Stream;
      try {
        stream = await behind.request(headers);
      } catch {
        return lose();
      }
      if (front.destroyed) return stream.close(8);
      back = stream;
      stream.on("response", (found) => {
        if (gone) return;
        if (found[":status"] === 503) {
          stream.close();
          return lose();
        }
        answered = true;
        sent.length = 0;
        if (front.destroyed) return stream.close(8);
        front.respond(Object.fromEntries(
          Object.entries(found).filter(([name]) => name === ":status" || !name.startsWith(":")),
        ));
        stream.on("data", (chunk) => {
          if (!front.destroyed) front.write(chunk);
        });
        stream.on("end", () => {
          gone = true;
          if (!front.destroyed) front.end();
        });
      });
      stream.on("error", lose);
      stream.on("close", lose);
      for (const chunk of sent) stream.write(chunk);
      if (front_ended) stream.end();
    };
    front.on("data", (chunk: Uint8Array) => {
      if (!answered) sent.push(chunk);
      if (back !== undefined && !back.destroyed) back.write(chunk);
    });
    front.on("end", () => {
      front_ended = true;
      if (back !== undefined && !back.destroyed) back.end();
    });
    front.on("error", () => {});
    front.on("close", () => {
      if (back !== undefined && !back.destroyed) back.close(8);
    });
    void next(this.#candidates());
  }

  /** Those that take requests: the ones with the fewest first, in turn. */
  #candidates(): Behind[] {
    const all = [...this.#behind].filter((it) => it.takes);
    const first = all.length === 0 ? 0 : this.#turn++ % all.length;
    return [...all.slice(first), ...all.slice(0, first)]
      .sort((a, b) => a.streams.size - b.streams.size);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const behind of this.#behind) behind.close();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.destroy();
    await closed;
    removeEventListener("error", ignoreCancelled);
    removeEventListener("unhandledrejection", ignoreCancelled);
  }
}

/** A session that ends may throw the error of a stream that nobody has yet (Deno 2.7.11). */
function ignoreCancelled(event: ErrorEvent | PromiseRejectionEvent): void {
  const error = "error" in event ? event.error : event.reason;
  if (error?.code === "ERR_HTTP2_STREAM_CANCEL") event.preventDefault();
}

/** Passes connections on to a port. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;

  private constructor(port: number) {
    this.#server = createTcpServer((socket) => {
      if (this.#cut) return void socket.destroy();
      const target = createConnection({ host: "127.0.0.1", port, noDelay: true });
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

  /** @param url whose host is loopback */
  static async start(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(Number(new URL(url).port));
    await listening(proxy.#server);
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
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

async function listening(server: Server): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", resolve);
  await promise;
}
