/**
 * A command's network access: an HTTP and SOCKS 5 proxy behind a Unix socket, for allowed hosts.
 * It resolves names itself, checks the addresses and connects to exactly these. Other names are not
 * resolved at all: a name could carry data out.
 */
import { deadline } from "@std/async";
import { within } from "../base/within.ts";
import { writeAll } from "../base/write_all.ts";
import { requireDescriptors } from "../os/descriptors.ts";
import { messageOf } from "../protocol/errors.ts";
import { isMetadataHost, isOwnAddress, isPublicAddress, METADATA_REFUSED } from "./address.ts";
import {
  type AllowedHost,
  allowsHost,
  type Destination,
  entryFor,
  isAddress,
  isExact,
  isOwnName,
  parseAuthority,
  parseHost,
  shownHost,
} from "./allowed_hosts.ts";
import {
  connectAny,
  EgressRefused,
  NOT_ALLOWED,
  reachable,
  readRequest,
  reply,
  type SocksClient,
  SUCCEEDED,
  VERSION,
} from "./egress.ts";
import {
  contentLength,
  forwardedHead,
  HEAD_MAX,
  parseHead,
  type ProxyRequest,
} from "./http_head.ts";

/** Waits for a person, without using up the command's time. @throws once the command has ended */
export type WaitForPerson = <T>(decision: Promise<T>) => Promise<T>;

/** Whether a command may connect. */
export interface HostAnswer {
  allow: boolean;
  /** The reason, unless simply no entry allows it. */
  why?: string;
}

export interface CommandProxyOptions {
  path: string;
  /** The current entries. */
  allowed(): readonly AllowedHost[];
  /** Whether commands have network access now; default: true. */
  open?(): boolean;
  /** Whether entries may name this machine and private networks. */
  local: boolean;
  all: { connections: number };
  /** Ports of the daemon, refused on any address of this machine. */
  own_ports(): readonly number[];
  /** Decides about each connection, maybe by asking a person; by default the entries decide. */
  decide?(to: Destination, allowed: boolean, wait: WaitForPerson): Promise<HostAnswer>;
  /** Looks up addresses; by default with the system. @throws if there are none */
  resolve?(hostname: string): Promise<readonly string[]>;
}

/** Connections of one command and of all; more are closed. */
export const CONNECTIONS_MAX = 128;
const ALL_CONNECTIONS_MAX = 1_024;
const HEAD_MS = 10_000;
/** How long a connection may be silent. */
const IDLE_MS = 10 * 60_000;
const SWEEP_MS = 30_000;
const CLOSE_MS = 2_000;
const PIECE_BYTES = 16 * 1024;
/** Refusals to keep for display. */
const REFUSALS_MAX = 20;

/** An invalid request, with the response's status. */
class BadRequest extends Error {
  readonly status: string;

  constructor(status: string, message: string) {
    super(message);
    this.status = status;
  }
}

export class CommandProxy implements AsyncDisposable {
  readonly #options: CommandProxyOptions;
  readonly #listener: Deno.UnixListener;
  readonly #accepting: Promise<void>;
  readonly #open = new Set<Deno.Conn>();
  readonly #serving = new Set<Promise<void>>();
  /** Time of the last data of each client's connection. */
  readonly #active = new Map<Deno.Conn, number>();
  readonly #refusals = new Map<string, string>();
  readonly #sweep: ReturnType<typeof setInterval>;
  /** Pending decisions, since when, and earlier waiting time. */
  #waits = { now: 0, since: 0, before: 0 };
  #closing = false;
  readonly #closed = Promise.withResolvers<never>();

