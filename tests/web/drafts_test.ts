/** What somebody writes is not lost, and what comes of it is seen. */
import { assertEquals } from "@std/assert";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "a draft outlives its tab, and goes when it is sent or its session ends",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "heard" }]);
    await using browser = await shared.profile();
    const path = `/sessions/${it.session_id}`;
    const box = (app: AppPage) => app.page.getByLabel("Message", { exact: true });
    const first = await AppPage.open(browser, it.daemon, path);
    await box(first).fill("half a thought");
    await first.page.close();
    const second = await AppPage.open(browser, it.daemon, path);
    assertEquals(await box(second).inputValue(), "half a thought");
    await second.page.keyboard.press("Escape");
    assertEquals(await box(second).inputValue(), "half a thought");
    await second.page.getByRole("button", { name: "Send" }).click();
    await second.page.getByRole("log").getByText("heard").waitFor();
    const kept = () =>
      second.page.evaluate("Object.keys(localStorage).filter((it) => it.startsWith('svc.draft'))");
    assertEquals(await kept(), []);
    await box(second).fill("never sent");
    assertEquals((await kept() as string[]).length, 1);
    await it.call("session.kill");
    await second.page.getByText("This session has ended.").waitFor();
    await until(async () => (await kept() as string[]).length === 0, "the draft's end");
    second.clean("drafts");
  },
});

Deno.test({
  name: "Escape and a click beside a form ask before what was written is discarded",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/missions");
    const { page } = app;
    const form = page.getByRole("dialog", { name: "New mission" });
    const ask = page.getByRole("dialog", { name: "Discard what you wrote?" });
    const open = async () => {
      await page.getByRole("button", { name: "New mission" }).first().click();
      await form.waitFor();
    };
    // Nothing was written: nothing is asked.
    await open();
    await page.keyboard.press("Escape");
    await form.waitFor({ state: "detached" });

    await open();
    const message = form.getByLabel("Statement of work");
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
    await form.getByLabel("Directory", { exact: true }).fill("/nowhere/at/all");
    await form.getByRole("button", { name: "Start mission" }).click();
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
