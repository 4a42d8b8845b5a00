/** What a view shows when the answer that it shows can no longer be had. */
import { Browser } from "../support/browser.ts";
import { Place } from "../support/svc.ts";
import { AppPage, no_browser } from "../support/web.ts";

/** Each view, the verb that it asks now and then, and something that it shows. */
const VIEWS = [
  ["/", "session.list", "No sessions yet"],
  ["/missions", "mission.list", "No missions yet"],
  ["/tools", "mcp.list_servers", "No tool servers"],
  ["/memory", "cortex.list", "No entries yet"],
  ["/tasks", "task.list", "No tasks yet"],
  ["/cost", "cost.breakdown", "No costs in this period"],
  ["/settings", "daemon.get_config", "Default directory"],
];
const MESSAGE = "the disk cannot be read";

Deno.test({
  name: "a view whose answer can no longer be had goes on showing it, and says so until it can",
  ignore: no_browser,
  async fn() {
    // With a key, so that the first page asks for none.
    await using place = new Place({ OPENAI_API_KEY: "sk-test" });
    const daemon = await place.serve();
    await using browser = await Browser.launch();
    let failing: string | undefined;
    await browser.context.routeWebSocket(/\/v1\/ws$/, (page) => {
      const server = page.connectToServer();
      page.onMessage((text) => {
        const { id, method } = JSON.parse(String(text));
        if (method !== failing) return server.send(text);
        const error = { code: -32603, message: MESSAGE, data: { svc_code: "internal" } };
        page.send(JSON.stringify({ jsonrpc: "2.0", id, error }));
      });
    });
    const app = await AppPage.open(browser, daemon);
    const { page } = app;
    for (const [path, verb, shown] of VIEWS) {
      await app.go(path);
      await page.getByText(shown).first().waitFor();
      failing = verb;
      await app.look();
      const said = page.getByRole("alert").getByText(MESSAGE);
      await said.waitFor();
      await page.getByText(shown).first().waitFor();
      // What nobody looks at asks for nothing by itself: it is the button that does.
      await page.evaluate(
        "Object.defineProperty(document, 'visibilityState', { value: 'hidden' })",
      );
      failing = undefined;
      await page.getByRole("button", { name: "Try again" }).click();
      await said.waitFor({ state: "detached" });
    }
    app.clean("outdated views");
  },
});
