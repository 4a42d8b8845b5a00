/** Tool servers in the web app: added, changed, turned off, removed, logged in to, approved for a project. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { startOAuthToolServer } from "../support/oauth_tool_server.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { httpEntry, policyOf, stdioEntry } from "../support/tool_servers.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Any = any;

Deno.test({
  name: "a tool server is added, changed, turned off and removed; the file's comments stay",
  ignore: no_browser,
  async fn() {
    const policy = "# Who looks after this: me.\n" +
      policyOf(stdioEntry("prog", { env: { KEPT: "not-shown-anywhere" } }));
    await using it = await Scenario.begin([], { policy });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/tools");
    const { page } = app;
    const { rpc } = it.client;
    const file = join(it.place.home, "policy.yaml");
    const dialog = page.getByRole("dialog");
    const server = (name: string) =>
      page.getByRole("list", { name: "Tool servers" }).locator("> li").filter({
        has: page.getByRole("heading", { name, exact: true }),
      });
    const act = async (name: string, action: string) => {
      await page.getByRole("button", { name: `Actions for ${name}` }).click();
      await page.getByRole("menuitem", { name: action }).click();
    };
    const names = async () =>
      (await rpc.call("mcp.list_servers")).servers.map(({ name }: Any) => name);

    await page.getByRole("button", { name: "New server" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill("docs");
    await dialog.getByLabel("Kind").selectOption("http");
    await dialog.getByLabel("Address").fill("http://docs.example/mcp");
    await dialog.getByRole("button", { name: "Add a header" }).click();
    await dialog.getByLabel("Name of header 1").fill("authorization");
    await dialog.getByLabel("Value of header 1").fill("Bearer sk-0123456789");
    await dialog.getByText("This looks like a secret").waitFor();
    await app.accessibleEverywhere("a new tool server");
    await dialog.getByRole("button", { name: "Use Bearer ${DOCS_TOKEN}" }).click();
    assertEquals(await dialog.getByLabel("Value of header 1").inputValue(), "Bearer ${DOCS_TOKEN}");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("must be https").waitFor();
    assertEquals(await dialog.getByLabel("Address").getAttribute("aria-invalid"), "true");
    await dialog.getByLabel("Address").fill("https://docs.example/mcp");
    await dialog.getByRole("button", { name: "Save" }).click();
    await server("docs").waitFor();
    await dialog.waitFor({ state: "detached" });
    assertEquals(await names(), ["prog", "docs"]);
    await server("docs").getByText("DOCS_TOKEN, which is not set").waitFor();

    // What is not shown stays.
    await act("prog", "Edit…");
    await dialog.getByLabel("Program").waitFor();
    const shown = await dialog.evaluate((it) => (it as Any).innerHTML);
    assert(!shown.includes("not-shown-anywhere"));
    await dialog.getByLabel("Name", { exact: true }).fill("prog-2");
    await dialog.getByLabel("Trust").selectOption("trusted");
    await app.accessible("a tool server that is changed");
    await dialog.getByRole("button", { name: "Save" }).click();
    await server("prog-2").waitFor();
    let text = Deno.readTextFileSync(file);
    assert(text.startsWith("# Who looks after this: me.\n"), text);
    assert(text.includes("not-shown-anywhere"), text);
    await page.getByRole("button", { name: "Test prog-2" }).click();
    await server("prog-2").getByText("test-tools 1.2.3").waitFor();

    await act("prog-2", "Turn off");
    await server("prog-2").getByText("Disabled").waitFor();
    await act("prog-2", "Turn on");
    await server("prog-2").getByText("Not started").waitFor();

    // The file is changed by hand meanwhile: nothing is written over it.
    await act("docs", "Edit…");
    await dialog.getByLabel("Address").fill("https://other.example/mcp");
    text = `${Deno.readTextFileSync(file)}# by hand\n`;
    it.place.setPolicy(text);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("has changed since it was read").waitFor();
    assertEquals(Deno.readTextFileSync(file), text);
    await dialog.getByRole("button", { name: "Cancel" }).click();

    await act("docs", "Remove…");
    await dialog.getByRole("button", { name: "Remove server" }).click();
    await server("docs").waitFor({ state: "detached" });
    assertEquals(await names(), ["prog-2"]);
    assert(Deno.readTextFileSync(file).endsWith("# by hand\n"));
    await app.focusKept();
    app.clean("tool servers that are changed");
  },
});

Deno.test({
  name: "a person logs in at a tool server on the provider's page, and out again",
  ignore: no_browser,
  async fn() {
    await using oauth = startOAuthToolServer();
    await using it = await Scenario.begin([], { policy: policyOf(httpEntry("web", oauth.url)) });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/tools");
    const { page } = app;
    const act = async (action: string) => {
      await page.getByRole("button", { name: "Actions for web" }).click();
      await page.getByRole("menuitem", { name: action }).click();
    };
    const facts = page.getByText("logged in", { exact: true });
    const opened = page.context().waitForEvent("page");
    await act("Log in…");
    await (await opened).getByText("svc has the answer").waitFor();
    await facts.waitFor();
    await page.getByRole("link", { name: "Open the page" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Test web" }).click();
    await page.locator(".server").getByText("test-tools 1.2.3").waitFor();
    await act("Log out");
    await facts.waitFor({ state: "detached" });

    oauth.page = "refuse";
    await act("Log in…");
    await page.getByRole("alert").getByText("thanks").waitFor();
    await page.getByRole("link", { name: "Open the page" }).waitFor({ state: "detached" });
    await app.accessible("a login that was refused");
    app.clean("logins");
  },
});

Deno.test({
  name: "a project's tool servers are shown before a person approves them",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([], { toml: "[policy]\nallow_project = true\n" });
    await using browser = await shared.profile();
    const { workdir }: Any = await it.call("session.get");
    const hostile = "<img src=x onerror=pwned()>\u202e\u200b";
    Deno.writeTextFileSync(
      join(workdir, "svc.policy.yaml"),
      policyOf(stdioEntry("theirs", { args: ["run", hostile] })),
    );
    const app = await AppPage.open(browser, it.daemon, "/tools");
    const { page } = app;
    await page.getByLabel("As seen by").selectOption(it.session_id);
    const project = page.getByRole("region", { name: "Tool servers of the project" });
    await project.getByText("Not approved").waitFor();
    await project.getByRole("group", { name: "What theirs runs" })
      .getByText("<img src=x onerror=pwned()>\\u{202e}\\u{200b}").waitFor();
    await app.accessibleEverywhere("a project's tool servers");
    await project.getByRole("button", { name: "Approve what is below" }).click();
    await project.getByText("Approved", { exact: true }).waitFor();
    await until(
      async () => (await it.call("mcp.list_servers")).project.approved,
      "the approval in the daemon",
    );
    app.clean("a project's tool servers");
  },
});

Deno.test({
  name: "what the form of a tool server cannot show stays; a value without a name is refused",
  ignore: no_browser,
  async fn() {
    const policy = `mcp_servers:
  - name:    lines    # aligned
    transport: stdio
    command: sh
    args:   [ "-c", "echo a\\necho b", "" ]   # a script


# The end
`;
    await using it = await Scenario.begin([], { policy });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/tools");
    const { page } = app;
    const file = join(it.place.home, "policy.yaml");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Actions for lines" }).click();
    await page.getByRole("menuitem", { name: "Edit…" }).click();
    await dialog.getByText("Not shown: one is empty or has several lines.").waitFor();
    // What is written and taken back is nothing that was written.
    await dialog.getByLabel("Arguments").fill("x");
    await dialog.getByLabel("Arguments").fill("");
    await dialog.getByText("Not shown: one is empty or has several lines.").waitFor();
    await dialog.getByLabel("Time limit for a call").fill("9s");
    await dialog.getByRole("button", { name: "Add a variable" }).click();
    await dialog.getByLabel("Value of variable 1").fill("1_000");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("A value has no name.").waitFor();
    assertEquals(Deno.readTextFileSync(file), policy);
    await dialog.getByLabel("Name of variable 1").fill("COUNT");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    assertEquals(
      Deno.readTextFileSync(file),
      policy.replace(
        "# a script\n",
        `# a script\n    env:\n      COUNT: "1_000"\n    timeout: 9s\n`,
      ),
    );

    Deno.chmodSync(file, 0o400);
    await page.getByRole("button", { name: "Actions for lines" }).click();
    await page.getByRole("menuitem", { name: "Turn off" }).click();
    await page.getByRole("alert").getByText("is read-only").waitFor();
    app.clean("a tool server that is not shown as a whole");
  },
});
