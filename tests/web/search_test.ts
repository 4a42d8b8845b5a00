/** The search in a conversation: it marks what is drawn, and does that work when there is some. */
import { assert, assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { Scenario, until } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

const PARAGRAPHS = 120;

Deno.test({
  name:
    "a search marks what comes into sight, once for each change; left, it leaves nothing marked",
  ignore: no_browser,
  async fn() {
    const text = Array.from({ length: PARAGRAPHS }, (_, n) => `A needle, number ${n}.`);
    await using it = await Scenario.begin([{ text: text.join("\n\n") }]);
    await it.turn("say it");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log");
    const last = log.getByText(`number ${PARAGRAPHS - 1}.`);
    await last.waitFor();
    const box = page.getByRole("textbox", { name: "Search the conversation" });
    await page.keyboard.press("ControlOrMeta+f");
    await box.fill("needle");
    await page.getByRole("status").filter({ hasText: String(PARAGRAPHS) }).waitFor();
    const marked = () => page.evaluate("CSS.highlights.get('found')?.size");
    await app.holds("CSS.highlights.get('found')?.size > 0", "a mark");

    await log.evaluate((log) => {
      // deno-lint-ignore no-explicit-any -- the page's globals
      const { CSS, MutationObserver, counts } = Object.assign(globalThis as any, {
        counts: { marked: 0, changed: 0 },
      });
      const { set } = CSS.highlights;
      CSS.highlights.set = (...parts: unknown[]) => {
        counts.marked++;
        return set.apply(CSS.highlights, parts);
      };
      new MutationObserver(() => counts.changed++)
        .observe(log, { childList: true, characterData: true, subtree: true });
    });
    await log.hover();
    await page.mouse.wheel(0, -100_000);
    await log.getByText("number 0.").waitFor();
    // What a drawing leaves to be done after it has been done by then.
    await page.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
    );
    const { marked: times, changed } = await page.evaluate("counts") as Record<string, number>;
    assert(changed > 0 && times === changed, `marked ${times} times for ${changed} changes`);
    await until(
      async () => await marked() === await log.getByText("needle").count(),
      "a mark for each that is drawn",
    );

    // Asked for again, it has the focus again.
    await log.focus();
    await page.keyboard.press("ControlOrMeta+f");
    await app.focused("search input");
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await page.getByRole("table").waitFor();
    assertEquals(await marked(), undefined);
    app.clean("search");
  },
});

Deno.test({
  name: "where a panel hides the conversation, its search is not opened behind it",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "A needle." }]);
    await it.turn("say it");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await app.openPanel("Files");
    await page.getByRole("button", { name: "Use the whole width" }).click();
    // The browser's own search looks through the panel.
    await page.evaluate("addEventListener('keydown', (it) => globalThis.last_key = it)");
    await page.keyboard.press("ControlOrMeta+f");
    await app.holds("last_key.key === 'f' && !last_key.defaultPrevented", "the browser's key");
    await page.getByRole("button", { name: "Search the conversation" }).click();
    await app.focused("search input");
    const box = page.getByRole("textbox", { name: "Search the conversation" });
    await box.fill("needle");
    await page.locator(".search-count").getByText("1", { exact: true }).waitFor();
    await page.keyboard.press("ControlOrMeta+f");
    await app.holds("last_key.defaultPrevented", "the conversation's key");
    await page.setViewportSize({ width: 390, height: 844 });
    await app.openPanel("Files");
    await box.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("button", { name: "Search the conversation" }).last().click();
    await box.waitFor();
    app.clean("search and panels");
  },
});
