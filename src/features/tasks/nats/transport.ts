/**
 * Connects to a NATS server over Deno's own sockets. The library's transport for Node fails in the
 * TLS handshake here, and delays each small message by 40 ms.
 */
import type { ConnectionOptions, NatsConnection, Server, ServerInfo } from "@nats-io/nats-core";
import {
  checkOptions,
  extractProtocolMessage,
  INFO,
  NatsConnectionImpl,
  setTransportFactory,
} from "@nats-io/nats-core/internal";
import { writeAll } from "../../../base/write_all.ts";

const PORT = 4222;
const CHUNK = 64 * 1024;
/** The largest first message of a server, in bytes. */
const INFO_MAX = 1024 * 1024;

/** Connects to a server. @throws when no server answers in time, or it refuses. */
export async function connect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new DenoTransport(), defaultPort: PORT });
  return await NatsConnectionImpl.connect(options);
}

class DenoTransport implements AsyncIterable<Uint8Array> {
  readonly lang = "deno";
  readonly version = Deno.version.deno;
  closeError?: Error;
  #conn: Deno.TcpConn | Deno.TlsConn | undefined;
  #encrypted = false;
  /** The server's first message. */
  #greeting: Uint8Array = new Uint8Array();
  /** Resolves when everything has been handed to the system. */
  #sending: Promise<unknown> = Promise.resolve();
  #done = false;
  readonly #closed = Promise.withResolvers<void>();

  async connect({ hostname, port, tlsName }: Server, options: ConnectionOptions): Promise<void> {
    const conn = this.#conn = await Deno.connect({ hostname, port });
    conn.setNoDelay();
    this.#greeting = await readGreeting(conn);
    const info = infoOf(this.#greeting);
    checkOptions(info, options);
    if (info.tls_required || info.tls_available && options.tls) {
      const { ca } = options.tls ?? {};
      const caCerts = typeof ca === "string" ? [ca] : undefined;
      this.#conn = await Deno.startTls(conn, { hostname: tlsName || hostname, caCerts });
      await this.#conn.handshake();
      this.#encrypted = true;
    }
    // The caller has given up meanwhile.
    if (this.#done) this.#hangUp();
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    yield this.#greeting;
    let failure: Error | undefined;
    try {
      while (!this.#done) {
        const chunk = new Uint8Array(CHUNK);
        const size = await this.#conn!.read(chunk);
        if (size === null) break;
        yield chunk.subarray(0, size);
      }
    } catch (error) {
      failure = error as Error;
    }
    await this.close(failure);
  }

  get isClosed(): boolean {
    return this.#done;
  }

  isEncrypted(): boolean {
    return this.#encrypted;
  }

  send(frame: Uint8Array): void {
    // A failed write shows up in the next read.
    this.#sending = this.#sending.then(() => this.#write(frame)).catch(() => {});
  }

  async #write(frame: Uint8Array): Promise<void> {
    if (!this.#done) await writeAll(this.#conn!, frame);
  }

  async close(error?: Error): Promise<void> {
    if (this.#done) return;
    if (error === undefined) await this.#sending;
    this.closeError = error;
    this.discard();
    this.#closed.resolve();
  }

  closed(): Promise<void> {
    return this.#closed.promise;
  }

  disconnect(): void {
    void this.close();
  }

  discard(): void {
    this.#done = true;
    this.#hangUp();
  }

  #hangUp(): void {
    try {
      this.#conn?.close();
    } catch {
      // It is closed.
    }
  }
}

async function readGreeting(conn: Deno.TcpConn): Promise<Uint8Array> {
  let greeting = new Uint8Array();
  while (extractProtocolMessage(greeting) === "") {
    const chunk = new Uint8Array(CHUNK);
    const size = await conn.read(chunk);
    if (size === null || greeting.length > INFO_MAX) throw new Error("not a NATS server");
    greeting = new Uint8Array([...greeting, ...chunk.subarray(0, size)]);
  }
  return greeting;
}

function infoOf(greeting: Uint8Array): ServerInfo {
  const [, json] = INFO.exec(extractProtocolMessage(greeting)) ?? [];
  if (json === undefined) throw new Error("not a NATS server");
  return JSON.parse(json);
}
