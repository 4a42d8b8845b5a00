/** A session's settings are changed where messages are written, and the key that sends is chosen. */
import { assertEquals } from "@std/assert";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "settings of a session are changed in a dialog, and the verbs show the same",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "first" }, { text: "second" }]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const settings = {
      async click() {
        await page.getByRole("button", { name: "More" }).click();
        await page.getByRole("button", { name: "Session settings" }).click();
      },
    };
    const dialog = page.getByRole("dialog", { name: "Session settings" });
    const get = () => it.call("session.get");
    const before = await get();

    // Saved as it was, nothing is recorded.
    await settings.click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    assertEquals((await get()).last_seq, before.last_seq);

    await settings.click();
    await dialog.getByLabel("Title").waitFor();
    await app.accessible("session settings");
    await dialog.getByLabel("Title").fill("<b>Basket</b>");
    await dialog.getByLabel("Budget in USD").fill("2.5");
    await dialog.getByLabel("Commands reach").selectOption("allowed");
    const more = Deno.realPathSync(it.place.mkdir("more"));
    await dialog.getByLabel("Added directories").fill(`${more}:ro\n`);
    const border = `getComputedStyle(document.querySelector("dialog textarea")).borderTopStyle`;
    assertEquals(await page.evaluate(border), "solid");
    await dialog.getByLabel("Pin to the top of lists").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await app.focusKept();
    await page.getByRole("heading", { level: 1, name: "<b>Basket</b>" }).waitFor();
    const mode = page.getByRole("combobox", { name: "Approvals" });
    await mode.selectOption("read_only");
    await page.getByRole("combobox", { name: "Thinking" }).selectOption("high");
    await until(async () => (await get()).effort === "high", "the effort");
    const { title, effort, budget_usd, approval, pinned, model, network, added_dirs } = await get();
    assertEquals(
      { title, effort, budget_usd, approval, pinned, model, network, added_dirs },
      {
        title: "<b>Basket</b>",
        effort: "high",
        budget_usd: 2.5,
        approval: "read_only",
        pinned: true,
        model: before.model,
        network: "allowed",
        added_dirs: [{ path: more, access: "read" }],
      },
    );

    await mode.selectOption("workspace");
    await until(async () => (await get()).approval === "workspace", "the mode");
    await it.call("session.configure", { approval: "ask" });
    await until(async () => await mode.inputValue() === "ask", "the mode of another face");

    // What is refused stays in the form, with the reason.
    await settings.click();
    await dialog.getByLabel("Added directories").fill(`${more}:ro\n/nowhere/at/all`);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("does not exist").waitFor();
    await dialog.getByLabel("Added directories").fill("");
    await dialog.getByLabel("Archive").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });

    // The model is chosen below the message, also one that no provider lists.
    const chip = page.getByRole("button", { name: /^Model: / });
    const choice = page.getByRole("combobox", { name: "Model", exact: true });
    await chip.click();
    await choice.fill("nobody/nothing");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("nobody").waitFor();
    assertEquals((await get()).model, before.model);
    assertEquals(await chip.textContent(), before.model);
    await chip.click();
    await choice.fill("toolb");
    await page.getByRole("option", { name: /toolbelt/ }).waitFor();
    await app.accessible("the choice of a model");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Model: builtin/toolbelt" }).waitFor();
    assertEquals((await get()).model, "builtin/toolbelt");
    await app.focusKept();

    await app.go("/");
    await page.getByText("No sessions yet").waitFor();
    await page.getByLabel("Show archived").check();
    const row = page.getByRole("row").filter({ hasText: "<b>Basket</b>" });
    await row.getByText("Archived").waitFor();
    await row.getByText("Pinned").waitFor();
    await app.accessible("a pinned and archived session");
    app.clean("settings of a session");
  },
});

Deno.test({
  name: "Enter sends, Shift+Enter starts a line, a composition is only ended; that can be changed",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "one" }, { text: "two" }]);
    await using browser = await shared.profile();
    const path = `/sessions/${it.session_id}`;
    const app = await AppPage.open(browser, it.daemon, path);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    const sent = async () =>
      (await it.call("session.transcript")).messages
        .filter(({ role }: { role: string }) => role === "user")
        .map(({ text }: { text: string }) => text);
    await box.fill("");
    await box.press("Enter");
    await box.pressSequentially("a");
    await box.press("Shift+Enter");
    await box.pressSequentially("b");
    // An input method's Enter takes a suggestion.
    await box.dispatchEvent("keydown", { key: "Enter", isComposing: true });
    assertEquals(await box.inputValue(), "a\nb");
    await box.press("Enter");
    await page.getByRole("log").getByText("one").waitFor();
    assertEquals(await sent(), ["a\nb"]);

    const key = page.getByRole("switch", { name: "Enter sends the message" });
    await key.click();
    assertEquals(await key.getAttribute("aria-checked"), "false");
    // Another tab and another day know it.
    await app.go(path);
    await box.pressSequentially("c");
    await box.press("Enter");
    await box.pressSequentially("d");
    assertEquals(await box.inputValue(), "c\nd");
    await box.press("Control+Enter");
    await page.getByRole("log").getByText("two").waitFor();
    await until(async () => (await sent()).length === 2, "the second message");
    assertEquals(await sent(), ["a\nb", "c\nd"]);
    await app.accessible("the composer");
    app.clean("the key that sends");
  },
});
