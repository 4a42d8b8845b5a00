/** What somebody writes is not lost, and what comes of it is seen. */
import { assertEquals } from "@std/assert";
import { tinyPng } from "../support/media.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, giveFile, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "a draft outlives its browser and the daemon, and goes when it is sent or its session ends",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "heard" }]);
    const path = `/sessions/${it.session_id}`;
    const box = (app: AppPage) => app.page.getByLabel("Message", { exact: true });
    const kept = async () => (await it.call("draft.get")).text;
    const inBrowser = (app: AppPage) =>
      app.page.evaluate("Object.keys(localStorage).filter((it) => it.startsWith('svc.draft'))");
    {
      await using browser = await shared.profile();
      const first = await AppPage.open(browser, it.daemon, path);
      await box(first).fill("half a thought");
      await until(async () => await kept() === "half a thought", "the draft in the daemon");
      await until(async () => `${await inBrowser(first)}` === "", "nothing left in the browser");
      first.clean("a draft");
    }
    await it.restart();
    assertEquals(await kept(), "half a thought");
    await using browser = await shared.profile();
    const second = await AppPage.open(browser, it.daemon, path);
    await box(second).waitFor();
    assertEquals(await box(second).inputValue(), "half a thought");
    await second.page.keyboard.press("Escape");
    assertEquals(await box(second).inputValue(), "half a thought");

    // Two pages agree, whoever writes.
    const third = await AppPage.open(browser, it.daemon, path);
    await box(third).fill("a whole thought");
    await until(async () => await box(second).inputValue() === "a whole thought", "the other page");
    await box(second).fill("another one");
    await until(async () => await box(third).inputValue() === "another one", "the first page");
    await second.page.getByRole("button", { name: "Send" }).click();
    await second.page.getByRole("log").getByText("heard").waitFor();
    await until(async () => await box(third).inputValue() === "", "the end of the draft");
    assertEquals(await kept(), "");

    await box(second).fill("never sent");
    await until(async () => await kept() !== "", "the draft in the daemon");
    await it.call("session.kill");
    await second.page.getByText("This session has ended.").waitFor();
    assertEquals(await second.page.getByLabel("Not sent").inputValue(), "never sent");
    await until(async () => await kept() === "", "the draft's end");
    await until(async () => `${await inBrowser(second)}` === "", "nothing left in the browser");
    second.clean("drafts");
    third.clean("drafts");
  },
});

Deno.test({
  name: "what was written for a session that is deleted elsewhere is kept in sight for another one",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const path = `/sessions/${it.session_id}`;
    const app = await AppPage.open(browser, it.daemon, path);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    await box.fill("half a thought");
    await until(async () => (await it.call("draft.get")).text !== "", "the draft in the daemon");
    await giveFile(box, "paste", "one.png", "image/png", tinyPng().toBase64());
    await page.locator(".attached").getByText("one.png").waitFor();
    const away = await AppPage.open(browser, it.daemon, path);
    await away.page.locator(".attached").getByText("one.png").waitFor();
    await away.page.context().setOffline(true);
    await it.call("session.delete");
    await away.page.context().setOffline(false);
    for (const { page } of [app, away]) {
      await page.getByText("This session was deleted.").filter({ visible: true }).first().waitFor();
      assertEquals(await page.getByLabel("Not sent").inputValue(), "half a thought");
      assertEquals((await page.getByRole("alert").allInnerTexts()).join(""), "");
    }
    await app.focusKept();
    await app.accessibleEverywhere("a session that was deleted elsewhere");
    await page.getByRole("button", { name: "New session with this" }).click();
    await page.locator("#new-session:focus").waitFor();
    assertEquals(
      await page.getByRole("textbox", { name: "New session" }).inputValue(),
      "half a thought",
    );
    await page.getByRole("list", { name: "Attached files" }).getByText("one.png").waitFor();
    await page.getByRole("button", { name: /^Directory: / }).getByText("project").waitFor();
    app.clean("a session that was deleted elsewhere");
  },
});

Deno.test({
  name: "what was written while the daemon was away is kept, and it gets it later",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    await app.page.getByLabel("Message", { exact: true }).waitFor();
    await app.page.context().setOffline(true);
    await app.page.getByLabel("Message", { exact: true }).fill("written in between");
    const left = "Object.values(localStorage).includes('written in between')";
    await app.holds(left, "the draft in the browser");
    await app.page.context().setOffline(false);
    await until(
      async () => (await it.call("draft.get")).text === "written in between",
      "the draft in the daemon",
    );
  },
});

Deno.test({
  name: "Escape and a click beside a form ask before what was written is discarded",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/tasks");
    const { page } = app;
    const form = page.getByRole("dialog", { name: "New task" });
    const ask = page.getByRole("dialog", { name: "Discard what you wrote?" });
    const open = async () => {
      await page.getByRole("button", { name: "New task" }).first().click();
      await form.waitFor();
    };
    // Nothing was written: nothing is asked.
    await open();
    await page.keyboard.press("Escape");
    await form.waitFor({ state: "detached" });

    await open();
    const message = form.getByLabel("What to do");
    await message.fill("a long story");
    await page.keyboard.press("Escape");
    await ask.waitFor();
    await app.accessible("asked whether to discard");
    // It is the question that goes.
    await page.keyboard.press("Escape");
    await ask.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await ask.getByRole("button", { name: "Keep it" }).click();
    assertEquals(await message.inputValue(), "a long story");
    await page.mouse.click(5, 5);
    await ask.getByRole("button", { name: "Keep it" }).click();

    // What was refused is not gone either.
    await form.getByRole("button", { name: "Add to queue" }).click();
    await form.getByRole("alert").waitFor();
    await page.keyboard.press("Escape");
    await ask.getByRole("button", { name: "Discard" }).click();
    await form.waitFor({ state: "detached" });
    await ask.waitFor({ state: "detached" });

    // The palette's search is no draft.
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.type("session");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    app.clean("forms");
  },
});

Deno.test({
  name: "who sends a message while scrolled up sees it at the end",
  ignore: no_browser,
  async fn() {
    const text = Array.from({ length: 60 }, (_, n) => `Paragraph ${n}.\n\n`).join("");
    await using it = await Scenario.begin([{ text }, { text: "the newest answer" }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    // Screen readers are told the newest answer too, elsewhere in the page.
    const log = page.getByRole("log", { name: "Conversation" });
    await log.getByText("Paragraph 59.").waitFor();
    await log.hover();
    await page.mouse.wheel(0, -100_000);
    await log.getByText("Paragraph 0.").waitFor();
    await page.getByRole("button", { name: "Newest" }).waitFor();
    await page.getByLabel("Message", { exact: true }).fill("and now?");
    await page.keyboard.press("Control+Enter");
    await log.getByText("the newest answer").waitFor();
    await until(
      async () => await page.getByRole("button", { name: "Newest" }).count() === 0,
      "the end of the conversation",
    );
  },
});
