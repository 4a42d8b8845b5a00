import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Scenario } from "../support/scripted.ts";
import { Place } from "../support/svc.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import { httpEntry, policyOf, stdioEntry } from "../support/tool_servers.ts";
import type { Json } from "./client.ts";
import { connect, refused } from "./contract_kit.ts";
import { row } from "./row.ts";

const CATALOG = "Tool-protocol catalog";
const options = { ignore: Deno.build.os === "windows" };
const SECRET = "a-token-of-the-tool-servers";

row("product", CATALOG, "external tool servers: every field of an entry", async () => {
  await using http = startHttpToolServer();
  await using place = new Place({ TOOL_TOKEN: SECRET });
  const common = { auth_env: "TOOL_TOKEN", max_concurrent: 2, timeout: "10s" };
  place.setPolicy(policyOf(
    stdioEntry("program", { ...common, trust: "trusted" }),
    httpEntry("address", http.url, { ...common, trust: "untrusted" }),
  ));
  await using client = await connect(await place.serve());
  const { servers } = await client.call("mcp.list_servers");
  assertEquals(servers.map(({ name, transport, trust }: Json) => [name, transport, trust]), [
    ["program", "stdio", "trusted"],
    ["address", "http", "untrusted"],
  ]);
  for (const { name } of servers) {
    const { ok, tools, latency_ms } = await client.call("mcp.test_server", { name });
    assertEquals([ok, tools > 5, latency_ms >= 0], [true, true, true], name);
  }
}, options);

row(
  "product",
  CATALOG,
  "1. a non-local URL must use https; http for this machine only",
  async () => {
    for (
      const url of ["http://example.com/mcp", "http://10.0.0.1/mcp", "http://localhost.x.org/"]
    ) {
      await using place = new Place();
      place.setPolicy(policyOf(httpEntry("web", url)));
      const { code, stderr } = await refused(place);
      assertEquals(code, 1, url);
      assertStringIncludes(stderr, "https");
    }
    await using place = new Place();
    const urls = ["http://localhost:3000/", "http://127.0.0.1:3000/", "https://example.com/mcp"];
    place.setPolicy(policyOf(...urls.map((url, n) => httpEntry(`web${n}`, url))));
    await using client = await connect(await place.serve());
    assertEquals((await client.call("mcp.list_servers")).servers.length, 3);
  },
  options,
);

row(
  "product",
  CATALOG,
  "2. untrusted workers may invoke only tools of untrusted servers",
  async () => {
    await using it = await Scenario.begin(({ messages }) => {
      const last = messages.at(-1)!;
      return last.role === "user"
        ? { calls: [{ name: last.text, args: { text: "x" } }] }
        : { text: "Done." };
    }, {
      policy: policyOf(stdioEntry("inner", { trust: "trusted" }), stdioEntry("outer")),
      start: { trust: "untrusted" },
    });
    const invoked = async (name: string) => {
      await it.turn(name);
      return it.client.of("session.tool_completed").at(-1)!.data.ok;
    };
    assertEquals(await invoked("mcp_outer_echo"), true);
    assertEquals(await invoked("mcp_inner_echo"), false);
  },
  options,
);

row("product", "Authentication", "7. tool servers get credentials from auth_env", async () => {
  await using http = startHttpToolServer({ token: SECRET });
  await using it = await Scenario.begin(({ messages }) => {
    const last = messages.at(-1)!;
    return last.role === "user" ? { calls: [{ name: last.text, args: {} }] } : { text: "Done." };
  }, {
    policy: policyOf(
      stdioEntry("program", { auth_env: "TOOL_TOKEN" }),
      httpEntry("address", http.url, { auth_env: "TOOL_TOKEN" }),
    ),
    env: { TOOL_TOKEN: SECRET },
  });
  await it.turn("mcp_address_echo");
  assert(http.requests.length > 0);
  for (const { headers } of http.requests) {
    assertEquals(headers.get("authorization"), `Bearer ${SECRET}`);
  }
  await it.turn("mcp_program_environment");
  const { output } = it.client.of("session.tool_completed").at(-1)!.data;
  // The program has it; what it shows of it is masked.
  assertStringIncludes(output, '"TOOL_TOKEN":"***"');
}, options);

row("product", "Limits", "tool-server concurrency: max_concurrent per server entry", async () => {
  await using it = await Scenario.begin(
    ({ messages }) =>
      messages.at(-1)!.role === "user"
        ? { calls: [{ name: "mcp_tools_slow", args: { ms: 400, until: 2 } }] }
        : { text: "Done." },
    { policy: policyOf(stdioEntry("tools", { max_concurrent: 2 })) },
  );
  const turns = Array.from({ length: 5 }, async (_, n) => {
    const workdir = it.place.mkdir(`w${n}`);
    const id = await it.client.session({ workdir, model: it.model, approval: "auto" });
    await it.client.turn(id, "go");
  });
  await Promise.all(turns);
  const most = it.client.of("session.tool_completed").map(({ data }) =>
    Number(data.output.split("\n")[1])
  );
  assertEquals(Math.max(...most), 2);
}, options);
