/** MCP clients for tests: the public SDK's, over `svc mcp-serve` and over HTTP. */
// @ts-types="@modelcontextprotocol/sdk/client/index"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { TextLineStream, toText } from "@std/streams";
import type { Place } from "./svc.ts";
import { spawnSvc } from "./svc.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Json = any;

/** What a tool answers. */
export interface ToolAnswer {
  isError?: boolean;
  content: { type: string; text: string }[];
  structuredContent?: Json;
}

/** Takes the messages of a running `svc mcp-serve`. */
export class McpProcess implements Transport {
  readonly pid: number;
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #said: Promise<string>;
  /** Every line that it printed. */
  readonly lines: string[] = [];
  #reading: Promise<void> | undefined;
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  constructor(place: Place, args: string[] = []) {
    this.#child = spawnSvc(place, ["mcp-serve", ...args], { stdin: "piped" });
    this.pid = this.#child.pid;
    this.#writer = this.#child.stdin.getWriter();
    this.#said = toText(this.#child.stderr);
  }

  start(): Promise<void> {
    this.#reading ??= this.#read();
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    const lines = this.#child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    for await (const line of lines) {
      this.lines.push(line);
      this.onmessage?.(JSON.parse(line));
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.write(`${JSON.stringify(message)}\n`);
  }

  /** Writes just this to its standard input. */
  async write(text: string): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(text));
  }

  /** Says no more, and waits for its end. */
  async end(): Promise<{ code: number; stderr: string }> {
    await this.#writer.close().catch(() => {});
    this.#reading ??= this.#read();
    await this.#reading;
    const { code } = await this.#child.status;
    return { code, stderr: await this.#said };
  }

  async close(): Promise<void> {
    await this.end();
    this.onclose?.();
  }
}

/**
 * A project whose tests run for long; `verify.test` on it is a call that takes its time.
 *
 * @param seconds for `sleep`; names the process, too.
 */
export function longProject(place: Place, seconds: string): { workdir: string } {
  const workdir = place.mkdir("long-project");
  Deno.writeTextFileSync(
    `${workdir}/Makefile`,
    `test:\n\techo x >> begun; exec sleep ${seconds}\n`,
  );
  return { workdir };
}

/** Fetches, and knows when the bodies it gave out are done with: a client's stream outlives its close. */
class TrackedFetch {
  #open = new Set<Promise<void>>();

  readonly fetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const done = Promise.withResolvers<void>();
    this.#open.add(done.promise);
    done.promise.then(() => this.#open.delete(done.promise));
    try {
      const response = await fetch(input, init);
      if (response.body === null) {
        done.resolve();
        return response;
      }
      const reader = response.body.getReader();
      // Who aborts does not read on.
      const stop = () => reader.cancel().catch(() => {}).finally(done.resolve);
      if (init?.signal?.aborted) await stop();
      init?.signal?.addEventListener("abort", stop, { once: true });
      return new Response(tracked(reader, done.resolve), response);
    } catch (error) {
      done.resolve();
      throw error;
    }
  };

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}

function tracked(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  done: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      try {
        const read = await reader.read();
        if (!read.done) return controller.enqueue(read.value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      done();
    },
    async cancel() {
      await reader.cancel().catch(() => {});
      done();
    },
  }, { highWaterMark: 0 });
}

/** A connected client that keeps what it is told. */
export class McpClient implements AsyncDisposable {
  readonly client: Client;
  /** Data of the log messages, in order: what subscriptions push. */
  readonly pushed: Json[] = [];
  /** Addresses of the resources that were reported as changed. */
  readonly updated: string[] = [];
  #watchers = new Set<() => void>();
  readonly #idle: () => Promise<void>;

  private constructor(client: Client, idle: () => Promise<void>) {
    this.client = client;
    this.#idle = idle;
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      this.pushed.push(params.data);
      this.#changed();
    });
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      this.updated.push(params.uri);
      this.#changed();
    });
  }

  /** @param idle resolves when nothing of a closed transport is left. */
  static async over(
    transport: Transport,
    idle: () => Promise<void> = () => Promise.resolve(),
    name = "test",
  ): Promise<McpClient> {
    const client = new McpClient(new Client({ name, version: "1" }), idle);
    await client.client.connect(transport);
    return client;
  }

  /** Over `svc mcp-serve`. */
  static stdio(place: Place, args: string[] = [], name?: string): Promise<McpClient> {
    return McpClient.over(new McpProcess(place, args), undefined, name);
  }

  /** Over HTTP. @param query such as `?caps=read`. */
  static http(
    { port, token }: { port: number; token: string },
    query = "",
    name?: string,
  ): Promise<McpClient> {
    const fetching = new TrackedFetch();
    return McpClient.over(
      new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp${query}`), {
        fetch: fetching.fetch,
        requestInit: { headers: { authorization: `Bearer ${token}` } },
        // It would come back for more after every error, and leave its timers behind.
        reconnectionOptions: {
          maxRetries: 0,
          initialReconnectionDelay: 1,
          maxReconnectionDelay: 1,
          reconnectionDelayGrowFactor: 1,
        },
      }),
      () => fetching.idle(),
      name,
    );
  }

  /** Calls a tool; an answer with `isError` is an answer. */
  async call(name: string, args: Json = {}): Promise<ToolAnswer> {
    return await this.client.callTool({ name, arguments: args }) as ToolAnswer;
  }

  /** Calls a tool that must succeed, and gives its data. */
  async data(name: string, args: Json = {}): Promise<Json> {
    const { structuredContent } = await this.call(name, args);
    if (!structuredContent?.ok) throw new Error(`${name}: ${JSON.stringify(structuredContent)}`);
    return structuredContent.data;
  }

  /** Waits until something that was told fits. */
  async until<T>(found: () => T | undefined | false, what: string): Promise<T> {
    const arrived = Promise.withResolvers<T>();
    const look = () => {
      const it = found();
      if (it) arrived.resolve(it);
    };
    const timer = setTimeout(
      () => arrived.reject(new Error(`${what} did not come; pushed: ${this.#last()}`)),
      60_000,
    );
    this.#watchers.add(look);
    look();
    try {
      return await arrived.promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(look);
    }
  }

  #last(): string {
    return JSON.stringify(this.pushed.slice(-5));
  }

  #changed(): void {
    for (const look of [...this.#watchers]) look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.#idle();
  }
}
