import { assert, assertEquals } from "@std/assert";
import { McpClient } from "../support/mcp.ts";
import { connect, Shared } from "./contract_kit.ts";
import { row, type RowOptions } from "./row.ts";

const it = new Shared();

const LEGACY = [
  "svc_build_from_sow",
  "svc_cancel_mission",
  "svc_get_mission_logs",
  "svc_get_mission_status",
  "svc_list_missions",
];

function product(section: string, name: string, fn: () => Promise<void>, options?: RowOptions) {
  row("product", section, name, fn, options);
}

/** The tools over each of the two ways, by name. */
async function tools(client: McpClient): Promise<string[]> {
  return (await client.client.listTools()).tools.map(({ name }) => name).sort();
}

product(
  "What the service does",
  "7. the MCP endpoint over stdio and inside the daemon: the same tools",
  async () => {
    await using http = await McpClient.http(it);
    await using stdio = await McpClient.stdio(it.place);
    assertEquals(await tools(http), await tools(stdio));
  },
);

product(
  "What the service does",
  "7. every interactive UI action has an equivalent tool",
  async () => {
    await using client = await McpClient.http(it);
    const named = await tools(client);
    const actions = "start send cancel pause resume kill approve list get transcript subscribe";
    for (const action of actions.split(" ")) assert(named.includes(`svc.session.${action}`));
  },
);

product(
  "What the service does",
  "7. tool calls go through the JSON-RPC dispatcher: one state for both",
  async () => {
    await using mcp = await McpClient.http(it);
    await using rpc = await connect(it);
    const { session_id } = await mcp.data("svc.session.start", { workdir: it.workdir() });
    assertEquals((await rpc.call("session.get", { session_id })).state, "running");
    await rpc.call("session.pause", { session_id });
    assertEquals((await mcp.data("svc.session.get", { session_id })).state, "paused");
  },
);

product("Tool-protocol catalog", "the namespaces, and bus.tail", async () => {
  await using client = await McpClient.http(it);
  const named = await tools(client);
  for (const space of "session lanes cortex mission worktree verify tui".split(" ")) {
    assert(named.some((name) => name.startsWith(`svc.${space}.`)), space);
  }
  assert(named.includes("svc.bus.tail"));
});

product("Tool-protocol catalog", "one common prefix of all tools", async () => {
  await using client = await McpClient.http(it);
  const others = (await tools(client)).filter((name) => !LEGACY.includes(name));
  assertEquals(others.filter((name) => !name.startsWith("svc.")), []);
});

product("Tool-protocol catalog", "five legacy mission tool names", async () => {
  await using client = await McpClient.http(it);
  assertEquals((await tools(client)).filter((name) => name.startsWith("svc_")), LEGACY);
  const { structuredContent, content } = await client.call("svc_list_missions");
  assertEquals(structuredContent, { missions: [] });
  assertEquals(JSON.parse(content[0].text), { missions: [] });
});

product("Command line", "`svc mcp-serve`: tool-protocol server over stdio", async () => {
  await using client = await McpClient.stdio(it.place);
  assertEquals(client.client.getServerVersion()?.name, "svc");
});

product("Versioning", "5. five legacy mission tool names until v2.0.0", async () => {
  await using client = await McpClient.http(it);
  const { structuredContent } = await client.call("svc.mission.list");
  assertEquals(structuredContent.links.deprecations, ["svc_list_missions"]);
});
