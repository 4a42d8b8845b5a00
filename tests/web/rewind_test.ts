/** Going back to before a message, undoing that, and forks, in the conversation. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Browser } from "../support/browser.ts";
import { hasProgram } from "../support/programs.ts";
import { Scenario, until } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

Deno.test({
  name: "a message is gone back to, files and all, that is undone, and a fork goes on from there",
  ignore: no_browser || !hasProgram("git"),
  async fn() {
    const write = (content: string) => ({
      calls: [{ name: "write_file", args: { path: "a.txt", content } }],
    });
    await using it = await Scenario.begin([
      write("one\n"),
      { text: "First answer." },
      write("two\n"),
      { text: "Second answer." },
    ]);
    const file = join(it.workdir, "a.txt");
    await it.turn("make it one");
    await it.turn("make it two");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log");
    const box = page.getByLabel("Message", { exact: true });
    const second = log.locator(".asked-row").filter({ hasText: "make it two" });
    const dialog = page.getByRole("dialog", { name: "Go back to before this message?" });
    const goBack = async () => {
      await second.hover();
      await second.getByRole("button", { name: "Go back" }).click();
      await dialog.waitFor();
    };

    await log.getByText("Second answer.").waitFor();
    await goBack();
    await dialog.getByText("1 file back").waitFor();
    await app.accessible("asked whether to go back");
    // What the person changed meanwhile is not overwritten, unless they say so.
    Deno.writeTextFileSync(file, "mine\n");
    await dialog.getByRole("button", { name: "Go back" }).click();
    await dialog.getByRole("alert").waitFor();
    assertEquals(Deno.readTextFileSync(file), "mine\n");
    const others = dialog.getByLabel("What somebody else changed since");
    assertEquals(await others.inputValue(), "keep");
    await dialog.getByText("1 kept because somebody changed it since").waitFor();
    await others.selectOption("overwrite");
    await dialog.getByText("1 file back").waitFor();
    await dialog.getByRole("button", { name: "Go back" }).click();
    await dialog.waitFor({ state: "detached" });
    assertEquals(Deno.readTextFileSync(file), "one\n");
    await second.waitFor({ state: "detached" });
    await log.getByText("First answer.").waitFor();
    assertEquals(await box.inputValue(), "make it two");
    await app.accessible("gone back");

    await log.getByRole("button", { name: "Undo" }).click();
    await log.getByText("Second answer.").waitFor();
    await until(() => Deno.readTextFileSync(file) === "mine\n", "the file");
    assertEquals(await log.getByRole("button", { name: "Undo" }).count(), 0);

    await second.hover();
    await second.getByRole("button", { name: "Fork" }).click();
    await page.waitForURL((url) => !url.href.includes(it.session_id));
    await log.getByText("First answer.").waitFor();
    assertEquals(await log.getByText("Second answer.").count(), 0);
    app.clean("going back and forks");
  },
});
