/** Messages sent while a turn runs: steered, queued, changed from one to the other, taken back. */
import { assertEquals } from "@std/assert";
import { tinyPng } from "../support/media.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();
/** A command that does not end by itself. */
const WAITS = { name: "run_command", args: { command: "sleep 600" } };

Deno.test({
  name: "Enter steers, Alt+Enter and the menu queue; two tabs agree, also after SIGKILL",
  ignore: no_browser,
  async fn() {
    const { promise: go_on, resolve } = Promise.withResolvers<void>();
    await using it = await Scenario.begin([
      { calls: [WAITS] },
      // What a crash has cut off is not run again: the turn goes on with its next answer.
      { text: ["Do", "ne."], hang_after: 1, go_on },
      { text: "First answer." },
      { text: "Second answer." },
    ], { toml: '[agent]\ncontinue = "always"\n' });
    await using browser = await shared.profile();
    const path = `/sessions/${it.session_id}`;
    const app = await AppPage.open(browser, it.daemon, path);
    const other = await AppPage.open(browser, it.daemon, path);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    const listOf = (of: AppPage) => of.page.getByRole("region", { name: "Queued messages" });
    const textsOf = (of: AppPage) => listOf(of).locator(".queued-text").allTextContents();
    const agree = (texts: string[]) =>
      until(async () => {
        const both = [await textsOf(app), await textsOf(other)];
        return both.every((it) => JSON.stringify(it) === JSON.stringify(texts));
      }, `both list ${texts}`);
    await page.getByRole("button", { name: "Send", exact: true }).waitFor();
    await it.send("begin");
    await it.event("session.tool_started");
    await page.getByRole("button", { name: "Steer", exact: true }).waitFor();
    await box.fill("queued by key");
    await box.press("Alt+Enter");
    await agree(["queued by key"]);
    assertEquals(await box.inputValue(), "");
    await box.fill("queued by menu");
    await page.getByRole("button", { name: "Steer or queue" }).click();
    await page.getByRole("menuitem", { name: "Queue for after this turn" }).click();
    await box.fill("/queue by command");
    await box.press("Enter");
    await agree(["queued by key", "queued by menu", "by command"]);
    const log = page.getByRole("log", { name: "Conversation" });
    assertEquals(await log.getByText("queued by key").count(), 0);
    await app.accessible("queued messages");

    // From one to the other, and back.
    await box.fill("changes");
    await box.press("Enter");
    const waiting = log.locator(".asked-row", { hasText: "changes" });
    await waiting.getByText("Steers").waitFor();
    await waiting.hover();
    await waiting.getByRole("button", { name: "Queue", exact: true }).click();
    await agree(["queued by key", "queued by menu", "by command", "changes"]);
    const item = (of: AppPage, text: string) =>
      listOf(of).getByRole("listitem").filter({ hasText: text });
    await item(other, "changes").getByRole("button", { name: "Steer" }).click();
    await waiting.getByText("Steers").waitFor();
    await item(app, "by command").getByRole("button", { name: "Take back" }).click();
    await app.focused("#message");
    await until(async () => await box.inputValue() === "by command", "the text in the box");
    await agree(["queued by key", "queued by menu"]);

    await page.reload();
    await agree(["queued by key", "queued by menu"]);
    app.clean("queued messages");
    await it.restart();
    await app.connected();
    await other.connected();
    await agree(["queued by key", "queued by menu"]);
    resolve();
    await log.getByText("Second answer.").waitFor();
    await agree([]);
    const texts = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(texts, ["begin", "changes", "queued by key", "queued by menu"]);
  },
});

Deno.test({
  name: "after a turn that failed the queue waits for the person, and fits a phone",
  ignore: no_browser,
  async fn() {
    const { promise: go_on, resolve } = Promise.withResolvers<void>();
    const answers = [
      { text: ["Half ", "said"], hang_after: 1, go_on },
      { status: { code: 400, message: "no such thing" } },
      { text: "At last." },
    ];
    await using it = await Scenario.begin(() => answers.shift()!);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.send("begin");
    await it.event("session.delta");
    for (const text of ["this fails", "this waits"]) {
      await it.call("session.send", { text, delivery: "queue" });
    }
    resolve();
    const list = page.getByRole("region", { name: "Queued messages" });
    await list.getByText("These wait until you send one").waitFor();
    assertEquals(await list.locator(".queued-text").allTextContents(), ["this waits"]);
    await app.accessibleEverywhere("a queue that is held");
    await page.setViewportSize({ width: 390, height: 800 });
    const small = await list.getByRole("button").evaluateAll((all) =>
      all.filter((it) => it.getBoundingClientRect().height < 44).length
    );
    assertEquals(small, 0);
    assertEquals(
      await page.evaluate("document.documentElement.scrollWidth - innerWidth"),
      0,
    );
    await list.getByRole("button", { name: "Send now" }).click();
    await page.getByRole("log").getByText("At last.").waitFor();
    await list.waitFor({ state: "detached" });
    app.clean("a queue that is held");
  },
});

Deno.test({
  name: "in a paused session the queue is seen, and a message is taken back",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ calls: [WAITS] }, { text: "Done." }]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.send("begin");
    await it.event("session.tool_started");
    await it.call("session.send", { text: "first", delivery: "queue" });
    await it.call("session.send", {
      text: "second",
      delivery: "queue",
      attachments: [{ name: "dot.png", data: tinyPng().toBase64() }],
    });
    await it.call("session.pause", {});
    const list = page.getByRole("region", { name: "Queued messages" });
    await page.getByText("This session is paused.").waitFor();
    assertEquals(await list.locator(".queued-text").allTextContents(), ["first", "seconddot.png"]);
    assertEquals(await list.getByRole("button", { name: /Steer|Send now/ }).count(), 0);
    await app.accessible("the queue of a paused session");
    await list.getByRole("button", { name: "Take back" }).first().click();
    await until(
      async () => await list.locator(".queued-text").count() === 1,
      "one message left",
    );
    await app.focusKept();
    await it.call("session.resume", {});
    const box = page.getByLabel("Message", { exact: true });
    await until(async () => await box.inputValue() === "first", "the text in the box");
    await it.call("session.kill", {});
    await list.getByText("The session ended before the model read these.").waitFor();
    await page.getByText("This session has ended.").waitFor();
    await list.getByText("dot.png").waitFor();
    assertEquals(await list.getByRole("button").allInnerTexts(), ["Copy"]);
    await app.accessible("the queue of an ended session");
    app.clean("the queue of a paused session");
  },
});
