import { assert, assertEquals } from "@std/assert";
import { McpClient } from "../support/mcp.ts";
import { http, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();

/** Spoken between a terminal and its daemon; no client's business. */
const BETWEEN_PARTS = ["tui.answer", "tui.attach"];

function contract(section: string, name: string, fn: () => Promise<void>) {
  row("contract", section, name, fn);
}

contract("2 listeners", "MCP: `/mcp` (streamable HTTP)", async () => {
  await using client = await McpClient.http(it);
  assertEquals(await client.client.ping(), {});
  assertEquals((await http(it, "GET", "/mcp", { token: null })).status, 401);
});

contract(
  "4 MCP",
  "one dispatcher serves MCP too; every verb is the tool `svc.<name>`",
  async () => {
    await using client = await McpClient.http(it);
    const { tools } = await client.client.listTools();
    const names = tools.map(({ name }) => name);
    const { verbs } = await client.data("svc.daemon.verbs");
    for (const { name } of verbs as { name: string }[]) {
      if (BETWEEN_PARTS.includes(name)) continue;
      assert(names.includes(name.startsWith("svc_") ? name : `svc.${name}`), name);
    }
  },
);

contract(
  "4 MCP",
  "{ok, data?, error_code?, error_message?, links?} as structuredContent and as text",
  async () => {
    await using client = await McpClient.http(it);
    const { session_id } = await client.data("svc.session.start", { workdir: it.workdir() });
    const done = await client.call("svc.session.get", { session_id });
    assertEquals(Object.keys(done.structuredContent).sort(), ["data", "links", "ok"]);
    assertEquals(Object.keys(done.structuredContent.links), ["self", "related", "deprecations"]);
    assertEquals(done.structuredContent.links.self, `svc://sessions/${session_id}`);
    assertEquals(JSON.parse(done.content[0].text), done.structuredContent);
    const failed = await client.call("svc.session.get", { session_id: `sess_${"0".repeat(26)}` });
    assertEquals([failed.isError, failed.structuredContent.ok], [true, false]);
    assertEquals(failed.structuredContent.error_code, "not_found");
    assertEquals(JSON.parse(failed.content[0].text), failed.structuredContent);
  },
);

contract("4 MCP", "the legacy tools' results are bare JSON", async () => {
  await using client = await McpClient.http(it);
  const { content } = await client.call("svc_list_missions");
  assertEquals(JSON.parse(content[0].text), { missions: [] });
});

contract("4 MCP", "a secret never appears in a result", async () => {
  await using client = await McpClient.http(it);
  assert(!JSON.stringify(await client.call("svc.daemon.discover")).includes(it.token));
});
