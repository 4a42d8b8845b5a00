/** What can be done with messages of a conversation, and how calls that read are told. */
import { assertEquals } from "@std/assert";
import type { Answer } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "runs of calls that read are one line, which opens; searching opens it, too",
  ignore: no_browser,
  async fn() {
    const read = (id: string, path: string) => ({ id, name: "read_file", args: { path } });
    await using it = await Scenario.begin([
      {
        calls: [read("a", "a.txt"), read("b", "none.txt"), {
          id: "g",
          name: "grep",
          args: { pattern: "needle" },
        }],
      },
      { text: "Found." },
      { text: "Again." },
    ]);
    Deno.writeTextFileSync(`${it.workdir}/a.txt`, "the needle\n");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.turn("look");
    const line = page.getByRole("button", { name: /^Read 2 files, searched once\s*1 failed$/ });
    await line.waitFor();
    assertEquals(await page.getByRole("button", { name: /^read_file/ }).count(), 0);
    await line.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^read_file a\.txt/ }).waitFor();
    await app.accessible("a run of calls");
    await it.turn("once more");
    await page.getByRole("log").getByText("Again.").waitFor();
    await page.getByRole("button", { name: /^read_file a\.txt/ }).waitFor();
    await line.click();
    await page.getByRole("button", { name: /^read_file/ }).first().waitFor({ state: "detached" });
    await page.keyboard.press("Control+f");
    await page.getByLabel("Search the conversation").last().fill("none.txt");
    await page.locator(".search-count").getByText("1", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^read_file none\.txt/ }).waitFor();
    app.clean("runs of calls");
  },
});

Deno.test({
  name: "a message is edited and sent again, an answer copied, a failed turn tried again",
  ignore: no_browser,
  async fn() {
    const answers: Answer[] = [
      { text: "One **answer**." },
      { text: "Another." },
      { status: { code: 400, message: "no such thing" } },
      { text: "At last." },
    ];
    // In this order, whatever the conversation went back to.
    await using it = await Scenario.begin(() => answers.shift()!);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log", { name: "Conversation" });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await it.turn("first");
    await log.getByText("One answer.").hover();
    await page.getByRole("button", { name: "Copy this text" }).click();
    assertEquals(await page.evaluate("navigator.clipboard.readText()"), "One **answer**.");

    await log.getByText("first", { exact: true }).hover();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Edit this message?" });
    await app.accessible("editing a message");
    await dialog.getByRole("button", { name: "Edit", exact: true }).click();
    const box = page.getByLabel("Message", { exact: true });
    await until(async () => await box.inputValue() === "first", "the text in the composer");
    await dialog.waitFor({ state: "detached" });
    await log.getByText("One answer.").waitFor({ state: "detached" });
    await app.focused("#message");
    await page.keyboard.type(" and more");
    assertEquals(await box.inputValue(), "first and more");
    await page.keyboard.press("Enter");
    await log.getByText("Another.").waitFor();
    assertEquals(await log.getByText("One answer.").count(), 0);
    const { messages } = await it.call("session.transcript");
    assertEquals(messages[0].text, "first and more");

    // What is being written is not lost by an edit, nor is the message.
    await box.fill("half a thought");
    await log.getByText("first and more", { exact: true }).hover();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await dialog.getByRole("button", { name: "Edit", exact: true }).click();
    await log.getByText("Another.").waitFor({ state: "detached" });
    await until(
      async () => await box.inputValue() === "first and more\n\nhalf a thought",
      "both in the composer",
    );
    await log.getByRole("button", { name: "Undo" }).click();
    await log.getByText("Another.").waitFor();

    await box.fill("try this");
    await page.keyboard.press("Enter");
    await log.getByText("no such thing").waitFor();
    await app.accessible("a failed turn");
    await log.getByRole("button", { name: "Retry" }).click();
    await log.getByText("At last.").waitFor();
    // Said once, whatever the model was asked before.
    const asked = (await it.call("session.transcript")).messages
      .filter(({ text }: { text: string }) => text === "try this");
    assertEquals(asked.length, 1);
    assertEquals(await page.getByRole("button", { name: "Retry" }).count(), 0);
    app.clean("messages");
  },
});