  /** @throws when the socket cannot be made */
  constructor(options: CommandProxyOptions) {
    this.#options = options;
    this.#closed.promise.catch(() => {});
    this.#listener = Deno.listen({ transport: "unix", path: options.path });
    this.#accepting = this.#accept();
    this.#sweep = setInterval(() => this.#closeIdle(), SWEEP_MS);
    Deno.unrefTimer(this.#sweep);
  }

  get path(): string {
    return this.#options.path;
  }

  /** Why destinations were refused, once each. */
  get refusals(): string[] {
    return [...this.#refusals.values()];
  }

  /** Time that clients have waited for decisions. */
  get waited_ms(): number {
    const { now, since, before } = this.#waits;
    return before + (now > 0 ? performance.now() - since : 0);
  }

  /** Never rejects. */
  async #accept(): Promise<void> {
    try {
      for await (const conn of this.#listener) {
        const { all } = this.#options;
        if (this.#serving.size >= CONNECTIONS_MAX || all.connections >= ALL_CONNECTIONS_MAX) {
          conn.close();
          continue;
        }
        all.connections++;
        const serving = this.#serve(conn).finally(() => {
          all.connections--;
          this.#serving.delete(serving);
        });
        this.#serving.add(serving);
      }
    } catch {
      // Out of descriptors: connections fail, and the command sees that.
    }
  }

  /** Serves one connection. Never rejects. */
  async #serve(conn: Deno.Conn): Promise<void> {
    this.#open.add(conn);
    const client = new Incoming(conn);
    try {
      requireDescriptors("a connection");
      const first = await deadline(client.peek(), HEAD_MS);
      if (first === VERSION) await this.#serveSocks(client);
      else await this.#serveHttp(client);
    } catch {
      // One side has disconnected, or never spoke.
    } finally {
      this.#close(conn);
    }
  }

  async #serveSocks(client: Incoming): Promise<void> {
    const { hostname, port } = await deadline(readRequest(client), HEAD_MS);
    const host = parseHost(hostname);
    let server: Deno.Conn;
    try {
      if (host === undefined || port === 0) throw new EgressRefused("not a host and a port");
      server = await this.#connect({ host, port });
    } catch {
      return await writeAll(client, reply(NOT_ALLOWED));
    }
    await this.#join(client, server, async () => {
      await writeAll(client, reply(SUCCEEDED));
    });
  }

  async #serveHttp(client: Incoming): Promise<void> {
    try {
      const request = parseHead(await deadline(client.head(), HEAD_MS));
      if (request === undefined) {
        throw new BadRequest("400 Bad Request", "not a request to a proxy");
      }
      if (request.method === "CONNECT") await this.#tunnel(client, request);
      else await this.#forward(client, request);
    } catch (error) {
      const status = error instanceof BadRequest
        ? error.status
        : error instanceof EgressRefused
        ? "403 Refused by svc"
        : "502 Bad Gateway";
      const text = `svc: ${messageOf(error)}\n`;
      await writeAll(
        client,
        new TextEncoder().encode(
          `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\n` +
            `content-length: ${
              new TextEncoder().encode(text).length
            }\r\nconnection: close\r\n\r\n${text}`,
        ),
      );
    }
  }

  async #tunnel(client: Incoming, { target }: ProxyRequest): Promise<void> {
    const to = parseAuthority(target);
    if (to?.port === undefined) {
      throw new BadRequest("400 Bad Request", "CONNECT takes a host and a port");
    }
    const server = await this.#connect({ host: to.host, port: to.port });
    await this.#join(client, server, async () => {
      await writeAll(client, new TextEncoder().encode("HTTP/1.1 200 Connected\r\n\r\n"));
    });
  }

  /** Forwards one request; the connection ends with its answer. */
  async #forward(client: Incoming, request: ProxyRequest): Promise<void> {
    const match = /^http:\/\/([^/?#]*)([/?][!-~]*)?$/i.exec(request.target);
    const to = match === null ? undefined : parseAuthority(match[1]);
    if (match === null || to === undefined || request.target.includes("#")) {
      throw new BadRequest(
        "400 Bad Request",
        "expected an http:// address with a plain host; use CONNECT for anything else",
      );
    }
    const length = contentLength(request);
    if (length === undefined) {
      throw new BadRequest("411 Length Required", "content-length is missing");
    }
    const destination = { host: to.host, port: to.port ?? 80 };
    const server = await this.#connect(destination);
    const path = match[2] ?? "/";
    const head = forwardedHead(request, path.startsWith("/") ? path : `/${path}`, match[1]);
    await this.#join(client, server, async () => {
      await writeAll(server, head);
    }, length);
  }

  /**
   * Carries bytes both ways until both ends are done. Never rejects: the client would take an error
   * for the server's answer.
   *
   * @param length bytes that the client may send; more end the connection
   */
  async #join(
    client: Incoming,
    server: Deno.Conn,
    begin: () => Promise<void>,
    length = Infinity,
  ): Promise<void> {
    const { conn } = client;
    this.#open.add(server);
    try {
      if (this.#closing) return;
      await begin();
      const active = () => {
        this.#requireOpen();
        this.#active.set(conn, Date.now());
      };
      active();
      const received = carry(server, conn, active);
      await Promise.all([
        carry(client, server, active, length),
        length === Infinity ? received : received.finally(() => this.#close(conn)),
      ]);
    } catch {
      // One side has disconnected.
    } finally {
      this.#active.delete(conn);
      this.#close(server);
    }
  }

  /** @throws {EgressRefused} when forbidden; the system's error when it fails */
  async #connect(to: Destination): Promise<Deno.Conn> {
    try {
      const addresses = await this.#addresses(to);
      if (this.#closing) throw new Error("the command has ended");
      // The network may have been turned off while a person was asked.
      this.#requireOpen();
      return await connectAny(addresses, to.port);
    } catch (error) {
      if (error instanceof EgressRefused && this.#refusals.size < REFUSALS_MAX) {
        this.#refusals.set(shownHost(to), error.message);
      }
      throw error;
    }
  }

  /** @throws {EgressRefused} when the network was turned off */
  #requireOpen(): void {
    if (this.#options.open?.() === false) {
      throw new EgressRefused("the network was turned off: network = false in [sandbox]");
    }
  }

  async #addresses(to: Destination): Promise<readonly string[]> {
    this.#requireOpen();
    const { host, port } = to;
    const { allowed, local, own_ports, resolve } = this.#options;
    const shown = shownHost(to);
    if (isMetadataHost(host)) throw new EgressRefused(`${host} ${METADATA_REFUSED}`);
    if ((isOwnName(host) || isOwnAddress(host)) && own_ports().includes(port)) {
      throw new EgressRefused(`${shown} is an address of svc itself`);
    }
    if (!local && (isOwnName(host) || (isAddress(host) && !isPublicAddress(host)))) {
      throw new EgressRefused(
        `${shown} is not on the public internet; work for others cannot reach it`,
      );
    }
    const { allow, why } = await this.#decide(to, allowed().some((it) => allowsHost(it, to)));
    if (!allow) {
      throw new EgressRefused(
        why ??
          `${shown} is not an allowed host; to allow it, add ${JSON.stringify(entryFor(to))} to ` +
            "allowed_hosts in [sandbox] of daemon.toml",
      );
    }
    const named = isExact(host);
    return await reachable(host, port, {
      allow_private: named,
      own_ports,
      resolve: isAddress(host)
        ? () => Promise.resolve([host])
        : named
        ? () => Promise.resolve(["127.0.0.1", "::1"])
        : resolve,
    });
  }

  async #decide(to: Destination, allowed: boolean): Promise<HostAnswer> {
    const { decide } = this.#options;
    if (decide === undefined) return { allow: allowed };
    return await decide(to, allowed, (decision) => this.#waitFor(decision));
  }

  async #waitFor<T>(answer: Promise<T>): Promise<T> {
    const waits = this.#waits;
    if (waits.now++ === 0) waits.since = performance.now();
    try {
      return await Promise.race([answer, this.#closed.promise]);
    } finally {
      if (--waits.now === 0) waits.before += performance.now() - waits.since;
    }
  }

  #closeIdle(): void {
    const closed = this.#options.open?.() === false;
    const since = closed ? Infinity : Date.now() - IDLE_MS;
    for (const [conn, at] of this.#active) if (at < since) this.#close(conn);
  }

  #close(conn: Deno.Conn): void {
    this.#open.delete(conn);
    try {
      conn.close();
    } catch {
      // Already closed.
    }
  }

  /** Ends all connections and removes the socket. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    this.#closed.reject(new Error("the command has ended"));
    clearInterval(this.#sweep);
    this.#listener.close();
    await this.#accepting;
    for (const conn of [...this.#open]) this.#close(conn);
    await within(Promise.all(this.#serving), CLOSE_MS);
    try {
      Deno.removeSync(this.path);
    } catch {
      // Closing has removed it.
    }
  }
}

/** Carries bytes to their end, and passes the end on. @throws either side's error */
async function carry(
  from: Pick<Deno.Conn, "read">,
  to: Deno.Conn,
  active: () => void,
  length = Infinity,
): Promise<void> {
  const piece = new Uint8Array(PIECE_BYTES);
  for (let left = length;;) {
    const count = await from.read(piece);
    if (count === null) break;
    // A second request on the connection would get no answer.
    if (count > left) throw new Error("more than the request");
    active();
    await writeAll(to, piece.subarray(0, count));
    left -= count;
  }
  // A server may take the half-close for a lost interest in the answer.
  if (length === Infinity) await to.closeWrite();
}

