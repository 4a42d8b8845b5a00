/** What is typed with a slash in the web app: commands are carried out, none is sent to the model. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { chatCommands } from "../../src/features/chat_commands/command_help.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "commands: settings, help, compaction and unknown words; a path is a message",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }));
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const input = page.getByLabel("Message", { exact: true });
    const said = page.locator(".composer-said");
    const type = async (text: string) => {
      await input.fill(text);
      await page.getByRole("button", { name: "Send", exact: true }).click();
    };
    await type("/model");
    await said.getByText(`model: ${it.model}`).waitFor();
    await type("/approval read_only");
    await until(async () => (await it.call("session.get")).approval === "read_only", "it is set");
    await type("/compact");
    await said.getByText("nothing worth leaving out").waitFor();
    await type("/help");
    await said.getByText("/undo [files|conversation|both] [preview] [keep|force [FILE]]").waitFor();
    await app.accessible("commands");
    for (const word of ["/clear", "/foo bar"]) {
      await type(word);
      await page.getByText(`unknown command ${word.split(" ")[0]}`).first().waitFor();
      // What was typed is still there.
      assertEquals(await input.inputValue(), word);
    }
    assertEquals(it.server.requests.length, 0);
    // The control: other text is sent.
    await type("/etc/hosts is what?");
    await page.getByText("Yes.").first().waitFor();
    assertEquals(it.server.requests.length, 1);
    assertStringIncludes(JSON.stringify(it.server.requests[0].body), "/etc/hosts is what?");
  },
});

Deno.test({
  name: "a command of the person's can be the first line of a session, and is no message",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }));
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const box = page.getByLabel("New session", { exact: true });
    await box.fill("!echo from the $((40 + 2))");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL(/\/sessions\//);
    await page.getByRole("group", { name: /^Output of/ }).getByText("from the 42").waitFor();
    assertEquals(it.server.requests.length, 0);
    app.clean("a first command");
  },
});

Deno.test({
  name: "each command of the terminal works in the page, or says what to do instead",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }), { start: { title: "Here" } });
    await it.turn("begin");
    const asked = it.server.requests.length;
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const input = page.getByLabel("Message", { exact: true });
    // What ends or stops the session is another test's.
    const others = ["!COMMAND", "/kill", "/pause", "/archive", "/fork", "/compact"];
    // These say nothing by themselves, or refuse: there is nothing to do.
    const silent = [
      "/cancel",
      "/continue",
      "/pin",
      "/unpin",
      "/undo",
      "/rewind",
      "/redo",
      "/resume",
    ];
    const names = chatCommands(true).map(({ name }) => name);
    for (const name of names.filter((it) => !others.includes(it))) {
      await input.fill(name);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Send", exact: true }).click();
      if (silent.includes(name)) {
        await until(
          async () =>
            await input.inputValue() === "" ||
            await page.getByRole("alert").filter({ hasText: /\S/ }).count() > 0,
          name,
        );
        await input.fill("");
      } else {
        await until(async () => await input.inputValue() === "", name);
        await page.locator(".composer-said").filter({ hasText: /\S/ }).waitFor();
      }
      assertEquals([name, await page.getByText("unknown command").count()], [name, 0]);
    }
    assertEquals(it.server.requests.length, asked);

    // A fork is where one goes on.
    await input.fill("/fork The other way");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "The other way" }).waitFor();

    // What a first line asks is answered in the session that it began.
    await app.go("/");
    await page.getByLabel("New session", { exact: true }).fill("/cost");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator(".composer-said").getByText("so far").waitFor();
    assertEquals(it.server.requests.length, asked);
  },
});
