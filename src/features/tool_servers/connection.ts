/** A connection to a tool server: the protocol's client over standard input and output or HTTP. */
import { deadline } from "@std/async";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type { ClientRequest } from "@modelcontextprotocol/sdk/types";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth";
import * as z from "zod";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Argument } from "../../os/passing.ts";
import { VERSION } from "../../protocol/version.ts";
import { AnsweredError, ForgottenError } from "./errors.ts";
import { boundedFetch } from "./http.ts";
import { NO_CODE } from "./messages.ts";
import type { Listed } from "./listing.ts";
import type { Refreshes } from "./logins.ts";
import { loginFetch, LoginNeeded } from "./oauth.ts";
import { type CallResult, RESULT_MAX_BYTES } from "./result.ts";
import { StdioTransport } from "./stdio.ts";
import {
  Client,
  ElicitRequestSchema,
  ErrorCode,
  McpError,
  StreamableHTTPClientTransport,
  StreamableHTTPError,
  ToolListChangedNotificationSchema,
} from "../../sdk/mcp_client.ts";

export type Target =
  | {
    transport: "stdio";
    command: string;
    args: readonly Argument[];
    env: Record<string, string>;
    cwd: string;
    started?(child: Deno.ChildProcess): void;
  }
  | {
    transport: "http";
    url: string;
    headers: Record<string, string>;
    auth?: OAuthClientProvider;
    refreshes?: Refreshes;
  };

export interface ConnectionEvents {
  /** Called when the connection ends for any reason. */
  onClosed(): void;
  /** Called when the list of tools has changed. */
  onToolsChanged(): void;
  onStderr(line: string): void;
  /** Whether svc may answer the server's questions with the defaults of their forms. */
  mayAnswer(): boolean;
}

/** Limits of a list of tools: pages, tools, and characters of their JSON. */
const PAGES_MAX = 100;
const TOOLS_MAX = 1_000;
const LIST_MAX = 4 * 1024 * 1024;
/** How long the server may take to acknowledge the end of its session. */
const GOODBYE_MS = 2_000;
/** Turns the client's own timer off: the signal of a call carries its time limit. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

type OurTransport = StdioTransport | StreamableHTTPClientTransport;

export class Connection {
  readonly #client: Client;
  readonly #transport: OurTransport;
  #gone = false;

  private constructor(client: Client, transport: OurTransport) {
    this.#client = client;
    this.#transport = transport;
  }

  /**
   * Connects and initializes the session.
   *
   * @throws {SvcError} internal if the program cannot be started
   * @throws {Error} an error of the server, or the reason why it ended
   * @throws the signal's reason, with nothing left behind
   */
  static async open(
    target: Target,
    events: ConnectionEvents,
    signal: AbortSignal,
  ): Promise<Connection> {
    const transport = target.transport === "stdio"
      ? new StdioTransport({ ...target, max_bytes: RESULT_MAX_BYTES, onStderr: events.onStderr })
      : new StreamableHTTPClientTransport(new URL(target.url), {
        requestInit: { headers: target.headers },
        fetch: loginFetch(target, boundedFetch(), target.refreshes),
        authProvider: target.auth,
      });
    const client = new Client({ name: "svc", version: VERSION }, {
      capabilities: { elicitation: { form: { applyDefaults: true } } },
      // By default, a server's schemas are compiled to code, and its patterns run here on its
      // answers: a malicious one could block the daemon forever.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({
          valid: true,
          data: data as never,
          errorMessage: undefined,
        }),
      },
    });
    const connection = new Connection(client, transport);
    client.onclose = () => {
      connection.#gone = true;
      events.onClosed();
    };
    client.setNotificationHandler(ToolListChangedNotificationSchema, events.onToolsChanged);
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      const schema = "requestedSchema" in params ? params.requestedSchema : undefined;
      return schema !== undefined && hasDefaults(schema) && events.mayAnswer()
        ? { action: "accept", content: {} }
        : { action: "decline" };
    });
    try {
      await client.connect(transport as Transport, { signal, timeout: NO_TIMEOUT_MS });
      return connection;
    } catch (error) {
      // A program that svc ends because of its answer has not failed.
      const reason = connection.#ended === undefined ? refusal(error) : undefined;
      await connection.close();
      signal.throwIfAborted();
      throw reason ?? connection.#explained(error);
    }
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** The server's name and version as it reports them. */
  get server(): { name: string; version: string } {
    const { name = "", version = "" } = this.#client.getServerVersion() ?? {};
    return { name, version };
  }

  /** Returns the server's tools as it describes them, up to the limits. */
  async listTools(signal: AbortSignal): Promise<Listed<unknown>> {
    if (!this.#client.getServerCapabilities()?.tools) {
      const problem = "it offers no tools: its answer to initialize does not name them";
      return { tools: [], problems: [problem] };
    }
    const tools: unknown[] = [];
    let params: { cursor?: string } = {};
    let room = LIST_MAX;
    for (let page = 0; page < PAGES_MAX; page++) {
      const request = { method: "tools/list" as const, params };
      const answer: { tools?: unknown; nextCursor?: unknown } = await this.#ask(request, {
        signal,
      });
      if (!Array.isArray(answer.tools)) {
        throw new AnsweredError("its answer to tools/list has no list of tools");
      }
      for (const tool of answer.tools) {
        room -= lengthOf(tool);
        if (room < 0 || tools.length === TOOLS_MAX) {
          return { tools, problems: [`only the first ${tools.length} of its tools are used`] };
        }
        tools.push(tool);
      }
      const { nextCursor: cursor } = answer;
      // Servers also end their list with null or an empty text.
      if (typeof cursor !== "string" || cursor === "" || cursor === params.cursor) break;
      params = { cursor };
    }
    return { tools, problems: [] };
  }

  async callTool(
    name: string,
    args: Record<string, unknown>,
    { signal, onProgress }: { signal: AbortSignal; onProgress(): void },
  ): Promise<CallResult> {
    const request = { method: "tools/call" as const, params: { name, arguments: args } };
    return await this.#ask(request, { signal, onprogress: onProgress });
  }

  /** Ends the connection and its program, if any. Never fails. */
  async close(): Promise<void> {
    if (this.#transport instanceof StreamableHTTPClientTransport && !this.#gone) {
      await deadline(this.#transport.terminateSession(), GOODBYE_MS).catch(() => {});
    }
    await this.#client.close().catch(() => {});
    // The client drops a transport that has ended by itself.
    await this.#transport.close();
  }

  /** How its program ended, if it has. */
  get #ended(): string | undefined {
    return this.#transport instanceof StdioTransport ? this.#transport.ended : undefined;
  }

  async #ask<T>(
    request: ClientRequest,
    options: { signal: AbortSignal; onprogress?: () => void },
  ): Promise<T> {
    try {
      // Answers are read leniently where they are used.
      const answer = z.unknown() as z.ZodType<T>;
      return await this.#client.request(request, answer, { ...options, timeout: NO_TIMEOUT_MS });
    } catch (error) {
      options.signal.throwIfAborted();
      if (this.#transport instanceof StreamableHTTPClientTransport && isForgotten(error)) {
        throw new ForgottenError(messageOf(error), { cause: error });
      }
      throw isAnswer(error)
        ? new AnsweredError(messageOf(error), { cause: error })
        : this.#explained(error);
    }
  }

  #explained(error: unknown): unknown {
    if (this.#ended !== undefined) return new Error(this.#ended, { cause: error });
    if (error instanceof McpError) return new AnsweredError(error.message, { cause: error });
    // There is no saved login; otherwise the transport asks for a new one.
    if (error instanceof StreamableHTTPError && error.code === 401) return new LoginNeeded(error);
    return error;
  }
}

