/** JSON-RPC client over the local socket. */
import { TextLineStream } from "@std/streams";
import type { Args, Result, VerbName } from "../features/verb_types.ts";
import { SvcError } from "../protocol/errors.ts";
import type { BusEvent } from "../protocol/schemas/bus.ts";
import type { LocalConn } from "../os/local_socket.ts";
import { writeAll } from "../base/write_all.ts";

/** Parameters of `$/event`. */
export interface EventParams extends Required<Omit<BusEvent, "bus_seq" | "data">> {
  sub: number;
  /** Set for events over the bus. */
  bus_seq?: number;
  // deno-lint-ignore no-explicit-any -- its shape depends on the type; readers pick what they know
  data: any;
}

interface RpcError {
  code: number;
  message: string;
  data?: { svc_code?: string; hint?: string };
}

interface Answer {
  id?: number;
  result?: unknown;
  error?: RpcError;
  method?: string;
  params?: unknown;
}

/** The daemon has gone; what it did with the calls under way is unknown. */
export class ConnectionLost extends SvcError {
  constructor() {
    super("internal", "lost the connection to the daemon");
  }
}

export class RpcClient {
  readonly #conn: LocalConn;
  #next_id = 1;
  #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #writing: Promise<void> = Promise.resolve();
  #lost: Error | undefined;
  /** Called with each pushed event, in order. */
  onEvent: (event: EventParams) => void = () => {};
  /** Called when a subscription ends by itself, without an error if its session ended. */
  onSubscriptionEnded: (error: SvcError | undefined) => void = () => {};
  readonly closed: Promise<void>;

  constructor(conn: LocalConn) {
    this.#conn = conn;
    this.closed = this.#read();
  }

  /** Calls a method. @throws {SvcError} the daemon's; `internal` when the connection is lost */
  call<N extends VerbName>(method: N, ...[params]: Args<N>): Promise<Result<N>> {
    return this.ask(method, params) as Promise<Result<N>>;
  }

  /** As {@linkcode RpcClient.call}, for verbs known only at run time. */
  ask(method: string, params: unknown = {}): Promise<unknown> {
    if (this.#lost) return Promise.reject(this.#lost);
    const id = this.#next_id++;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    const line = `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
    this.#writing = this.#writing.then(() => writeAll(this.#conn, new TextEncoder().encode(line)))
      .catch(() => {});
    return call.promise;
  }

  get lost(): boolean {
    return this.#lost !== undefined;
  }

  close(): void {
    try {
      this.#conn.close();
    } catch {
      // The daemon closed it first.
    }
  }

  async #read(): Promise<void> {
    try {
      const lines = this.#conn.readable
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(new TextLineStream());
      for await (const line of lines) if (line !== "") this.#receive(JSON.parse(line));
    } catch {
      // Handled below, like the end.
    }
    this.#lost = new ConnectionLost();
    for (const call of this.#calls.values()) call.reject(this.#lost);
    this.#calls.clear();
  }

  #receive(answer: Answer): void {
    if (answer.method === "$/event") return this.onEvent(answer.params as EventParams);
    if (answer.method === "$/subscription_ended") {
      const { error } = answer.params as { error?: RpcError };
      return this.onSubscriptionEnded(error && svcError(error));
    }
    const call = answer.id === undefined ? undefined : this.#calls.get(answer.id);
    if (call === undefined) return;
    this.#calls.delete(answer.id!);
    if (answer.error === undefined) return call.resolve(answer.result);
    call.reject(svcError(answer.error));
  }
}

function svcError({ message, data }: RpcError): SvcError {
  const { svc_code = "internal", hint, ...details } = data ?? {};
  const has_details = Object.keys(details).length > 0;
  return new SvcError(svc_code as SvcError["code"], message, {
    hint,
    details: has_details ? details : undefined,
  });
}
