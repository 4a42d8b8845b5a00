import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { Place } from "../support/svc.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import { httpEntry, policyOf, stdioEntry } from "../support/tool_servers.ts";
import type { Json } from "./client.ts";
import { assertRpcError, connect, refused } from "./contract_kit.ts";
import { row } from "./row.ts";

function section7(name: string, fn: () => void | Promise<void>) {
  row("contract", "7 policy.yaml", name, fn, { ignore: Deno.build.os === "windows" });
}

/** A daemon with this policy, and a client. */
async function withPolicy(place: Place, policy: string, toml = "") {
  place.configure(toml);
  place.setPolicy(policy);
  const daemon = await place.serve();
  return { daemon, client: await connect(daemon) };
}

/** A session whose model calls the tool that a message names; what came of the call. */
async function toolSession(policy: string, env: Record<string, string> = {}) {
  const it = await Scenario.begin(({ messages }) => {
    const last = messages.at(-1)!;
    if (last.role !== "user") return { text: "Done." };
    const [name, args] = last.text.split(" ", 2);
    return { calls: [{ name, args: JSON.parse(args) }] };
  }, { policy, env });
  const call = async (name: string, args: Json = {}): Promise<Json> => {
    const turn = await it.turn(`${name} ${JSON.stringify(args)}`);
    const { data } = it.client.events.findLast(({ type, seq }) =>
      type === "session.tool_completed" && seq < turn.seq
    )!;
    return data;
  };
  return { it, call };
}

/** The item of mcp.list_servers of the one server there is. */
async function theServer(policy: string): Promise<Json> {
  await using place = new Place();
  const { client } = await withPolicy(place, policy);
  await using _ = client;
  const { servers } = await client.call("mcp.list_servers");
  assertEquals(servers.length, 1);
  return servers[0];
}

section7("mcp_servers: name, transport; trust untrusted by default", async () => {
  const { name, transport, trust, enabled } = await theServer(policyOf(stdioEntry("tools")));
  assertEquals([name, transport, trust, enabled], ["tools", "stdio", "untrusted", true]);
});

section7("trust, enabled as they are set", async () => {
  const entry = stdioEntry("tools", { trust: "trusted", enabled: false });
  const { trust, enabled } = await theServer(policyOf(entry));
  assertEquals([trust, enabled], ["trusted", false]);
});

section7("args, env; tools appear as mcp_<server>_<tool>", async () => {
  const { it, call } = await toolSession(policyOf(stdioEntry("tools", { env: { MODE: "fast" } })));
  await using _ = it;
  assertStringIncludes((await call("mcp_tools_environment")).output, '"MODE":"fast"');
  const { tools } = await it.client.rpc.call("mcp.list_tools");
  assert(tools.length > 5);
  for (const { name, server, tool } of tools) assertEquals(name, `mcp_${server}_${tool}`);
});

section7("headers", async () => {
  await using http = startHttpToolServer();
  const { it, call } = await toolSession(
    policyOf(httpEntry("web", http.url, { headers: { "x-team": "blue" } })),
  );
  await using _ = it;
  assertEquals((await call("mcp_web_echo", { text: "a" })).ok, true);
  assert(http.requests.every(({ headers }) => headers.get("x-team") === "blue"));
});

section7("max_concurrent 8 by default", async () => {
  const { it } = await toolSession(policyOf(stdioEntry("tools")));
  await using _ = it;
  const turns = Array.from({ length: 12 }, async (_, n) => {
    const workdir = it.place.mkdir(`w${n}`);
    const id = await it.client.session({ workdir, model: it.model, approval: "auto" });
    await it.client.turn(id, `mcp_tools_slow {"ms":500,"until":8}`);
    return it.client.events.find(({ session_id, type }) =>
      session_id === id && type === "session.tool_completed"
    )!.data.output;
  });
  const most = (await Promise.all(turns)).map((output) => Number(output.split("\n")[1]));
  assertEquals(Math.max(...most), 8);
});

section7("timeout", async () => {
  await using http = startHttpToolServer();
  const { it, call } = await toolSession(policyOf(httpEntry("web", http.url, { timeout: "3s" })));
  await using _ = it;
  assertStringIncludes((await call("mcp_web_hang")).output, "did not answer within 3s");
});

