/**
 * A tool server for tests that answers exactly what it is told, by HTTP in the process of the test:
 * what released servers do that the protocol's own SDK would not.
 */

// deno-lint-ignore no-explicit-any -- bodies as they are sent
type Json = any;

/** What it does with a request; a response is sent as it is, anything else is the result. */
export type OddMethod = (message: Json, request: Request) => unknown | Promise<unknown>;

export interface OddTools extends AsyncDisposable {
  url: string;
  /** The messages that it was sent, in order. */
  messages: Json[];
}

/** Starts one on a free port. @param methods override what is usual */
export function startOddTools(methods: Record<string, OddMethod> = {}): OddTools {
  const messages: Json[] = [];
  const all = { ...USUAL, ...methods };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const message = await request.json();
    messages.push(message);
    if (message.id === undefined) return new Response(null, { status: 202 });
    const answer = await all[message.method]?.(message, request);
    if (answer instanceof Response) return answer;
    return Response.json({ jsonrpc: "2.0", id: message.id, result: answer ?? {} });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    messages,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const USUAL: Record<string, OddMethod> = {
  initialize: ({ params }) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "odd", version: "1" },
  }),
  "tools/list": () => ({ tools: [pingTool()] }),
  "tools/call": ({ params }) => ({
    content: [{ type: "text", text: `called ${params.name} ${JSON.stringify(params.arguments)}` }],
  }),
};

/** A sound tool. */
export function pingTool(name = "ping"): Json {
  return { name, inputSchema: { type: "object", properties: { text: { type: "string" } } } };
}
