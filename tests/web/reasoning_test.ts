/** The reasoning of a model in the web app. */
import { assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { Scenario } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

Deno.test({
  name: "reasoning is folded, opens by keyboard, and stays open while the answer comes",
  ignore: no_browser,
  async fn() {
    const steps = [
      {
        reasoning: ["<b>I look first.</b>"],
        text: "Looking.",
        calls: [{ name: "list_dir", args: {} }],
      },
      { text: "Nothing there." },
    ];
    await using it = await Scenario.begin(steps, {
      provider: "anthropic",
      start: { effort: "high" },
    });
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.turn("look");
    const thought = page.locator("summary", { hasText: /^Thought for [\d.]+ m?s$/ });
    await thought.waitFor();
    const text = page.getByText("<b>I look first.</b>");
    assertEquals(await text.isVisible(), false);
    await thought.focus();
    await page.keyboard.press("Enter");
    await text.waitFor({ state: "visible" });
    await page.getByRole("log").getByText("Nothing there.").waitFor();
    assertEquals(await text.isVisible(), true);
    await app.accessible("a session with reasoning");
    app.clean("a session with reasoning");
  },
});
