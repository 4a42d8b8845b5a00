/** What somebody writes is not lost, and what comes of it is seen. */
import { assertEquals } from "@std/assert";
import type { WebSocketRoute } from "playwright-core";
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
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const first = page.getByRole("textbox", { name: "New session" });
    await first.fill("a task");
    await giveFile(first, "paste", "task.png", "image/png", tinyPng().toBase64());
    await page.locator(".attached").getByText("task.png").waitFor();
    await app.go(path);
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
    // Below what was written there.
    assertEquals(await first.inputValue(), "a task\n\nhalf a thought");
    const files = page.getByRole("list", { name: "Attached files" }).locator("li");
    await files.nth(1).waitFor();
    assertEquals(await files.allInnerTexts(), ["task.png", "one.png"]);
    await page.getByRole("button", { name: /^Directory: / }).getByText("project").waitFor();
    app.clean("a session that was deleted elsewhere");
  },
});

Deno.test({
  name: "what was written for a session that ends while the page is not connected is kept in sight",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    let away = false;
    const open = new Set<WebSocketRoute>();
    await browser.context.routeWebSocket(/\/v1\/ws$/, (socket) => {
      if (away) return void socket.close();
      open.add(socket);
      socket.connectToServer();
    });
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.getByLabel("Message", { exact: true }).fill("half a thought");
    await until(async () => (await it.call("draft.get")).text !== "", "the draft in the daemon");
    await app.holds("!localStorage['svc.draft.' + location.pathname.slice(10)]", "only there");
    away = true;
    for (const socket of open) await socket.close();
    await it.call("session.kill");
    await until(async () => (await it.call("draft.get")).text === "", "the draft's end");
    away = false;
    await app.look();
    await page.getByText("This session has ended.").waitFor();
    const left = page.getByLabel("Not sent");
    assertEquals(await left.inputValue(), "half a thought");
    await page.reload();
    assertEquals(await left.inputValue(), "half a thought");
    await page.getByRole("button", { name: "New session with this" }).click();
    const first = page.locator("#new-session:focus");
    await first.waitFor();
    assertEquals(await first.inputValue(), "half a thought");
    await page.goBack();
    await page.getByText("This session has ended.").waitFor();
    assertEquals(await left.count(), 0);
  },
});

Deno.test({
  name:
    "a message with files that is on its way while one looks elsewhere is sent, and that is all",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Seen." }]);
    await using browser = await shared.profile();
    const held = Promise.withResolvers<void>();
    await browser.context.routeWebSocket(/\/v1\/ws$/, (socket) => {
      const daemon = socket.connectToServer();
      socket.onMessage(async (message) => {
        if (JSON.parse(String(message)).method === "session.send") await held.promise;
        daemon.send(message);
      });
    });
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    const files = page.locator(".attached li");
    await box.fill("look at it");
    await giveFile(box, "paste", "one.png", "image/png", tinyPng().toBase64());
    await files.waitFor();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).first().click();
    await page.getByRole("textbox", { name: "New session" }).waitFor();
    await page.goBack();
    // It is not sent yet.
    await files.waitFor();
    held.resolve();
    await page.getByRole("log").getByText("Seen.").waitFor();
    await files.waitFor({ state: "detached" });
    await until(async () => await box.inputValue() === "", "an empty box");
    await until(async () => (await it.call("draft.get")).text === "", "no draft");
    assertEquals((await page.getByRole("alert").allInnerTexts()).join(""), "");
    app.clean("a message on its way");
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
