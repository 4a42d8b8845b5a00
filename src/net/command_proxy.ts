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
  type Wanted,
} from "./allowed_hosts.ts";
import {
  connectAny,
  EgressRefused,
  NOT_ALLOWED,
  reachable,
  readRequest,
  reply,
  SUCCEEDED,
  VERSION,
} from "./egress.ts";
import { carry } from "./carry.ts";
import { leadsToGit } from "./git_hosts.ts";
import type { GitWay } from "./git_way.ts";
import { contentLength, forwardedHead, parseHead, type ProxyRequest } from "./http_head.ts";
import { Incoming } from "./incoming.ts";

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
  /** Each gets a socket of its own, for programs that do not speak to a proxy. */
  ports?: readonly Destination[];
  all: { connections: number };
  /** Ports of the daemon, refused on any address of this machine. */
  own_ports(): readonly number[];
  /** Decides about each connection, maybe by asking a person; by default the entries decide. */
  decide?(to: Wanted, allowed: boolean, wait: WaitForPerson): Promise<HostAnswer>;
  /** Serves git with the person's credentials; default: nobody does. */
  git?: GitWay;
  /** Looks up addresses; by default with the system. @throws if there are none */
  resolve?(hostname: string): Promise<readonly string[]>;
}

/** Connections of one command and of all; more are closed. */
export const CONNECTIONS_MAX = 128;
const ALL_CONNECTIONS_MAX = 1_024;
const HEAD_MS = 10_000;
const TLS_MS = 10_000;
/** How long a connection may be silent. */
const IDLE_MS = 10 * 60_000;
const SWEEP_MS = 30_000;
const CLOSE_MS = 2_000;
/** Refusals to keep for display. */
const REFUSALS_MAX = 20;
const NO_GIT = "names below git.svc.invalid are for git alone, at hosts that the person has named";

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
  readonly #listeners: Deno.UnixListener[] = [];
  readonly #accepting: Promise<unknown>;
  /** The sockets of {@linkcode CommandProxyOptions.ports}. */
  readonly ports: readonly { port: number; path: string }[];
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
    const { path, ports = [] } = options;
    this.ports = ports.map(({ port }) => ({ port, path: `${path}-${port}` }));
    try {
      for (const each of [path, ...this.ports.map((it) => it.path)]) {
        this.#listeners.push(Deno.listen({ transport: "unix", path: each }));
      }
    } catch (error) {
      this.#closeListeners();
      throw error;
    }
    this.#accepting = Promise.all(
      this.#listeners.map((listener, n) =>
        this.#accept(listener, n === 0 ? undefined : ports[n - 1])
      ),
    );
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

  /** Never rejects. @param to what its clients reach; undefined if they say so themselves */
  async #accept(listener: Deno.UnixListener, to: Destination | undefined): Promise<void> {
    try {
      for await (const conn of listener) {
        const { all } = this.#options;
        if (this.#serving.size >= CONNECTIONS_MAX || all.connections >= ALL_CONNECTIONS_MAX) {
          conn.close();
          continue;
        }
        all.connections++;
        const served = to === undefined ? this.#serve(conn) : this.#serveOne(conn, to);
        const serving = served.finally(() => {
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

  /** Serves a connection to one destination. Never rejects. */
  async #serveOne(conn: Deno.Conn, to: Destination): Promise<void> {
    this.#open.add(conn);
    try {
      requireDescriptors("a connection");
      await this.#join(new Incoming(conn), await this.#connect(to), async () => {});
    } catch {
      // It was refused, or nobody listens there.
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
      const head = await deadline(client.head(), HEAD_MS);
      if (head === undefined) {
        throw new BadRequest("431 Request Header Fields Too Large", "the head is too long");
      }
      const request = parseHead(head);
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
    const path = match[2] ?? "/";
    if (leadsToGit(to.host)) return await this.#serveGit(client, request, to, path);
    const length = contentLength(request);
    if (length === undefined) {
      throw new BadRequest("411 Length Required", "content-length is missing");
    }
    const destination = { host: to.host, port: to.port ?? 80 };
    const server = await this.#connect(destination);
    const head = forwardedHead(request, path.startsWith("/") ? path : `/${path}`, match[1]);
    await this.#join(client, server, async () => {
      await writeAll(server, head);
    }, length);
  }

  async #serveGit(
    client: Incoming,
    request: ProxyRequest,
    to: Partial<Destination> & { host: string },
    target: string,
  ): Promise<void> {
    const { git } = this.#options;
    if (git === undefined) throw new EgressRefused(NO_GIT);
    const { conn } = client;
    const active = () => {
      this.#requireOpen();
      this.#active.set(conn, Date.now());
    };
    try {
      await git.serve({ client, request, to, target }, {
        active,
        connect: async (wanted) => await this.#secure(await this.#connect(wanted, true), wanted),
        close: (server) => this.#close(server),
      });
    } catch (error) {
      if (error instanceof EgressRefused) this.#refused(`git ${to.host}${target}`, error);
      throw error;
    } finally {
      this.#active.delete(conn);
    }
  }

  /** Makes a connection one over TLS, or closes it. @throws the network's error */
  async #secure(conn: Deno.Conn, { host: hostname }: Wanted): Promise<Deno.Conn> {
    let open = conn;
    this.#open.add(conn);
    try {
      const alpnProtocols = ["http/1.1"];
      const server = await Deno.startTls(conn as Deno.TcpConn, { hostname, alpnProtocols });
      open = server;
      this.#open.delete(conn);
      this.#open.add(server);
      if (this.#closing) throw new Error("the command has ended");
      await deadline(server.handshake(), TLS_MS);
      return server;
    } catch (error) {
      this.#open.delete(conn);
      this.#close(open);
      throw error;
    }
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
  async #connect(to: Wanted, by_git = false): Promise<Deno.Conn> {
    try {
      const addresses = await this.#addresses(to, by_git);
      if (this.#closing) throw new Error("the command has ended");
      // The network may have been turned off while a person was asked.
      this.#requireOpen();
      return await connectAny(addresses, to.port);
    } catch (error) {
      if (error instanceof EgressRefused) this.#refused(shownHost(to) + (to.push ?? ""), error);
      throw error;
    }
  }

  #refused(what: string, { message }: EgressRefused): void {
    if (this.#refusals.size < REFUSALS_MAX && !this.refusals.includes(message)) {
      this.#refusals.set(what, message);
    }
  }

  /** @throws {EgressRefused} when the network was turned off */
  #requireOpen(): void {
    if (this.#options.open?.() === false) {
      throw new EgressRefused("the network was turned off: network = false in [sandbox]");
    }
  }

  async #addresses(to: Wanted, by_git: boolean): Promise<readonly string[]> {
    this.#requireOpen();
    const { host, port } = to;
    if (leadsToGit(host)) throw new EgressRefused(NO_GIT);
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
      // Of a server of git, the certificate shows that it is the one that the person has named.
      allow_private: named || by_git,
      own_ports,
      resolve: isAddress(host)
        ? () => Promise.resolve([host])
        : named
        ? () => Promise.resolve(["127.0.0.1", "::1"])
        : resolve,
    });
  }

  async #decide(to: Wanted, allowed: boolean): Promise<HostAnswer> {
    const { decide } = this.#options;
    if (decide === undefined) return { allow: allowed && to.push === undefined };
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
    this.#closeListeners();
    await this.#accepting;
    for (const conn of [...this.#open]) this.#close(conn);
    await within(Promise.all(this.#serving), CLOSE_MS);
    for (const path of [this.path, ...this.ports.map((it) => it.path)]) {
      try {
        Deno.removeSync(path);
      } catch {
        // Closing has removed it.
      }
    }
  }

  #closeListeners(): void {
    for (const listener of this.#listeners) listener.close();
  }
}
