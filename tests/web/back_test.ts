/** Back leads to what was left. */
import { assert, assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { Scenario, until } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

Deno.test({
  name: "Back brings back the filter of a list and where it was scrolled; a new view begins above",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    const model = "builtin/toolbelt";
    for (let n = 0; n < 30; n++) {
      await it.client.session({ workdir: it.place.mkdir(`work-${n}`), model });
    }
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.setViewportSize({ width: 1280, height: 600 });
    const filter = page.getByLabel("Search sessions");
    await filter.fill("work");
    await page.locator("tr.session-row", { hasText: /work-3(?!\d)/ }).scrollIntoViewIfNeeded();
    const top = () => page.evaluate("document.querySelector('main').scrollTop") as Promise<number>;
    const left = await top();
    assert(left > 300, `${left}`);
    await page.locator("tr.session-row", { hasText: /work-3(?!\d)/ }).getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "work-3" }).waitFor();
    await page.goBack();
    await until(async () => await top() === left, "where it was scrolled");
    assertEquals(await filter.inputValue(), "work");
    assertEquals(await page.locator("tr.session-row", { hasText: /project/ }).count(), 0);
    await app.focused("h1");

    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await until(async () => await top() === 0, "the beginning");
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await page.locator("tr.session-row", { hasText: /work-29/ }).waitFor();
    assertEquals([await filter.inputValue(), await top()], ["", 0]);
    // What was typed outlives a reload.
    await filter.fill("work-1");
    await page.reload();
    await page.locator("tr.session-row", { hasText: /work-19/ }).waitFor();
    assertEquals(await filter.inputValue(), "work-1");
    app.clean("back");
  },
});
