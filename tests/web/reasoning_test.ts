/** The reasoning of a model in the web app. */
import { assert, assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { Scenario } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";
import { repaints, watchRepaints } from "../support/web_load.ts";

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

/** Pieces as a provider's stream has them, with blank lines now and then. */
const THOUGHT = Array.from(
  { length: 5_000 },
  (_, n) => n % 50 === 49 ? `thought number ${n}.\n\n` : `thought number ${n}, `,
);

Deno.test({
  name: "a long thought is not drawn while it is folded, and open only its end is drawn anew",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ reasoning: THOUGHT, text: "Done.", pace_ms: 1 }]);
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const turn = it.turn("think");
    const thinking = page.locator("summary", { hasText: "Thinking" });
    await thinking.waitFor();
    assertEquals(await page.locator(".thought p").count(), 0);
    await thinking.click();
    await page.locator(".thought p").nth(2).waitFor();
    await watchRepaints(page, "[role=log]");
    // Each text that is written into the page, by its length.
    const written = await page.evaluateHandle(() => {
      // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
      const { document, MutationObserver } = globalThis as any;
      const written = { longest: 0 };
      // deno-lint-ignore no-explicit-any -- as above
      new MutationObserver((changes: any[]) => {
        for (const { target } of changes) {
          if (target.nodeType !== 3) continue;
          written.longest = Math.max(written.longest, target.data.length);
        }
      }).observe(document.querySelector(".thought"), { characterData: true, subtree: true });
      return written;
    });
    const first = await page.evaluateHandle("document.querySelector('.thought p')");
    await turn;
    await page.getByRole("log").getByText("Done.").waitFor();
    const { count, ms } = await repaints(page);
    assert(count > 1 && count <= ms / 100 + 5, `${count} in ${ms} ms`);
    const drawn = await page.locator(".thought p").allTextContents();
    assertEquals(drawn.join(""), THOUGHT.join(""));
    // deno-lint-ignore no-explicit-any -- an element of the page
    assertEquals(await first.evaluate((it: any) => it.isConnected), true);
    const most = (await written.jsonValue()).longest;
    assert(most > 0 && most <= 2_000, `${most} characters were written at once`);

    // Where it was found, one sees what was found.
    await page.locator(".thought > summary").click();
    await page.locator(".thought p").first().waitFor({ state: "detached" });
    await page.getByRole("log").press("Control+f");
    await page.getByRole("textbox", { name: "Search the conversation" }).fill("thought number 30,");
    await page.locator(".search-count").getByText("1", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".thought p").first().waitFor();
    app.clean("a long thought");
  },
});
