/** Open pages over `svc update`: they come back to the new version, and get its files. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { update } from "../support/cut.ts";
import { installBinary } from "../support/releases.ts";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { tests_binary } from "../support/svc.ts";
import { AppPage, no_browser } from "../support/web.ts";

const ignore = no_browser || !tests_binary || Deno.build.os !== "linux";
const shared = new SharedBrowser();

const UPDATED = "svc was updated";
const QUESTION = {
  calls: [{
    id: "call_1",
    name: "ask_user",
    args: { question: "Which one?", options: [{ label: "Postgres" }, { label: "SQLite" }] },
  }],
};

/**
 * Has a page know the files that it loads later by names that no daemon has: as a page of an older
 * version does. The next page of the same tab is as the daemon sends it.
 */
async function outdate(page: Page, ...names: string[]): Promise<void> {
  const name = new RegExp(`\\./(${names.join("|")})-[A-Z0-9]{8}\\.js`, "g");
  await page.route("**/assets/*.js", async (route) => {
    const text = await (await fetch(route.request().url())).text();
    const body = text.replaceAll(name, "./$1-OUTDATED.js");
    await route.fulfill({ body, contentType: "text/javascript" });
  });
}

Deno.test({
  name: "three tabs come back after svc update, nothing is shown twice, and a question is answered",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "the first answer" }, QUESTION, {
      text: "Then SQLite.",
    }, { text: "the last answer" }]);
    await it.turn("one");
    const { port } = it.daemon;
    await using browser = await shared.profile();
    const session = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const lane = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}/lanes/main`);
    const list = await AppPage.open(browser, it.daemon);
    const tabs = [session, lane, list];
    const loads: string[] = [];
    for (const { page } of tabs) page.on("framenavigated", (frame) => loads.push(frame.url()));
    const { page } = session;
    const log = page.getByRole("log");
    const choice = page.getByRole("button", { name: "SQLite" });
    await it.send("two");
    await choice.waitFor();
    installBinary(it.place);
    await update(it);
    assertEquals(it.place.discovery().port, port);
    for (const { page } of tabs) {
      await page.getByText(UPDATED).waitFor();
      await page.getByText("Connected (external)").waitFor({ state: "attached" });
    }
    await log.getByText("The daemon was restarted").waitFor();
    await list.page.locator("tr.session-row", { hasText: /project/ }).waitFor();
    await list.page.getByRole("link", { name: "1 approval waits" }).waitFor();
    await lane.page.getByRole("group", { name: "Output" }).getByText("the first answer").waitFor();
    assertEquals(loads, []);

    assertEquals(await choice.count(), 1);
    await page.locator("button:not([aria-disabled])", { hasText: "SQLite" }).waitFor();
    await choice.click();
    await log.getByText("Then SQLite.").waitFor();
    await page.getByLabel("Message", { exact: true }).fill("three");
    await page.getByRole("button", { name: "Send" }).click();
    await log.getByText("the last answer").waitFor();
    for (const once of ["the first answer", "Then SQLite.", "the last answer"]) {
      assertEquals([once, await log.getByText(once).count()], [once, 1]);
    }
    assertEquals(it.asked.length, 4);
    // What was followed is what the new version's page reads from the beginning.
    const followed = await log.textContent();
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByText(UPDATED).waitFor({ state: "detached" });
    await log.getByText("the last answer").waitFor();
    assertEquals(await log.textContent(), followed);
    assertEquals(loads.length, 1);
  },
});

Deno.test({
  name: "after svc update a page whose files are gone gets those of the new version, or says so",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "the first answer" }]);
    await it.turn("one");
    await using browser = await shared.profile();
    const list = await AppPage.open(browser, it.daemon);
    const session = await AppPage.open(browser, it.daemon);
    await outdate(list.page, "views", "other_views");
    await outdate(session.page, "on_demand", "other_views");
    await list.go("/");
    await session.go(`/sessions/${it.session_id}`);
    const box = session.page.getByLabel("Message", { exact: true });
    const type = async (line: string) => {
      await box.fill(line);
      await session.page.getByRole("button", { name: "Send" }).click();
    };
    // The control: without an update it is what it is.
    await list.page.getByRole("link", { name: "Missions" }).click();
    await list.page.getByText("That did not work").waitFor();
    await list.page.goBack();
    installBinary(it.place);
    await update(it);
    await list.page.getByText(UPDATED).waitFor();
    await session.page.getByText(UPDATED).waitFor();

    await type("/model");
    await session.page.getByRole("alert").getByText("svc was updated; reload this page").waitFor();
    assertEquals(await box.inputValue(), "/model");
    for (const { page } of [list, session]) await page.unrouteAll();
    // Back and forth is the same page, which has to come anew.
    await list.page.goForward();
    await list.page.getByRole("heading", { name: "Missions", level: 1 }).waitFor();
    await list.page.getByText(UPDATED).waitFor({ state: "detached" });
    assert(!await list.page.getByText("That did not work").isVisible());
    // As does any other view.
    await session.page.getByRole("link", { name: "Cost" }).click();
    await session.page.getByRole("heading", { name: "Cost", level: 1 }).waitFor();
    await session.page.getByText(UPDATED).waitFor({ state: "detached" });
    await session.page.goBack();
    await session.page.getByRole("log").getByText("the first answer").waitFor();
    assertEquals(await box.inputValue(), "/model");
  },
});
