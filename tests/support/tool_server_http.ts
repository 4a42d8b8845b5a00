/** The tool server of the tests by HTTP, in the process of the test. */
// @ts-types="@modelcontextprotocol/sdk/server/webStandardStreamableHttp"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { makeToolServer, type MoreTool } from "./tool_server.ts";

export interface HttpToolServer extends AsyncDisposable {
  url: string;
  /** The requests so far. */
  requests: { method: string; headers: Headers }[];
  /** Forgets all sessions, as a restart does. */
  forget(): Promise<void>;
}

export interface HttpToolServerOptions {
  /** Requests without this bearer token are refused. */
  token?: string;
  /** Tools beside the usual ones. */
  tools?: Record<string, MoreTool>;
  /** What it answers in a session that it has forgotten; default: 404. */
  lost?(): Response;
  /** Answers instead of the server, where it gives a response. */
  instead?(request: Request): Response | undefined | Promise<Response | undefined>;
}

/** Starts the server on a free port. */
export function startHttpToolServer(options: HttpToolServerOptions = {}): HttpToolServer {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const requests: HttpToolServer["requests"] = [];
  const handle = async (request: Request): Promise<Response> => {
    requests.push({ method: request.method, headers: request.headers });
    if (options.token && request.headers.get("authorization") !== `Bearer ${options.token}`) {
      return new Response("who are you?", { status: 401 });
    }
    const instead = await options.instead?.(request);
    if (instead !== undefined) return instead;
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      return await sessions.get(id)?.handleRequest(request) ??
        options.lost?.() ?? new Response("no such session", { status: 404 });
    }
    const transport: WebStandardStreamableHTTPServerTransport =
      new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (id) => void sessions.set(id, transport),
        onsessionclosed: (id) => void sessions.delete(id),
      });
    await makeToolServer(options.tools).connect(transport);
    return await transport.handleRequest(request);
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, handle);
  const forget = async () => {
    const all = [...sessions.values()];
    sessions.clear();
    for (const transport of all) await transport.close();
  };
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    requests,
    forget,
    async [Symbol.asyncDispose]() {
      await forget();
      await server.shutdown();
    },
  };
}
