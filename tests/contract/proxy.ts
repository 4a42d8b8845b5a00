/** Stands in front of a daemon's socket and keeps what clients ask it. */
import { TextLineStream } from "@std/streams";
import type { Json } from "./client.ts";
import { exists } from "./shared.ts";

export class Proxy implements AsyncDisposable {
  /** Every request that a client sent, in order. */
  readonly requests: Json[] = [];
  readonly #path: string;
  readonly #listener: Deno.UnixListener;
  readonly #serving: Promise<void>;
  #open = true;

  /** Takes the place of the socket; the daemon's own lies beside it from now on. */
  constructor(path: string) {
    this.#path = path;
    Deno.renameSync(path, `${path}.behind`);
    this.#listener = Deno.listen({ transport: "unix", path });
    Deno.chmodSync(path, 0o600);
    this.#serving = this.#serve();
  }

  async #serve(): Promise<void> {
    const connections: Promise<void>[] = [];
    while (this.#open) {
      const conn = await this.#listener.accept().catch(() => undefined);
      if (conn === undefined) break;
      connections.push(this.#carry(conn).catch(() => {}));
    }
    await Promise.all(connections);
  }

  async #carry(conn: Deno.UnixConn): Promise<void> {
    const behind = await Deno.connect({ transport: "unix", path: `${this.#path}.behind` });
    const [kept, sent] = conn.readable.tee();
    const keeping = (async () => {
      const lines = kept.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
      for await (const line of lines) if (line !== "") this.#keep(JSON.parse(line));
    })();
    await Promise.allSettled([
      keeping,
      sent.pipeTo(behind.writable),
      behind.readable.pipeTo(conn.writable),
    ]);
  }

  #keep(request: Json): void {
    this.requests.push(request);
    // The daemon will be gone: its successor finds no one at the socket.
    if (request.method === "daemon.shutdown") this.#stop();
  }

  #stop(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#listener.close();
    if (exists(this.#path)) Deno.removeSync(this.#path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    await this.#serving;
  }
}