section7("breaker: 5 failures in a row open it", async () => {
  const { it, call } = await toolSession(policyOf(stdioEntry("tools")));
  await using _ = it;
  for (let n = 0; n < 5; n++) {
    assertStringIncludes((await call("mcp_tools_crash")).output, "ended with exit code 7");
    await it.warm();
  }
  assertStringIncludes((await call("mcp_tools_echo", { text: "a" })).output, "5 times in a row");
  const { servers } = await it.client.rpc.call("mcp.list_servers");
  assertEquals(servers[0].breaker, "open");
});

section7("results are capped at 2 MiB", async () => {
  const { it, call } = await toolSession(policyOf(stdioEntry("tools")));
  await using _ = it;
  const { ok, output } = await call("mcp_tools_big", { bytes: 2 * 1024 * 1024 });
  assertEquals(ok, false);
  assertStringIncludes(output, "2 MiB");
  assertEquals((await call("mcp_tools_big", { bytes: 2_000_000 })).ok, true);
});

section7("a configured but empty auth_env: that server is refused, the daemon runs", async () => {
  const policy = policyOf(stdioEntry("poor", { auth_env: "POOR_TOKEN" }), stdioEntry("good"));
  const { it, call } = await toolSession(policy, { POOR_TOKEN: "" });
  await using _ = it;
  assertEquals((await call("mcp_good_echo", { text: "a" })).ok, true);
  const { servers } = await it.client.rpc.call("mcp.list_servers");
  assertMatch(servers[0].problem, /POOR_TOKEN/);
  const { ok, reason } = await it.client.rpc.call("mcp.test_server", { name: "poor" });
  assertEquals(ok, false);
  assertMatch(reason, /POOR_TOKEN/);
});

section7("svc.policy.yaml is read only with [policy] allow_project = true", async () => {
  for (const allow_project of [undefined, false, true]) {
    await using place = new Place();
    const toml = allow_project === undefined ? "" : `[policy]\nallow_project = ${allow_project}\n`;
    const { client } = await withPolicy(place, "", toml);
    await using _ = client;
    const workdir = place.mkdir("project");
    Deno.writeTextFileSync(join(workdir, "svc.policy.yaml"), policyOf(stdioEntry("mine")));
    const { session_id } = await client.call("session.start", { workdir });
    const { servers } = await client.call("mcp.list_servers", { session_id });
    const names = servers.map(({ name }: Json) => name);
    assertEquals(names, allow_project === true ? ["mine"] : []);
  }
});

/** Content, what the message names besides the file: the line, then words. */
const BAD: [string, string, string[]][] = [
  ["a syntax error", "mcp_servers:\n  - [a: b\n", []],
  ["a wrong type", "\nmcp_servers: none\n", ["2", "mcp_servers"]],
  ["an unknown key", "mcp_server: []\n", ["1", "mcp_server", "mcp_servers"]],
  [
    "an unknown key of a server",
    "mcp_servers:\n  - name: x\n    transport: stdio\n    command: y\n    timout: 3s\n",
    ["5", "timout", "timeout"],
  ],
  [
    "a non-local address without https",
    "mcp_servers:\n  - name: x\n    transport: http\n    url: http://example.com/mcp\n",
    ["4", "url", "https"],
  ],
];
for (const [what, policy, named] of BAD) {
  section7(`${what}: refuses to start, file, line, key; reload answers -32001`, async () => {
    await using place = new Place();
    place.setPolicy(policy);
    const path = join(place.home, "policy.yaml");
    const { code, stdout, stderr } = await refused(place);
    assertEquals([code, stdout], [1, ""]);
    const [line = "\\d", ...words] = named;
    assertMatch(stderr, new RegExp(`${path}:${line}\\b`));
    for (const word of words) assertStringIncludes(stderr.replaceAll(place.home, ""), word);

    const { client } = await withPolicy(place, policyOf(stdioEntry("kept")));
    await using _ = client;
    place.setPolicy(policy);
    const error = await client.fails("daemon.reload_config");
    assertRpcError(error, -32001, "validation");
    assertStringIncludes(error.message, path);
    const { servers } = await client.call("mcp.list_servers");
    assertEquals(servers.map(({ name }: Json) => name), ["kept"]);
  });
}

section7("daemon.reload_config with a good file: it holds from then on", async () => {
  await using place = new Place();
  const { client } = await withPolicy(place, policyOf(stdioEntry("one")));
  await using _ = client;
  const names = async () =>
    (await client.call("mcp.list_servers")).servers.map(({ name }: Json) => name);
  place.setPolicy(policyOf(stdioEntry("two"), stdioEntry("three")));
  assertEquals(await names(), ["one"]);
  await client.call("daemon.reload_config");
  assertEquals(await names(), ["two", "three"]);
});
