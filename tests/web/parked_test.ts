/** A turn that waits for the end of a provider's limit: the page shows until when, and tries again. */
import { assertMatch } from "@std/assert";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "a parked turn: the page and the list show until when, and a button tries again",
  ignore: no_browser,
  async fn() {
    const headers = { "retry-after": "90000" };
    await using it = await Scenario.begin([
      { status: { code: 429, message: "quota used up", headers } },
      { text: "Done." },
    ]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.send("go");
    const note = page.getByRole("log").getByText(/^Parked until .*quota used up/);
    await note.waitFor();
    assertMatch(
      (await note.textContent())!,
      /Parked until \d{4}-\d\d-\d\d \d\d:\d\d, then the turn/,
    );
    await page.locator(".facts").getByText(/^Parked until/).waitFor();
    await app.accessible("a parked turn");
    // The same after it is loaded again, and in the list.
    await page.reload();
    await note.waitFor();
    await page.getByRole("link", { name: "Sessions", exact: true }).first().click();
    await page.locator(".state-cell").getByText(/^Parked until/).waitFor();
    await page.goBack();
    const now = page.getByRole("button", { name: "Continue now" });
    await now.click();
    await page.getByRole("log").getByText("Done.").waitFor();
    await now.waitFor({ state: "detached" });
    await page.locator(".facts").getByText(/^Idle/).waitFor();
  },
});
