/**
 * MCP without sessions (revision 2026-07-28): each request names its client, and nothing is kept
 * between requests. There are no subscriptions.
 */
import type { CatalogChoice } from "../../protocol/schemas/mcp.ts";
import type { ListToolsResult, ServerContext, Transport } from "@modelcontextprotocol/server";
import { VERSION } from "../../protocol/version.ts";
import type { Call, Dispatcher } from "../../verbs/define.ts";
import type { Calling } from "../call.ts";
import { createMcpHandler, ProtocolError, Server, serveStdio } from "../../sdk/mcp_stateless.ts";
import type { Catalog, Catalogs } from "./catalog.ts";
import { complete } from "./completions.ts";
import { toFault } from "./fault.ts";
import type { LineTransport } from "./lines.ts";
import { getPrompt, listPrompts } from "./prompts.ts";
import { listResources, readResource, resourceTemplates } from "./resources.ts";
import { callTool, noSuchTool } from "./tool_call.ts";
import { aboutTools } from "./server.ts";

interface StatelessParts {
  dispatcher: Dispatcher;
  catalogs: Catalogs;
}

interface StatelessOptions extends StatelessParts {
  /** Bytes. */
  body_max: number;
  /** Returns the choice in a URL. @throws {SvcError} validation */
  choiceOf(url: string): CatalogChoice;
}

export type StatelessHandler = Pick<ReturnType<typeof createMcpHandler>, "fetch" | "close">;

const VIA = "mcp";
const INVALID_PARAMS = -32602;
/** Most streams that wait for changes of lists; the lists never change. */
const LISTENERS_MAX = 64;

/** Returns a handler of accepted requests. */
export function statelessHandler(options: StatelessOptions): StatelessHandler {
  const { body_max, choiceOf } = options;
  return createMcpHandler(
    ({ requestInfo }) => serverFor(options, choiceOf(requestInfo!.url)),
    { legacy: "reject", maxRequestBodySize: body_max, maxSubscriptions: LISTENERS_MAX },
  );
}

export function serveStateless(
  parts: StatelessParts,
  choice: CatalogChoice,
  transport: LineTransport,
): void {
  serveStdio(() => serverFor(parts, choice), {
    legacy: "reject",
    maxSubscriptions: LISTENERS_MAX,
    transport: transport as unknown as Transport,
  });
}

/** Creates the server of one request or connection. */
function serverFor(
  { dispatcher, catalogs }: StatelessParts,
  choice: CatalogChoice,
): Server {
  const server = new Server({ name: "svc", version: VERSION }, {
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
    instructions: aboutTools(catalogs.for(choice, undefined)),
  });
  const catalog = (): Catalog => catalogs.for(choice, server.getClientVersion()?.name);
  const calling = (context: ServerContext): Calling => {
    return { dispatcher, caller: { via: VIA }, call: call(context) };
  };

  server.setRequestHandler("tools/list", () => ({
    // The two packages name the same schemas differently.
    tools: catalog().tools as unknown as ListToolsResult["tools"],
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { name, arguments: args = {} } = params;
    const verb = catalog().verb(name);
    if (verb === undefined) {
      throw new ProtocolError(INVALID_PARAMS, noSuchTool(name, catalog()));
    }
    return await callTool({ verb, args, catalog: catalog(), ...calling(context) });
  });
  server.setRequestHandler("resources/list", ({ params }, context) => {
    return answered(() => listResources(calling(context), params?.cursor));
  });
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: resourceTemplates({ dispatcher }),
  }));
  server.setRequestHandler("resources/read", ({ params }, context) => {
    return answered(async () => ({ contents: [await readResource(params.uri, calling(context))] }));
  });
  server.setRequestHandler("prompts/list", () => ({ prompts: listPrompts() }));
  server.setRequestHandler("prompts/get", ({ params: { name, arguments: args = {} } }, context) => {
    return answered(() => getPrompt(name, args, { catalog: catalog(), calling: calling(context) }));
  });
  server.setRequestHandler("completion/complete", ({ params }, context) => {
    return answered(() => complete(params, calling(context)));
  });
  return server;
}

function call({ mcpReq: { signal, _meta, notify } }: ServerContext): Call {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { signal };
  return {
    signal,
    progress(progress) {
      const params = { progressToken, ...progress };
      notify({ method: "notifications/progress", params }).catch(() => {});
    },
  };
}

/** Converts errors to MCP errors. */
async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const { code, message, data } = toFault(thrown);
    throw new ProtocolError(code, message, data);
  }
}
