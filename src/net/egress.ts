/**
 * Network access of work for others. All requests of a task, also from its browser, use a proxy of
 * its own. It resolves each name once, checks the addresses and connects to exactly these, so that
 * neither a changed name nor a redirect leads elsewhere.
 */
import { deadline } from "@std/async";
import { connectWithin } from "./connect_within.ts";
import { within } from "../base/within.ts";
import { lookup } from "node:dns/promises";
import { isMetadataHost, isOwnAddress, isPublicAddress, METADATA_REFUSED } from "./address.ts";
import { messageOf } from "../protocol/errors.ts";
import type { Endpoint } from "../os/tcp_peer.ts";
import { writeAll } from "../base/write_all.ts";

export interface EgressOptions {
  /** Whether loopback, link-local and private addresses are allowed. */
  allow_private: boolean;
  /** Ports of the daemon, refused on any address of this machine. */
  own_ports(): readonly number[];
  /** Looks up addresses; by default with the system. @throws if there are none */
  resolve?(hostname: string): Promise<readonly string[]>;
  /** Whether a client is this process, one of these programs or their child; default: all may. */
  isFrom?(peer: Endpoint, own: Endpoint, programs: readonly number[]): Promise<boolean>;
}

/** A refused connection; the message says which and why. */
export class EgressRefused extends Error {
  override name = "EgressRefused";
}

const RESOLVE_MS = 5_000;
const CONNECT_MS = 10_000;
const HANDSHAKE_MS = 10_000;
/** Time for connections to notice that they are closed. */
const CLOSE_MS = 2_000;

/**
 * A task's proxy: SOCKS 5 (RFC 1928) on loopback, without authentication, for this process and
 * the task's programs; see {@linkcode Egress.admit}.
 */
export class Egress implements AsyncDisposable {
  readonly #options: EgressOptions;
  readonly #listener: Deno.TcpListener;
  readonly #accepting: Promise<void>;
  readonly #open = new Set<Deno.Conn>();
  readonly #serving = new Set<Promise<void>>();
  /** Why the last try to connect to a host failed. */
  readonly #problems = new Map<string, Error>();
  readonly #programs: number[] = [];
  #client: Deno.HttpClient | undefined;
  #closing = false;

  /** Opens the proxy on a free port. */
  constructor(options: EgressOptions) {
    this.#options = options;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#accepting = this.#accept();
  }

  /** With names resolved here, not by clients. */
  get url(): string {
    return `socks5h://127.0.0.1:${this.#listener.addr.port}`;
  }

  /** An HTTP client that uses the proxy. */
  get client(): Deno.HttpClient {
    return this.#client ??= Deno.createHttpClient({ proxy: { url: this.url } });
  }

  /** Lets a program of the task and its children use the proxy. */
  admit(pid: number): void {
    this.#programs.push(pid);
  }

  /** Why the last try to connect to a host failed, if so; the host as in a URL. */
  problem(hostname: string): Error | undefined {
    return this.#problems.get(withoutDot(hostname.replace(/^\[|\]$/g, "")));
  }