/** Returns what was wrong with an answer to the handshake, if there was one. */
function refusal(cause: unknown): Error | undefined {
  if (cause instanceof McpError) {
    if (cause.code === ErrorCode.ConnectionClosed) return undefined;
    return new Error(`it refuses the connection: ${cause.message}`, { cause });
  }
  if (!(cause instanceof Error)) return undefined;
  if (/protocol version/.test(cause.message)) return new Error(cause.message, { cause });
  if (!("issues" in cause)) return undefined;
  return new Error("its answer to initialize is not as the protocol says", { cause });
}

/** How servers report a lost session with another status than 404. */
const LOST_SESSION = new RegExp(
  [
    String.raw`\b(no|invalid|unknown|expired|missing|stale)( valid| such)? session\b`,
    String.raw`\bsession\b.{0,60}\b(not found|unknown|invalid|expired|missing|terminated|closed)\b`,
    String.raw`\bsession\b.{0,60}\b(does not|doesn't|no longer) exists?\b`,
    String.raw`\bnot (yet )?initiali[sz]ed\b`,
  ].join("|"),
  "is",
);

/** The codes of errors about a request itself. */
const LOST_CODES = new Set([-32000, -32001, -32600, NO_CODE]);

/**
 * Reports whether the server has lost our session and has not made the call. Besides 404, servers
 * answer 400, 410 and others, or an error with 200, that mentions the session.
 */
function isForgotten(error: unknown): boolean {
  if (error instanceof McpError) {
    return LOST_CODES.has(error.code) && LOST_SESSION.test(error.message);
  }
  if (!(error instanceof StreamableHTTPError)) return false;
  return error.code === 404 || error.code === 410 || LOST_SESSION.test(error.message);
}

/** Statuses of requests that are refused for their content, not for the server's state. */
const REFUSED = new Set([400, 405, 406, 409, 410, 413, 414, 415, 422]);

/** Reports whether an error is the server's answer to a request. */
function isAnswer(error: unknown): boolean {
  if (error instanceof SvcError) return error.code === "payload_too_large";
  if (!(error instanceof StreamableHTTPError)) return false;
  return REFUSED.has(error.code ?? 0) || hasRpcError(error.message);
}

/** Reports whether an HTTP error ends with a body that is an answer of the protocol. */
function hasRpcError(message: string): boolean {
  try {
    const { jsonrpc, error } = JSON.parse(message.slice(message.indexOf("{")));
    return jsonrpc === "2.0" && typeof error === "object";
  } catch {
    return false;
  }
}

/** Returns the length of a value's JSON; 0 for one that is nested too deeply. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return 0;
  }
}

/** Reports whether a form can be sent unchanged: each required field has a default. */
function hasDefaults(schema: { required?: string[]; properties: Record<string, object> }): boolean {
  return (schema.required ?? []).every((field) =>
    Object.hasOwn(schema.properties, field) && "default" in schema.properties[field]
  );
}
