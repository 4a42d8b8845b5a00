/** What is typed with a slash in the web app: commands are carried out, none is sent to the model. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
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
    await said.getByText("Ctrl+/").waitFor();
    await app.accessible("commands");
    // Beside each other, or where there is no room below each other; nothing goes sideways.
    const columns = said.locator("span:has(> span)", { hasText: "/cancel" });
    const place = async (width: number) => {
      await page.setViewportSize({ width, height: 844 });
      const [all, what] = [
        await columns.boundingBox(),
        await columns.locator("span").boundingBox(),
      ];
      const { scrollWidth, clientWidth } = await said.evaluate((
        { scrollWidth, clientWidth }: { scrollWidth: number; clientWidth: number },
      ) => ({ scrollWidth, clientWidth }));
      assertEquals(scrollWidth, clientWidth);
      return { x: what!.x - all!.x, y: what!.y - all!.y, height: all!.height };
    };
    const wide = await place(1440);
    assertEquals([wide.x > 150, wide.y < 4, wide.height < 30], [true, true, true], "wide");
    const narrow = await place(390);
    assertEquals([narrow.x < 60, narrow.y > 12, narrow.height < 60], [true, true, true], "narrow");
    await app.accessible("commands on a phone");
    await page.setViewportSize({ width: 1440, height: 900 });
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
  name: "commands of terminals say what to do instead, and a fork is gone to",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }));
    await it.turn("begin");
    const asked = it.server.requests.length;
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const said = page.locator(".composer-said");
    const type = async (text: string) => {
      await page.getByLabel("Message", { exact: true }).fill(text);
      await page.getByRole("button", { name: "Send", exact: true }).click();
    };
    for (
      const [line, name, begin] of [["/export html talk.html", "talk.html", "<!doctype"], [
        "/export json",
        `${it.session_id}.json`,
        "{",
      ]]
    ) {
      const file = page.waitForEvent("download");
      await type(line);
      const saved = await file;
      assertEquals(saved.suggestedFilename(), name);
      const text = Deno.readTextFileSync((await saved.path())!);
      assertEquals(text.slice(0, begin.length).toLowerCase(), begin);
      assert(text.includes("begin"), text);
    }
    await type("/theme dark");
    await said.getByText("chosen in the settings").waitFor();
    // An answer is there until it is hidden, also after a reload.
    await page.reload();
    await said.getByText("chosen in the settings").waitFor();
    await app.accessible("an answer");
    await page.keyboard.press("Escape");
    assertEquals(await said.count(), 1, "the focus is elsewhere");
    await page.getByLabel("Message", { exact: true }).press("Escape");
    await said.waitFor({ state: "detached" });
    await type("/vi");
    await page.getByRole("button", { name: "Hide answer" }).click();
    await said.waitFor({ state: "detached" });
    await app.focused("#message");
    await type("/fork The other way");
    await page.getByRole("heading", { level: 1, name: "The other way" }).waitFor();

    assertEquals(it.server.requests.length, asked);
    app.clean("commands");
  },
});

Deno.test({
  name: "a command where no session has begun is answered there, and leaves none in the list",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }), { start: { title: "Mine" } });
    const ids = async () => {
      const { sessions } = await it.client.rpc.call("session.list", { include_ended: true });
      return sessions.map(({ id }: { id: string }) => id);
    };
    await using browser = await shared.profile();
    const sent: string[] = [];
    browser.context.on("page", (page) => {
      page.on("websocket", (socket) => {
        socket.on("framesent", ({ payload }) => void sent.push(String(payload)));
      });
    });
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const box = page.getByLabel("New session", { exact: true });
    const said = page.locator(".composer-said");
    const type = async (text: string) => {
      await box.fill(text);
      await box.press("Enter");
    };
    for (
      const [line, answer] of [
        ["/help", "!COMMAND"],
        ["/cost", "$0.0000 so far"],
        ["/theme dark", "chosen in the settings"],
        ["/undo", "/undo is for a session"],
        ["/model", "/model NAME changes it"],
      ]
    ) {
      await type(line);
      await said.getByText(answer).waitFor();
      assertEquals(await box.inputValue(), "");
      await app.focused("#new-session");
    }
    // The directory's own commands are listed; one that there is not begins no session.
    const commands = join(it.workdir, ".agents", "commands");
    Deno.mkdirSync(commands, { recursive: true });
    Deno.writeTextFileSync(join(commands, "tidy.md"), "Tidy up.");
    await type("/help");
    await said.getByText("/compact").waitFor();
    await said.getByText("/tidy  Tidy up.").waitFor();
    await app.accessible("an answer where no session has begun");
    await type("/tiddy now");
    await page.getByRole("alert").getByText("did you mean /tidy?").waitFor();
    assertEquals(await box.inputValue(), "/tiddy now");
    assertEquals(sent.filter((it) => it.includes('"session.start"')), []);
    await page.getByRole("button", { name: "Dismiss" }).first().click();
    // What a person chooses by a line is what the controls below have.
    await type(`/model ${it.model}`);
    await page.getByRole("button", { name: `Model: ${it.model}` }).waitFor();
    await type("/approval read_only");
    await until(
      async () => await page.getByLabel("Approvals").inputValue() === "read_only",
      "the mode is chosen",
    );
    for (const [line, answer] of [["/model none", "no model none"], ["/approval x", "ask, "]]) {
      await type(line);
      await page.getByRole("alert").getByText(answer).waitFor();
      assertEquals(await box.inputValue(), line);
      await page.getByRole("button", { name: "Dismiss" }).first().click();
    }
    await box.fill("/cost");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await said.getByText("so far").waitFor();
    await app.focused("#new-session");
    assertEquals(await ids(), [it.session_id]);
    assertEquals(new URL(page.url()).pathname, "/");

    // A line that sets something begins the session that has it, as chosen before.
    app.clean("answers where no session has begun");
    await it.restart();
    await app.connected();
    // While there was no daemon, the page could not reach one.
    app.problems.length = 0;
    await type("/effort high");
    await page.waitForURL(/\/sessions\//);
    const session_id = page.url().split("/").at(-1);
    const session = await it.client.rpc.call("session.get", { session_id });
    assertEquals(
      [session.effort, session.model, session.approval],
      ["high", it.model, "read_only"],
    );
    assertEquals((await ids()).length, 2);
    assertEquals(it.server.requests.length, 0);
    app.clean("first commands");
  },
});
