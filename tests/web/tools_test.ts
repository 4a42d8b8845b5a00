/** Tool servers in the web app: how they stand, tested, their tools tried; and that each verb tells the same. */
import { assert, assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { Scenario, until } from "../support/scripted.ts";
import { httpEntry, policyOf, stdioEntry } from "../support/tool_servers.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import { AppPage, no_browser } from "../support/web.ts";

const LONG = "a-tool-server-whose-name-is-as-long-as-names-get";

Deno.test({
  name: "tool servers: their state, a test, their tools, a call, a breaker that opens",
  ignore: no_browser,
  async fn() {
    await using http = startHttpToolServer();
    await using it = await Scenario.begin([{ text: "Hello." }], {
      policy: policyOf(
        stdioEntry("prog", { trust: "trusted" }),
        httpEntry("web", http.url),
        stdioEntry("broken", { env: { TOOL_SERVER: "crash" } }),
        stdioEntry("poor", { auth_env: "NOT_SET_ANYWHERE" }),
        stdioEntry(LONG, { enabled: false }),
      ),
      start: { trust: "untrusted" },
    });
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, "/tools");
    const { page } = app;
    const { rpc } = it.client;
    const server = (name: string) =>
      page.getByRole("list", { name: "Tool servers" }).locator("> li").filter({
        has: page.getByRole("heading", { name, exact: true }),
      });

    await server("prog").getByText("Not started").waitFor();
    await server("poor").getByText("Refused").waitFor();
    const { servers } = await rpc.call("mcp.list_servers");
    const names = await page.getByRole("list", { name: "Tool servers" }).getByRole("heading", {
      level: 2,
    })
      .allTextContents();
    assertEquals(names, servers.map(({ name }: { name: string }) => name));
    const { problem } = servers.find(({ name }: { name: string }) => name === "poor");
    assertEquals(await server("poor").getByText(problem).count(), 1);
    assertEquals(await server(LONG).getByText("Disabled").count(), 1);
    assertEquals(await server(LONG).getByRole("button").count(), 1);
    await server(LONG).getByRole("button", { name: `Actions for ${LONG}` }).waitFor();

    await page.getByRole("button", { name: "Test prog" }).click();
    const tested = await rpc.call("mcp.test_server", { name: "prog" });
    await server("prog").getByText(`test-tools 1.2.3, ${tested.tools} tools`).waitFor();
    await page.getByRole("button", { name: "Test broken" }).click();
    await server("broken").getByRole("alert").getByText("cannot find my database").waitFor();

    await page.getByRole("button", { name: "Tools of web" }).click();
    const { tools } = await rpc.call("mcp.list_tools", { server: "web" });
    await server("web").getByText(`${tools.length} tools`).waitFor();
    const listed = server("web").locator(".server-tools strong");
    await until(async () => await listed.count() === tools.length, "the list of tools");
    assertEquals(
      await listed.allTextContents(),
      tools.map(({ tool }: { tool: string }) => tool),
    );
    await server("web").getByText("Schema", { exact: true }).first().click();
    await app.accessibleEverywhere("tool servers");

    const dialog = page.getByRole("dialog");
    const call = async (tool: string, args: string) => {
      await page.getByRole("button", { name: `Try ${tool}`, exact: true }).click();
      await dialog.getByRole("textbox", { name: "arguments" }).fill(args);
      await dialog.getByRole("button", { name: `Call ${tool}` }).click();
    };
    await call("echo", '{"text": "from the page"}');
    const echo = { server: "web", tool: "echo", arguments: { text: "from the page" } };
    const { output } = await rpc.call("mcp.call_tool", echo);
    await dialog.getByRole("status", { name: "Result" }).getByText(output, { exact: true })
      .waitFor();
    await app.accessible("a tool's result");
    await page.keyboard.press("Escape");
    await call("fail", "");
    await dialog.getByRole("alert").getByText("the tool itself failed").waitFor();
    await dialog.getByRole("textbox", { name: "arguments" }).fill("{");
    await dialog.getByRole("button", { name: "Call fail" }).click();
    await dialog.getByRole("alert").getByText("arguments must be JSON").waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await dialog.waitFor({ state: "detached" });

    // A session that is not trusted has no trusted server; the page says what it has.
    await page.getByLabel("As seen by").selectOption(it.session_id);
    await server("prog").waitFor({ state: "detached" });
    await server("web").waitFor();
    await page.getByLabel("As seen by").selectOption("");

    it.place.setPolicy("mcp_servers: 7\n");
    const read = page.getByRole("button", { name: "Read policy again" });
    await read.click();
    await page.getByRole("alert").getByText("policy.yaml").waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    it.place.setPolicy(policyOf(stdioEntry("flaky")));
    await read.click();
    await server("web").waitFor({ state: "detached" });
    for (let n = 0; n < 5; n++) {
      await rpc.call("mcp.call_tool", { server: "flaky", tool: "crash" }).catch(() => {});
    }
    const [flaky] = (await rpc.call("mcp.list_servers")).servers;
    assertEquals(flaky.breaker, "open");
    assert(Date.parse(flaky.breaker_until) > Date.parse("2020-01-01T00:00:00Z"));
    await server("flaky").getByText("Left alone until").waitFor();

    it.place.setPolicy("mcp_servers: []\n");
    await read.click();
    await page.getByText("No tool servers").waitFor();
    await app.accessible("no tool servers");
    app.clean("tool servers");
  },
});
