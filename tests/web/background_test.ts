/** The page's list of commands in the background. */
import { assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { Scenario, until } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

Deno.test({
  name: "a background command is shown with its output, and stopped",
  ignore: no_browser,
  async fn() {
    const command = "echo 'up \x1b[31m<b>'; sleep 600";
    const args = { command, background: true };
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args }] },
      { text: "It runs." },
    ]);
    await it.turn("go");
    const [{ command_id }] = (await it.call("session.get")).background;
    await until(
      async () => (await it.call("background.output", { command_id })).text !== "",
      "its output",
    );
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.getByText("In the background · 1 running").click();
    await page.getByRole("button", { name: "Output", exact: true }).click();
    await page.getByRole("log", { name: /^Output of echo/ }).getByText("up <b>").waitFor();
    await app.accessibleEverywhere("a background command");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    const ended = new RegExp(`^Background command ${command_id} .*: stopped$`);
    await page.getByRole("log").getByText(ended).waitFor();
    await page.getByText("1 running").waitFor({ state: "detached" });
    const { data } = await it.event("background.ended");
    assertEquals(data.reason, "stopped");
    app.clean("a background command");
  },
});
