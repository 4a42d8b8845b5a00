/** The composer: its menus, its chips, the keys that stop, and what can be put into it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "@ offers files and / offers commands and skills, by keyboard and by mouse",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Read." }));
    const write = (path: string, text: string) => {
      Deno.mkdirSync(join(it.workdir, path, ".."), { recursive: true });
      Deno.writeTextFileSync(join(it.workdir, path), text);
    };
    write("src/main.ts", "");
    write("src/domain.ts", "");
    write("notes/a plan.md", "");
    write("dist/main.js", "");
    write(".gitignore", "dist/\n");
    write(".claude/commands/review.md", "---\ndescription: Reviews a file\n---\nReview $1 now.\n");
    write(".claude/skills/tides/SKILL.md", "---\nname: tides\ndescription: Knows tides\n---\nx\n");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    const option = (name: RegExp | string) =>
      page.locator(".options").getByRole("option", { name });

    // Enter takes the best file, and the next one sends.
    await box.pressSequentially("see @main");
    await option("src/main.ts").waitFor();
    assertEquals(await option(/main\.js/).count(), 0);
    await app.accessible("the menu of files");
    const active = await box.getAttribute("aria-activedescendant");
    assertEquals(await page.locator(`#${active}`).textContent(), "src/main.ts");
    await page.keyboard.press("Enter");
    assertEquals(await box.inputValue(), "see @src/main.ts ");
    // A directory goes on; a path with blanks is quoted.
    await box.pressSequentially("and @notes");
    await option(/^notes\/$/).waitFor();
    await page.keyboard.press("Tab");
    await option("notes/a plan.md").waitFor();
    await option("notes/a plan.md").click();
    assertEquals(await box.inputValue(), 'see @src/main.ts and @"notes/a plan.md" ');
    await app.focused("#message");
    // An address of mail is no file, and Escape leaves the text alone.
    await box.pressSequentially("me@src");
    await page.waitForTimeout(300);
    assertEquals(await page.locator(".options").count(), 0);
    await box.fill("");
    await box.pressSequentially("@dom");
    await option("src/domain.ts").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".options").waitFor({ state: "detached" });
    assertEquals(await box.inputValue(), "@dom");
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("Read.").waitFor();

    await box.pressSequentially("/");
    await option(/^\/help/).waitFor();
    await app.accessible("the menu of commands");
    await box.pressSequentially("rev");
    await option(/^\/review.*Reviews a file/).waitFor();
    await page.keyboard.press("Enter");
    assertEquals(await box.inputValue(), "/review");
    // What is there in full is sent.
    await box.pressSequentially(" src/main.ts");
    await page.keyboard.press("Enter");
    await until(() => it.server.requests.length === 2, "the command");
    assertStringIncludes(JSON.stringify(it.server.requests[1].body), "Review src/main.ts now.");
    await box.fill("");
    await box.pressSequentially("/tid");
    await option(/tides.*Knows tides/).waitFor();
    await page.keyboard.press("Enter");
    assertEquals(await box.inputValue(), "Use the skill tides: ");
    await box.fill("");
    await box.pressSequentially("/hel");
    await option(/^\/help/).waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await page.locator(".composer-said").getByText("cancel the turn").waitFor();
    // With a backslash it is a message.
    await box.fill("\\/help me");
    await page.keyboard.press("Enter");
    await until(() => it.server.requests.length === 3, "the message");
    assertStringIncludes(JSON.stringify(it.server.requests[2].body), '"/help me"');
    app.clean("menus of the composer");
  },
});

Deno.test({
  name: "Escape twice stops the turn, once does nothing, and the line above says what is done",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [{ id: "c1", name: "run_command", args: { command: "sleep 60" } }] },
      { text: "never" },
    ]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    await box.fill("wait");
    const top = "document.querySelector('.composer').getBoundingClientRect().top";
    const before = await page.evaluate(top);
    await page.keyboard.press("Enter");
    const line = page.locator(".working-line");
    await line.getByText("Running sleep 60").waitFor();
    await line.getByText(/\d s/).waitFor();
    // The line has its room before.
    assertEquals(await page.evaluate(top), before);
    await box.fill("half a thought");
    await page.keyboard.press("Escape");
    await line.getByText("Esc again stops").waitFor();
    await app.accessible("a turn that is about to be stopped");
    await line.getByText("Esc again stops").waitFor({ state: "detached" });
    assertEquals((await it.call("session.get")).activity, "working");

    // What is in the way is the turn, not what somebody else changed.
    await page.getByRole("log").getByText("wait", { exact: true }).hover();
    await page.getByRole("button", { name: "Go back" }).click();
    const dialog = page.getByRole("dialog", { name: "Go back to before this message?" });
    const reason = dialog.getByText("Stop the turn first, or wait for its end.");
    await reason.waitFor();
    assertEquals(await dialog.getByLabel("What somebody else changed since").count(), 0);
    // An Escape for a dialog is none for the turn, wherever the focus is.
    await reason.click();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assertEquals(await line.getByText("Esc again stops").count(), 0);
    assertEquals((await it.call("session.get")).activity, "working");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.getByRole("log").getByText("Cancelled", { exact: true }).waitFor();
    assertEquals(await box.inputValue(), "half a thought");
    app.clean("stopping by keys");
  },
});

Deno.test({
  name: "files are dropped anywhere: text becomes a part of the message, other kinds are refused",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    await box.fill("why?");
    const drag = (type: string, name: string, content: string, after = "") =>
      page.evaluate(`{
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([${content}], "${name}", { type: "text/plain" }));
        if ("${after}" !== "") dataTransfer.items.add(new File(["later"], "${after}"));
        const event = new DragEvent("${type}", { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector("[role=log]").dispatchEvent(event);
      }`);
    await drag("dragover", "error.log", `"x"`);
    await page.getByText("Drop images, PDF or text files here").waitFor();
    await app.accessible("a file above the page");
    await drag("drop", "error.log", JSON.stringify("boom ```\n"));
    await until(async () => (await box.inputValue()).includes("boom"), "the text of the file");
    assertEquals(await box.inputValue(), "why?\n\nerror.log:\n````\nboom ```\n````\n");
    assertEquals(await page.locator(".drop-target").count(), 0);
    await drag("drop", "a.zip", "new Uint8Array([80, 75, 3, 4, 0, 255])", "b.log");
    await page.getByRole("alert").getByText("a.zip: only PNG").waitFor();
    // What comes after it is there.
    assertStringIncludes(await box.inputValue(), "b.log:\n```\nlater\n```");
    app.clean("dropped files");
  },
});

Deno.test({
  name: "on a phone the header has 56 px, targets 44 px, nothing scrolls sideways",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "x".repeat(300) }], {
      start: { title: "A title that is longer than a phone is wide, and then some" },
    });
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 640 });
      await page.getByLabel("Message", { exact: true }).waitFor();
      const found = await page.evaluate(`({
        head: document.querySelector(".page-head").offsetHeight,
        wide: document.documentElement.scrollWidth,
        text: getComputedStyle(document.querySelector("#message")).fontSize,
        small: [...document.querySelectorAll(".page-head button, .composer-foot :is(button, select)")]
          .filter((it) => it.checkVisibility() && it.offsetHeight < 44).map((it) => it.outerHTML),
      })`);
      assertEquals(found, { head: 56, wide: width, text: "16px", small: [] });
      await page.getByRole("button", { name: "More" }).click();
      await page.getByRole("button", { name: "Kill", exact: true }).waitFor();
      const box = (await page.locator(".popover:popover-open").boundingBox())!;
      assertEquals([box.x >= 0, box.x + box.width <= width], [true, true]);
      await page.keyboard.press("Escape");
      assertEquals(await page.locator(".page-actions > .button:visible").count(), 1);
      await page.getByRole("button", { name: "More" }).click();
      await page.getByRole("button", { name: "Search the conversation" }).click();
      await app.focused("search input");
      await page.keyboard.press("Escape");
      for (const name of ["Changes", "Files", "Lanes"] as const) {
        await app.openPanel(name);
        await page.getByRole("heading", { name, exact: true }).waitFor();
        assertEquals(await page.evaluate("document.querySelector('.page-head').offsetHeight"), 56);
        if (name === "Lanes") {
          await app.openPanel(name);
          continue;
        }
        await app.focused(".side-box h2");
        await page.keyboard.press("Escape");
        await page.locator(".side-box").waitFor({ state: "detached" });
      }
    }
    for (const width of [1024, 768]) {
      await page.setViewportSize({ width, height: 900 });
      const over = `document.querySelector(".page-head .facts").getBoundingClientRect().right >
        document.querySelector(".page-actions").getBoundingClientRect().left ||
        [...document.querySelectorAll(".page-head .facts > *")].some((it) =>
          it.getBoundingClientRect().right >
            document.querySelector(".page-actions").getBoundingClientRect().left)`;
      assertEquals([width, await page.evaluate(over)], [width, false]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    const lines = `new Set([...document.querySelectorAll(".page-head .facts > *")]
      .map((it) => Math.round(it.getBoundingClientRect().top / 8))).size`;
    assertEquals(await page.evaluate(lines), 1);
    app.clean("a phone");
  },
});

Deno.test({
  name: "a message that begins with ! runs as the person's own command",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Read." }], { start: { approval: "ask" } });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    await box.fill("!echo 'by hand' | tr a-z A-Z");
    await page.keyboard.press("Enter");
    const { data } = await it.event("session.tool_completed");
    assertEquals([data.ok, data.output.trim()], [true, "BY HAND"]);
    await page.getByRole("log").getByText("BY HAND").first().waitFor();
    assertEquals(await box.inputValue(), "");
    await it.event("turn.completed");
    // With a blank before it, it is a message.
    await box.fill(" !no command");
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("Read.").waitFor();
    assertEquals(it.client.of("session.tool_started").length, 1);
  },
});
