/** A loopback proxy that adds a bearer token, for clients that have no way to send one. */
import { writeAll } from "../../src/base/write_all.ts";

export interface BearerProxyTarget {
  port: number;
  token: string;
}

const HEAD_END = "\r\n\r\n";
const decoder = new TextDecoder("latin1");

/**
 * Passes every request on with the token, one a connection. Host and Origin that name the proxy come
 * to name its target; others stay what they are, so that the target's guards see them.
 */
export class BearerProxy implements AsyncDisposable {
  readonly url: string;
  readonly #target: BearerProxyTarget;
  readonly #listener: Deno.TcpListener;
  readonly #serving: Promise<void>;
  #open = new Map<Disposable, Promise<void>>();

  constructor(target: BearerProxyTarget) {
    this.#target = target;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.url = `http://127.0.0.1:${this.#listener.addr.port}`;
    this.#serving = this.#serve();
  }

  async #serve(): Promise<void> {
    for await (const conn of this.#listener) {
      const carried = this.#carry(conn).catch(() => {}).finally(() => this.#open.delete(conn));
      this.#open.set(conn, carried);
    }
  }

  async #carry(client: Deno.TcpConn): Promise<void> {
    using _client = { [Symbol.dispose]: () => closeQuietly(client) };
    const { head, rest } = await readHead(client);
    const server = await Deno.connect({ hostname: "127.0.0.1", port: this.#target.port });
    using _server = { [Symbol.dispose]: () => closeQuietly(server) };
    await server.write(new TextEncoder().encode(this.#rewritten(head)));
    await writeAll(server, rest);
    // Either side's end is the end of both.
    await Promise.race([copy(client, server), copy(server, client)]);
  }

  #rewritten(head: string): string {
    const { port } = this.#listener.addr as Deno.NetAddr;
    const own = new RegExp(`^((?:host|origin):.*(?:127\\.0\\.0\\.1|localhost)):${port}$`, "i");
    const [request, ...headers] = head.split("\r\n");
    return [
      request,
      ...headers.filter((it) => !/^(connection|authorization):/i.test(it))
        .map((it) => it.replace(own, `$1:${this.#target.port}`)),
      "connection: close",
      `authorization: Bearer ${this.#target.token}`,
    ].join("\r\n") + HEAD_END;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#serving.catch(() => {});
    const carried = [...this.#open.values()];
    for (const conn of this.#open.keys()) closeQuietly(conn as Deno.TcpConn);
    await Promise.all(carried);
  }
}

/** The head of a request, and what of its body came with it. */
async function readHead(conn: Deno.TcpConn): Promise<{ head: string; rest: Uint8Array }> {
  const bytes = new Uint8Array(64 * 1024);
  for (let size = 0; size < bytes.length;) {
    const read = await conn.read(bytes.subarray(size));
    if (read === null) break;
    size += read;
    const end = decoder.decode(bytes.subarray(0, size)).indexOf(HEAD_END);
    if (end < 0) continue;
    const rest = bytes.slice(end + HEAD_END.length, size);
    return { head: decoder.decode(bytes.subarray(0, end)), rest };
  }
  throw new Error("no whole request");
}

async function copy(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(64 * 1024);
  for (let read; (read = await from.read(buffer).catch(() => null)) !== null;) {
    await writeAll(to, buffer.subarray(0, read));
  }
}

function closeQuietly(conn: Deno.TcpConn): void {
  try {
    conn.close();
  } catch {
    // Closed already.
  }
}
