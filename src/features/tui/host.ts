/**
 * The interface that the tui.* verbs reach: the terminal that shows the session, or an instance
 * without a terminal, which is released when it is idle.
 */
import { deadline } from "@std/async";
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { type Caller, pushChannel } from "../../verbs/define.ts";
import { DEFAULT_SIZE, type Size } from "./arrange.ts";
import { type Link, TuiClient } from "./client.ts";
import { answerRequest, type TuiRequest } from "./requests.ts";
import type { answerSchema } from "./schemas.ts";
import { loadColumns } from "./text.ts";
import { Tui } from "./tui.ts";

/** A request on its way to a terminal. */
export type SentRequest = TuiRequest & { request_id: string };

export interface HostParts {
  /** Opens a link to the daemon's own verbs. */
  newLink(): Link & Disposable;
  /** Called when the last instance is released. */
  onEmpty(): void;
}

interface Terminal {
  send(request: SentRequest): void;
  pending: Map<string, PromiseWithResolvers<unknown>>;
}

interface Headless {
  client: Promise<TuiClient>;
  link: Link & Disposable;
  timer: number;
}

/** An idle instance is released after this time. */
const IDLE_MS = 5 * 60_000;
/** Maximum number of instances; the longest idle one is released first. */
const HEADLESS_MAX = 32;
/** A terminal answers within this time, unless it is suspended. */
const ANSWER_MS = 5_000;
/** The answer of a terminal that was closed. */
const GONE = Symbol("the terminal was closed");
/** Requests that can be repeated. */
const READS: readonly TuiRequest["method"][] = ["snapshot", "get_model"];

export class TuiHost {
  readonly #parts: HostParts;
  readonly #terminals = new Map<string, Terminal[]>();
  /** In the order of their last use. */
  readonly #headless = new Map<string, Headless>();

  constructor(parts: HostParts) {
    this.#parts = parts;
  }

  /** Registers a terminal that shows the session. @returns the function that ends that. */
  attach(session_id: string, send: Terminal["send"]): () => void {
    const terminal: Terminal = { send, pending: new Map() };
    const there = this.#terminals.get(session_id) ?? [];
    this.#terminals.set(session_id, [...there, terminal]);
    this.#release(session_id);
    return () => {
      const left = (this.#terminals.get(session_id) ?? []).filter((it) => it !== terminal);
      if (left.length > 0) this.#terminals.set(session_id, left);
      else this.#terminals.delete(session_id);
      for (const request of terminal.pending.values()) request.resolve(GONE);
    };
  }

  /** Registers the terminal of a caller, to which requests are pushed. @returns its subscription */
  attachCaller(session_id: string, caller: Caller): number {
    const push = pushChannel(caller, "tui.attach", "use the local socket or a WebSocket");
    return push.open(({ event }) => {
      const detach = this.attach(session_id, (request) => {
        const at = new Date().toISOString();
        event({ at, type: "tui.request", data_json: JSON.stringify(request) });
      });
      return { start: () => Promise.resolve(), close: detach };
    });
  }

  /** Takes a terminal's answer. @throws {SvcError} not_found if no request waits for it. */
  answer({ request_id, result, error }: z.output<ReturnType<typeof answerSchema>>): void {
    for (const terminal of [...this.#terminals.values()].flat()) {
      const waiting = terminal.pending.get(request_id);
      if (waiting === undefined) continue;
      if (error === undefined) waiting.resolve(result);
      else waiting.reject(new SvcError(error.code, error.message, { hint: error.hint }));
      return;
    }
    throw new SvcError("not_found", `no request ${request_id} is waiting for an answer`);
  }

  /**
   * Asks the session's interface.
   *
   * @param size of an instance without a terminal; a terminal has its own.
   * @throws {SvcError} not_found for an unknown session, timeout if a terminal does not answer,
   * conflict if it was closed and may have acted, and what {@linkcode answerRequest} throws.
   */
  async request(
    session_id: string,
    request: TuiRequest,
    size: Partial<Size> = {},
  ): Promise<unknown> {
    for (let terminal; (terminal = this.#terminals.get(session_id)?.at(-1)) !== undefined;) {
      const answer = await this.#ask(terminal, request);
      if (answer !== GONE) return answer;
      if (READS.includes(request.method)) continue;
      throw new SvcError("conflict", "the terminal was closed before it answered", {
        hint: "check tui.snapshot before you repeat the request",
      });
    }
    const client = await this.#instance(session_id);
    const { cols, rows } = client.tui.size;
    client.tui.size = { cols: size.cols ?? cols, rows: size.rows ?? rows };
    return await answerRequest(client, request);
  }

  /** Releases everything. */
  close(): void {
    for (const session_id of [...this.#headless.keys()]) this.#release(session_id);
  }

  async #ask(terminal: Terminal, request: TuiRequest): Promise<unknown> {
    const request_id = crypto.randomUUID();
    const answered = Promise.withResolvers<unknown>();
    terminal.pending.set(request_id, answered);
    try {
      terminal.send({ ...request, request_id });
      return await deadline(answered.promise, ANSWER_MS);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      throw new SvcError("timeout", `the terminal did not answer in ${ANSWER_MS / 1000} s`, {
        hint: "it may be suspended; bring it to the foreground or close it",
      });
    } finally {
      terminal.pending.delete(request_id);
    }
  }

  async #instance(session_id: string): Promise<TuiClient> {
    const there = this.#headless.get(session_id) ?? this.#start(session_id);
    clearTimeout(there.timer);
    there.timer = setTimeout(() => this.#release(session_id), IDLE_MS);
    this.#headless.delete(session_id);
    this.#headless.set(session_id, there);
    const [oldest] = this.#headless.keys();
    if (this.#headless.size > HEADLESS_MAX) this.#release(oldest);
    try {
      return await there.client;
    } catch (error) {
      this.#release(session_id);
      throw error;
    }
  }

  #start(session_id: string): Headless {
    const link = this.#parts.newLink();
    const tui = new Tui(session_id, DEFAULT_SIZE, () => crypto.randomUUID());
    const client = new TuiClient(tui, {
      // Nobody looks at this screen while typing.
      onChange: () => tui.arm(),
      onOwn: (effect) => {
        if (effect === "quit") this.#release(session_id);
      },
    });
    return {
      link,
      client: loadColumns().then(() => client.open(link)).then(() => client),
      timer: 0,
    };
  }

  #release(session_id: string): void {
    const instance = this.#headless.get(session_id);
    if (instance === undefined) return;
    this.#headless.delete(session_id);
    clearTimeout(instance.timer);
    instance.link[Symbol.dispose]();
    if (this.#headless.size === 0) this.#parts.onEmpty();
  }
}
