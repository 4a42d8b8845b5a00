/** Subscribers over each transport that outlive the daemon: each goes on where it was cut off. */
import { TextLineStream } from "@std/streams";
import type { SessionEvent } from "../../src/protocol/events.ts";
import type { Daemon, TestClient } from "./svc.ts";

/** Watches one session over any number of daemons. */
export abstract class Observer {
  readonly session_id: string;
  /** Everything it was sent, in order. */
  readonly seen: SessionEvent[] = [];

  constructor(session_id: string) {
    this.session_id = session_id;
  }

  get last_seq(): number {
    return this.seen.at(-1)?.seq ?? 0;
  }

  /** Subscribes from the last seq it has. */
  abstract connect(daemon: Daemon): Promise<void>;
  /** Resolves when the connection is gone. */
  abstract gone(): Promise<void>;

  protected take({ seq, at, type, data }: SessionEvent): void {
    this.seen.push({ seq, at, type, data } as SessionEvent);
  }

  /** Waits until it has seen the event of that seq. */
  async reach(seq: number, timeout_ms = 60_000): Promise<void> {
    const until = Date.now() + timeout_ms;
    while (this.last_seq < seq) {
      if (Date.now() > until) {
        throw new Error(`${this.constructor.name} is at ${this.last_seq}, not at ${seq}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Over the local socket. */
export class SocketObserver extends Observer {
  #client: TestClient | undefined;

  async connect(daemon: Daemon): Promise<void> {
    const client = this.#client = await daemon.rpc();
    client.rpc.onEvent = (event) => this.take(event as unknown as SessionEvent);
    const { session_id, last_seq: since_seq } = this;
    await client.rpc.call("session.subscribe", { session_id, since_seq });
  }

  async gone(): Promise<void> {
    await this.#client?.rpc.closed;
    this.#client?.rpc.close();
  }
}

/** Over a WebSocket. */
export class WebSocketObserver extends Observer {
  #closed: Promise<void> = Promise.resolve();

  async connect(daemon: Daemon): Promise<void> {
    const socket = new WebSocket(`${daemon.url.replace("http", "ws")}/v1/ws`, [
      "svc.bearer",
      daemon.token,
      "svc.proto.v1",
    ]);
    const closed = Promise.withResolvers<void>();
    const subscribed = Promise.withResolvers<void>();
    this.#closed = closed.promise;
    socket.onopen = () => {
      const params = { session_id: this.session_id, since_seq: this.last_seq };
      const method = "session.subscribe";
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    };
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.method === "$/event") this.take(message.params);
      else if (message.error) subscribed.reject(new Error(message.error.message));
      else subscribed.resolve();
    };
    socket.onerror = () => {};
    socket.onclose = () => {
      closed.resolve();
      subscribed.reject(new Error("the WebSocket was closed"));
    };
    await subscribed.promise;
  }

  gone(): Promise<void> {
    return this.#closed;
  }
}

/** Over server-sent events. */
export class SseObserver extends Observer {
  #closed: Promise<void> = Promise.resolve();

  async connect(daemon: Daemon): Promise<void> {
    const response = await fetch(`${daemon.url}/v1/sessions/${this.session_id}/events`, {
      headers: {
        authorization: `Bearer ${daemon.token}`,
        "last-event-id": String(this.last_seq),
      },
    });
    if (response.status !== 200) throw new Error(await response.text());
    this.#closed = this.#read(response.body!);
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    try {
      const lines = body.pipeThrough(new TextDecoderStream() as never)
        .pipeThrough(new TextLineStream()) as ReadableStream<string>;
      for await (const line of lines) {
        if (line.startsWith("data:")) {
          const event = JSON.parse(line.slice(5));
          if ("seq" in event) this.take(event);
        }
      }
    } catch {
      // The daemon is gone.
    }
  }

  gone(): Promise<void> {
    return this.#closed;
  }
}
