/**
 * A tool server for tests, made with the protocol's own SDK: a program on standard input and output
 * when it is run, by HTTP with `tool_server_http.ts`. Its tools do what servers do to clients.
 */
import { delay } from "@std/async";
// @ts-types="@modelcontextprotocol/sdk/server/stdio"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
// @ts-types="@modelcontextprotocol/sdk/server/index"
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

type Content = Record<string, unknown>;
type Args = Record<string, unknown>;

/** Calls of `slow` and `hang`: those begun so far, those that run, and the most that ever did. */
const slow = { begun: 0, now: 0, most: 0 };

/** Asks its client again and again and reads no answer. */
async function pester(): Promise<void> {
  const ping = new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.repeat(1000));
  for (;;) await Deno.stdout.write(ping);
}

/** The tools by name; each gives the content of its result. */
const TOOLS: Record<string, (args: Args, server: Server) => Promise<Content[]> | Content[]> = {
  echo: ({ text }) => [{ type: "text", text }],
  pid: () => [{ type: "text", text: String(Deno.pid) }],
  environment: () => [{ type: "text", text: JSON.stringify(Deno.env.toObject()) }],
  arguments: () => [{ type: "text", text: JSON.stringify(Deno.args) }],
  files: () => [{ type: "text", text: [...Deno.readDirSync("/")].length + " in /" }],
  big: ({ bytes }) => [{ type: "text", text: "x".repeat(Number(bytes)) }],
  picture: ({ data = btoa("not really") }) => [
    { type: "image", mimeType: "image/png", data: String(data) },
    { type: "resource_link", uri: "file:///a.txt", name: "a.txt" },
    { type: "resource", resource: { uri: "file:///b.txt", text: "the text of b" } },
  ],
  fail: () => {
    throw new Error("the tool itself failed");
  },
  hang: () => {
    slow.begun++;
    return new Promise<Content[]>(() => {});
  },
  crash: () => Deno.exit(7),
  /** Says something to standard error, then goes. */
  die: ({ words }) => {
    console.error(String(words));
    Deno.exit(3);
  },
  /** Tells its credential everywhere. */
  leak: () => {
    const token = Deno.env.get("TOOL_TOKEN");
    console.error(`leaking ${token}`);
    throw new Error(`the token ${token} is bad: ${btoa(String(token))}`);
  },
  complain: ({ words, times = 1 }) => {
    for (let n = 0; n < Number(times); n++) console.error(String(words));
    return [{ type: "text", text: "done" }];
  },
  /** Ends so long after `until` calls of it have run at once; tells the most that did. */
  slow: async ({ ms, until = 1 }) => {
    slow.begun++;
    slow.most = Math.max(slow.most, ++slow.now);
    while (slow.most < Number(until)) await delay(10);
    await delay(Number(ms));
    slow.now--;
    return [{ type: "text", text: String(slow.most) }];
  },
  begun: () => [{ type: "text", text: String(slow.begun) }],
  /** Starts a child, and a grandchild in a session of its own. */
  spawn: async () => {
    const child = new Deno.Command("/bin/sh", {
      args: ["-c", 'echo $$; setsid sh -c "echo \\$\\$; exec sleep 300" & exec sleep 300'],
      stdin: "null",
      stdout: "piped",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (text.split("\n").length < 3) text += (await lines.read()).value ?? "";
    return [{ type: "text", text: JSON.stringify(text.trim().split("\n").map(Number)) }];
  },
  grow: async (_, server) => {
    TOOLS.grown = () => [{ type: "text", text: "grown" }];
    await server.sendToolListChanged();
    return [{ type: "text", text: "there is one more" }];
  },
  ask: async ({ required = false }, server) => {
    const name = { type: "string" as const, ...(required ? {} : { default: "somebody" }) };
    const answer = await server.elicitInput({
      message: "Who is it?",
      requestedSchema: { type: "object", properties: { name }, required: ["name"] },
    });
    return [{ type: "text", text: JSON.stringify(answer) }];
  },
};

const INPUT = { type: "object" as const, additionalProperties: true };

/** A tool of one test, and the hints it gives. */
export interface MoreTool {
  annotations: Record<string, boolean>;
  run(args: Args): Promise<string> | string;
}

/** Makes a server that offers the tools, of which `echo` only reads, and `more`. */
export function makeToolServer(more: Record<string, MoreTool> = {}): Server {
  const server = new Server({ name: "test-tools", version: "1.2.3" }, {
    capabilities: { tools: { listChanged: true } },
  });
  server.setRequestHandler(ListToolsRequestSchema, () => {
    const tools = Object.keys(TOOLS).map((name) => ({
      name,
      description: `Does ${name}.`,
      inputSchema: INPUT,
      annotations: { readOnlyHint: name === "echo" },
    }));
    const described = Object.entries(more).map(([name, { annotations }]) => ({
      name,
      description: `Does ${name}.`,
      inputSchema: INPUT,
      annotations,
    }));
    return { tools: [...tools, ...described] };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    try {
      const own = more[params.name];
      if (own !== undefined) {
        return { content: [{ type: "text", text: await own.run(params.arguments ?? {}) }] };
      }
      return { content: await TOOLS[params.name](params.arguments ?? {}, server) };
    } catch (error) {
      return { isError: true, content: [{ type: "text", text: String(error) }] };
    }
  });
  return server;
}

if (import.meta.main) {
  const behave = Deno.env.get("TOOL_SERVER");
  if (behave === "crash") {
    console.error("cannot find my database");
    Deno.exit(1);
  }
  // It reads nothing and never answers.
  if (behave === "pester") await pester();
  if (behave === "hang") setInterval(() => {}, 1_000_000);
  else await makeToolServer().connect(new StdioServerTransport());
  // Does not end when its input does.
  if (behave === "stay") setInterval(() => {}, 1_000_000);
}