  get problems(): Error[] {
    return [...this.#problems.values()];
  }

  /** As {@linkcode reachable}, with the options. */
  async addresses(hostname: string, port: number): Promise<readonly string[]> {
    return await reachable(hostname, port, this.#options);
  }

  /** Never rejects. */
  async #accept(): Promise<void> {
    try {
      for await (const conn of this.#listener) {
        const serving = this.#serve(conn).finally(() => this.#serving.delete(serving));
        this.#serving.add(serving);
      }
    } catch {
      // Out of descriptors: connections fail, and the task with them.
    }
  }

  /** Serves one connection. Never rejects. */
  async #serve(client: Deno.TcpConn): Promise<void> {
    this.#open.add(client);
    let server: Deno.Conn | undefined;
    try {
      const { remoteAddr, localAddr } = client;
      const { isFrom } = this.#options;
      if (await isFrom?.(remoteAddr, localAddr, this.#programs) === false) return;
      const { hostname, port } = await deadline(readRequest(client), HANDSHAKE_MS);
      server = await this.#connect(hostname, port);
      if (server === undefined) return await writeAll(client, reply(NOT_ALLOWED));
      this.#open.add(server);
      if (this.#closing) return;
      await writeAll(client, reply(SUCCEEDED));
      await Promise.all([
        client.readable.pipeTo(server.writable),
        server.readable.pipeTo(client.writable),
      ]);
    } catch {
      // One side has disconnected, or never spoke SOCKS.
    } finally {
      for (const conn of [client, server]) this.#close(conn);
    }
  }

  /** @returns undefined when that is forbidden or fails */
  async #connect(hostname: string, port: number): Promise<Deno.Conn | undefined> {
    const name = withoutDot(hostname);
    this.#problems.delete(name);
    try {
      return await connectAny(await this.addresses(name, port), port);
    } catch (error) {
      const problem = error instanceof EgressRefused
        ? error
        : new Error(`${name} port ${port} does not answer: ${messageOf(error)}`);
      this.#problems.set(name, problem);
      return undefined;
    }
  }

  #close(conn: Deno.Conn | undefined): void {
    if (conn === undefined) return;
    this.#open.delete(conn);
    try {
      conn.close();
    } catch {
      // Closed by its streams.
    }
  }

  /** Ends all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    this.#client?.close();
    this.#listener.close();
    await this.#accepting;
    for (const conn of [...this.#open]) this.#close(conn);
    await within(Promise.all(this.#serving), CLOSE_MS);
  }
}

/** Resolves a name. @throws {EgressRefused} if an address is not allowed, or there is none */
export async function reachable(
  hostname: string,
  port: number,
  { resolve = systemAddresses, allow_private, own_ports }: Omit<EgressOptions, "isFrom">,
): Promise<readonly string[]> {
  let found: readonly string[];
  try {
    found = await deadline(resolve(hostname), RESOLVE_MS);
  } catch (cause) {
    throw new EgressRefused(`${hostname} could not be resolved: ${messageOf(cause)}`, { cause });
  }
  if (found.length === 0) throw new EgressRefused(`${hostname} has no address`);
  for (const address of found) {
    const shown = address === hostname ? hostname : `${hostname} (${address})`;
    if (isOwnAddress(address) && own_ports().includes(port)) {
      throw new EgressRefused(`${shown} port ${port} is an address of svc itself`);
    }
    if (!allow_private && !isPublicAddress(address)) {
      throw new EgressRefused(`${shown} is not a public address`);
    }
    if (isMetadataHost(address)) throw new EgressRefused(`${shown} ${METADATA_REFUSED}`);
  }
  return found;
}

/** Connects to the first address that answers. @throws the last one's error */
export async function connectAny(addresses: readonly string[], port: number): Promise<Deno.Conn> {
  let failure: unknown;
  for (const hostname of addresses) {
    try {
      return await connectWithin({ hostname, port }, CONNECT_MS);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Removes a name's final dot, the root. */
function withoutDot(hostname: string): string {
  return hostname.replace(/\.$/, "");
}

async function systemAddresses(hostname: string): Promise<string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}

// ── SOCKS 5 ────────────────────────────────────────────────────────────────────────────────────

export const VERSION = 5;
const NO_AUTHENTICATION = 0;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
export const SUCCEEDED = 0;
export const NOT_ALLOWED = 2;

export type SocksClient = Pick<Deno.Conn, "read" | "write">;

/** A SOCKS reply. */
export function reply(code: number): Uint8Array {
  return new Uint8Array([VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

/** Reads a SOCKS request. @throws {Error} when it is not a SOCKS 5 CONNECT */
export async function readRequest(
  conn: SocksClient,
): Promise<{ hostname: string; port: number }> {
  const [version, methods] = await read(conn, 2);
  if (version !== VERSION) throw new Error("not SOCKS 5");
  await read(conn, methods);
  await writeAll(conn, new Uint8Array([VERSION, NO_AUTHENTICATION]));
  const [, command, , kind] = await read(conn, 4);
  if (command !== CONNECT) throw new Error("only CONNECT is supported");
  const hostname = await readHost(conn, kind);
  const [high, low] = await read(conn, 2);
  return { hostname, port: high * 256 + low };
}

async function readHost(conn: SocksClient, kind: number): Promise<string> {
  if (kind === NAME) {
    const [length] = await read(conn, 1);
    return new TextDecoder().decode(await read(conn, length));
  }
  if (kind === IPV4) return (await read(conn, 4)).join(".");
  if (kind !== IPV6) throw new Error("unknown address type");
  const bytes = await read(conn, 16);
  const groups = Array.from({ length: 8 }, (_, n) => bytes[2 * n] * 256 + bytes[2 * n + 1]);
  // Written in canonical form by the URL parser.
  return new URL(`http://[${groups.map((it) => it.toString(16)).join(":")}]`).hostname.slice(1, -1);
}

async function read(conn: SocksClient, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length;) {
    const count = await conn.read(bytes.subarray(done));
    if (count === null) throw new Error("the client has disconnected");
    done += count;
  }
  return bytes;
}
