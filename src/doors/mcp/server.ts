/** The MCP server of one client. */
import type { CatalogChoice } from "../../protocol/schemas/mcp.ts";
import type { Server as SdkServer } from "@modelcontextprotocol/sdk/server/index";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import { setImmediate } from "node:timers/promises";
import { VERSION } from "../../protocol/version.ts";
import { Subscriptions } from "../../verbs/subscriptions.ts";
import type { Calling } from "../call.ts";
import type { Call, Caller, Dispatcher, Pushed } from "../../verbs/define.ts";
import type { Catalog, Catalogs } from "./catalog.ts";
import { complete } from "./completions.ts";
import { toFault } from "./fault.ts";
import { getPrompt, listPrompts } from "./prompts.ts";
import { listResources, readResource, resourceTemplates } from "./resources.ts";
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  InitializeRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  Server,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "../../sdk/mcp_server.ts";
import { callTool, noSuchTool } from "./tool_call.ts";
import { Watches } from "./watches.ts";

interface McpServerOptions {
  dispatcher: Dispatcher;
  catalogs: Catalogs;
  choice: CatalogChoice;
  transport: Transport;
  /** Resolves when the client can receive more notifications; undefined when it can. */
  pressure(): Promise<void> | undefined;
  onClosed?(): void;
}

/** Further parts of a request from the SDK. */
interface Extra {
  signal: AbortSignal;
  _meta?: { progressToken?: string | number };
  sendNotification(notification: {
    method: "notifications/progress";
    params: { progressToken: string | number; progress: number; total?: number; message?: string };
  }): Promise<void>;
}

const VIA = "mcp";
/** Code of a missing resource (MCP, Resources, Error Handling). */
const RESOURCE_NOT_FOUND = -32002;

/** The tools that a client needs first, by verb. */
const FIRST_TOOLS: readonly [verb: string, does: string][] = [
  ["session.start", "starts a session"],
  ["session.send", "sends it a message"],
  ["session.get", "shows its activity and pending approvals"],
  ["session.approve", "decides them"],
  ["session.answer", "answers those that are questions"],
];

/** Describes the tools to a client, with its names for them. */
export function aboutTools(catalog: Catalog): string {
  const offered = new Set(catalog.tools.map(({ name }) => name));
  const first = FIRST_TOOLS.map(([verb, does]) => [catalog.tool(verb), does])
    .filter(([name]) => offered.has(name)).map((words) => words.join(" "));
  const about = "Hosts agent sessions on this machine. Every tool answers " +
    "{ok, data, error_code, error_message, links}.";
  return first.length === 0 ? about : `${about} ${first.join(", ")}.`;
}

const ABOUT_SUBSCRIPTIONS = "Subscriptions deliver their events as log messages " +
  "(notifications/message, level info), and so is their end.";

export class McpServer {
  readonly #options: McpServerOptions;
  readonly #server: SdkServer;
  readonly #watches: Watches;
  readonly #subscriptions: Subscriptions;