Deno.test({
  name:
    "a message cannot be edited while the agent works; the dialog says so, and can be sent then",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "One." }, {
      text: ["Two", "."],
      hang_after: 1,
    }]);
    await it.turn("first");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await it.send("second");
    await page.getByText("Two", { exact: true }).waitFor();
    const first = page.locator(".asked-row").first();
    await first.hover();
    await first.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit this message?" });
    await dialog.getByText("Stop the turn first, or wait for its end.").waitFor();
    await dialog.locator('button[type=submit][aria-disabled="true"]').waitFor();
    await app.accessible("a message that cannot be edited yet");
    // Pressed all the same, it does nothing.
    await dialog.getByRole("button", { name: "Edit", exact: true }).click({ force: true });
    await dialog.getByLabel("What goes back").press("Enter");
    assertEquals(await dialog.getByRole("alert").count(), 0);
    await it.call("session.cancel");
    await dialog.locator("button[type=submit]:not([aria-disabled])").waitFor();
    await dialog.getByRole("button", { name: "Edit", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    assertEquals(await page.getByLabel("Message", { exact: true }).inputValue(), "first");
    app.clean("editing while the agent works");
  },
});

Deno.test({
  name: "text is selected over many screens, and copied whole",
  ignore: no_browser,
  async fn() {
    const lines = Array.from({ length: 300 }, (_, n) => `Paragraph ${n}.`);
    await using it = await Scenario.begin([{ text: lines.join("\n\n") }]);
    await it.turn("say it");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log", { name: "Conversation" });
    const last = log.getByText("Paragraph 299.");
    await last.waitFor();
    const { x, y, width, height } = (await last.boundingBox())!;
    await page.mouse.move(x + width - 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y - height, { steps: 4 });
    const top = log.getByText("Paragraph 0.", { exact: true });
    await until(async () => {
      await page.mouse.wheel(0, -2_000);
      return await top.isVisible();
    }, "the beginning");
    const place = (await top.boundingBox())!;
    await page.mouse.move(place.x + 1, place.y + place.height / 2, { steps: 4 });
    await page.mouse.up();
    const selected: string = await page.evaluate("String(getSelection())");
    assertEquals(lines.filter((line) => !selected.includes(line)), []);
    // Without a selection, only what is near is drawn again.
    await page.evaluate("getSelection().empty()");
    await page.mouse.wheel(0, 600);
    await until(async () => await log.locator(".row").count() < 100, "fewer rows");
    app.clean("a long selection");
  },
});

Deno.test({
  name: "Ctrl+A in a conversation and Ctrl+C copy all of it in its order, and no more of the page",
  ignore: no_browser,
  async fn() {
    const lines = Array.from({ length: 3_000 }, (_, n) => `Paragraph ${n}.`);
    await using it = await Scenario.begin([{ text: lines.join("\n\n") }, { text: "Last words." }]);
    await it.turn("say it");
    await it.turn("and now");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log", { name: "Conversation" });
    await log.getByText("Last words.").waitFor();
    const copied = async () => {
      await page.evaluate(`void (globalThis.copied = new Promise((resolve) =>
        addEventListener("copy", (event) =>
          resolve([event.defaultPrevented, event.clipboardData.getData("text/plain")]),
          { once: true })))`);
      await page.keyboard.press("Control+c");
      return await page.evaluate("copied") as [boolean, string];
    };
    await log.focus();
    await page.keyboard.press("Control+a");
    const [whole, text] = await copied();
    assertEquals(whole, true);
    assertEquals(text.split("\n\n").filter((it) => lines.includes(it)), lines);
    const order = ["say it", "Paragraph 0.", "Paragraph 2999.", "and now", "Last words."];
    const places = order.map((it) => text.indexOf(it));
    assertEquals(places.includes(-1), false);
    assertEquals(places, places.toSorted((a, b) => a - b));
    // Also from a button in it, and by the key of its place where keys have no Latin letters.
    await page.evaluate("getSelection().removeAllRanges()");
    await log.getByRole("button").last().focus();
    await page.keyboard.press("Control+a");
    assertEquals((await copied())[1].length, text.length);
    const press = (init: string) =>
      page.evaluate(`(getSelection().removeAllRanges(), document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", { ctrlKey: true, bubbles: true, cancelable: true, ${init} })))`);
    // Another key is the browser's.
    assertEquals(await press(`key: "A", code: "KeyA", shiftKey: true`), true);
    assertEquals(await press(`key: "ф", code: "KeyA"`), false);
    assertEquals((await copied())[1].length, text.length);
    // It stays while one reads on, and only near rows are drawn.
    await page.mouse.move(600, 400);
    await page.mouse.wheel(0, -5_000);
    await log.getByText("Last words.").waitFor({ state: "detached" });
    assertEquals((await copied())[1].length, text.length);
    assertEquals(await log.locator(".row").count() < 200, true);
    // Another selection is copied as it is.
    await log.locator(".row p").first().dblclick();
    assertEquals((await copied())[0], false);
    app.clean("all of a conversation");
  },
});