/** A client's connection; bytes read too early are read again. */
class Incoming implements SocksClient {
  readonly conn: Deno.Conn;
  #ahead: Uint8Array<ArrayBuffer> = new Uint8Array();

  constructor(conn: Deno.Conn) {
    this.conn = conn;
  }

  /** The first byte. @throws at the end */
  async peek(): Promise<number> {
    await this.#more();
    return this.#ahead[0];
  }

  /** Reads the head of a request. @throws at the end; {BadRequest} when it is too long */
  async head(): Promise<Uint8Array> {
    for (let from = 0;;) {
      const end = endOfHead(this.#ahead, from);
      if (end !== undefined && end <= HEAD_MAX) {
        const head = this.#ahead.slice(0, end);
        this.#ahead = this.#ahead.slice(end);
        return head;
      }
      if (this.#ahead.length >= HEAD_MAX) {
        throw new BadRequest("431 Request Header Fields Too Large", "the head is too long");
      }
      from = Math.max(0, this.#ahead.length - 3);
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const piece = new Uint8Array(4096);
    const count = await this.conn.read(piece);
    if (count === null) throw new Error("the client has disconnected");
    const joined = new Uint8Array(this.#ahead.length + count);
    joined.set(this.#ahead);
    joined.set(piece.subarray(0, count), this.#ahead.length);
    this.#ahead = joined;
  }

  async read(into: Uint8Array): Promise<number | null> {
    if (this.#ahead.length === 0) return await this.conn.read(into);
    const count = Math.min(into.length, this.#ahead.length);
    into.set(this.#ahead.subarray(0, count));
    this.#ahead = this.#ahead.slice(count);
    return count;
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.conn.write(bytes);
  }
}

/** The position after a head's empty line. */
function endOfHead(bytes: Uint8Array, from: number): number | undefined {
  for (let at = from; at + 3 < bytes.length; at++) {
    if (bytes[at] === 13 && bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) {
      return at + 4;
    }
  }
  return undefined;
}