  private constructor(options: McpServerOptions) {
    this.#options = options;
    this.#server = new Server({ name: "svc", version: VERSION }, {
      capabilities: {
        // Sent by svc mcp-serve after a change of the daemon's version.
        tools: { listChanged: true },
        resources: { subscribe: true },
        prompts: {},
        completions: {},
        logging: {},
      },
    });
    this.#watches = new Watches((uri) => {
      this.#tell(this.#server.sendResourceUpdated({ uri }));
    });
    this.#subscriptions = new Subscriptions({
      event: (sub, event) => this.#push(eventParams(sub, event)),
      ended: (sub, error) => {
        const { code, message, details } = error ?? {};
        this.#push({ sub, ended: true, error: error && { code, message, details } });
      },
    });
    this.#handle();
  }

  static async serve(options: McpServerOptions): Promise<McpServer> {
    const server = new McpServer(options);
    server.#server.onclose = () => {
      server.#watches.close();
      server.#subscriptions.close();
      options.onClosed?.();
    };
    await server.#server.connect(options.transport);
    return server;
  }

  /** Ends the transport, its running calls and subscriptions. */
  async close(): Promise<void> {
    await this.#server.close();
  }

  // ── requests ─────────────────────────────────────────────────────────────────────────────────

  #handle(): void {
    const { dispatcher } = this.#options;
    const server = this.#server;
    server.setRequestHandler(InitializeRequestSchema, async (request) => {
      // The client's name determines the tools' names.
      const answer = await server["_oninitialize"](request);
      return { ...answer, instructions: `${aboutTools(this.#catalog)} ${ABOUT_SUBSCRIPTIONS}` };
    });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...this.#catalog.tools] }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
      return this.#callTool(params.name, params.arguments ?? {}, extra);
    });
    server.setRequestHandler(ListResourcesRequestSchema, ({ params }, extra) => {
      return answered(() => listResources(this.#calling(extra), params?.cursor));
    });
    server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: resourceTemplates({ dispatcher }),
    }));
    server.setRequestHandler(ReadResourceRequestSchema, ({ params }, extra) => {
      return answered(async () => ({
        contents: [await readResource(params.uri, this.#calling(extra))],
      }), RESOURCE_NOT_FOUND);
    });
    server.setRequestHandler(SubscribeRequestSchema, ({ params }, extra) => {
      return answered(async () => {
        await this.#watches.add(params.uri, this.#calling(extra));
        return {};
      }, RESOURCE_NOT_FOUND);
    });
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
      this.#watches.remove(params.uri);
      return {};
    });
    server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: listPrompts() }));
    server.setRequestHandler(GetPromptRequestSchema, ({ params }, extra) => {
      const calling = this.#calling(extra);
      const { name, arguments: args = {} } = params;
      return answered(() => getPrompt(name, args, { catalog: this.#catalog, calling }));
    });
    server.setRequestHandler(CompleteRequestSchema, ({ params }, extra) => {
      return answered(() => complete(params, this.#calling(extra)));
    });
  }

  /** The tools for this client, once its name is known. */
  get #catalog(): Catalog {
    const { catalogs, choice } = this.#options;
    return catalogs.for(choice, this.#server.getClientVersion()?.name);
  }

  async #callTool(name: string, args: Record<string, unknown>, extra: Extra) {
    const { dispatcher } = this.#options;
    const catalog = this.#catalog;
    const verb = catalog.verb(name);
    if (verb === undefined) throw new McpError(ErrorCode.InvalidParams, noSuchTool(name, catalog));
    const push = this.#subscriptions.channel();
    const caller: Caller = { via: VIA, push };
    const result = await callTool({ verb, args, catalog, dispatcher, caller, call: call(extra) });
    // The answer is sent in this turn of the event loop; events follow it.
    setImmediate().then(() => push.start());
    return result;
  }

  #calling(extra: Extra): Calling {
    const { dispatcher } = this.#options;
    return { dispatcher, caller: { via: VIA }, call: call(extra) };
  }

  // ── notifications ────────────────────────────────────────────────────────────────────────────

  async #push(data: Record<string, unknown>): Promise<void> {
    const { transport, pressure } = this.#options;
    await this.#tell(
      this.#server.sendLoggingMessage(
        { level: "info", logger: "svc", data },
        transport.sessionId,
      ),
    );
    await pressure();
  }

  /** Ignores errors of a client that has disconnected. */
  async #tell(sent: Promise<void>): Promise<void> {
    await sent.catch(() => {});
  }
}

function call({ signal, _meta, sendNotification }: Extra): Call {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { signal };
  return {
    signal,
    progress(progress) {
      const params = { progressToken, ...progress };
      sendNotification({ method: "notifications/progress", params }).catch(() => {});
    },
  };
}

function eventParams(sub: number, event: Pushed): Record<string, unknown> {
  const { bus_seq, session_id, seq, at, type, data_json } = event;
  return { sub, bus_seq, session_id, seq, at, type, data: JSON.parse(data_json) };
}

/** Converts errors to MCP errors. */
async function answered<T>(work: () => Promise<T>, not_found?: number): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const { code, message, data } = toFault(thrown, not_found);
    throw new McpError(code, message, data);
  }
}
