/** Where a person begins: the box for a new session, and the sessions that there are. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { tinyPng } from "../support/media.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, giveFile, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const BOX = { name: "New session", exact: true };

Deno.test({
  name:
    "a session is started by Enter; what was written and chosen survives a reload and a restart",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "The first answer." }, { text: "The second." }]);
    const other = it.place.mkdir("other");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const box = page.getByRole("textbox", BOX);
    // The directory used last is chosen already.
    await page.getByRole("button", { name: "Directory: project" }).waitFor();
    await box.fill("first line");
    await box.press("Shift+Enter");
    await page.keyboard.type("second line");
    await page.getByRole("button", { name: /^Directory:/ }).click();
    await page.getByRole("combobox", { name: "Directory" }).fill(other.slice(0, -2));
    await page.getByRole("option", { name: "other" }).waitFor();
    await page.keyboard.press("Tab");
    await page.getByRole("option", { name: `other ${other}` }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByRole("combobox", { name: "Model" }).fill(it.model);
    await page.getByRole("option", { name: it.model }).click();
    await page.getByLabel("Approvals").selectOption("auto");

    await it.restart();
    await app.connected();
    await page.reload();
    assertEquals(await box.inputValue(), "first line\nsecond line");
    await page.getByRole("button", { name: "Directory: other" }).waitFor();
    await page.getByRole("button", { name: `Model: ${it.model}` }).waitFor();
    assertEquals(await page.getByLabel("Approvals").inputValue(), "auto");
    await box.press("Enter");
    await page.getByRole("log").getByText("The first answer.").waitFor();
    const id = page.url().split("/").at(-1);
    const { workdir, model, approval } = await it.client.rpc.call("session.get", {
      session_id: id,
    });
    assertEquals([workdir, model, approval], [other, it.model, "auto"]);
    // A second turn in it; then the box is empty, and keeps what was chosen.
    await page.getByLabel("Message", { exact: true }).fill("and now?");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("log").getByText("The second.").waitFor();
    await page.getByRole("button", { name: "New session" }).click();
    await app.focused("#new-session");
    assertEquals(await box.inputValue(), "");
    await page.getByRole("button", { name: "Directory: other" }).waitFor();
  },
});

Deno.test({
  name: "a directory that is gone is named, and what was written stays in the box",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    const gone = it.place.mkdir("gone");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.getByRole("button", { name: /^Directory:/ }).click();
    await page.getByRole("combobox", { name: "Directory" }).fill(gone);
    await page.getByRole("option", { name: gone }).click();
    Deno.removeSync(gone);
    const box = page.getByRole("textbox", BOX);
    await box.fill("go");
    await box.press("Enter");
    await page.getByRole("alert").getByText(gone).waitFor();
    assertEquals(await box.inputValue(), "go");
    await page.getByRole("button", { name: /^Directory:/ }).click();
    await page.getByRole("combobox", { name: "Directory" }).fill(`${gone}/x`);
    await page.getByText(/there is no directory/).waitFor();
  },
});

Deno.test({
  name: "sessions stand by directory, keep their places while one reads, and tell what is new",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "one" }, { text: "two" }], {
      start: { title: "Alpha" },
    });
    const start = (title: string, name: string) =>
      it.client.session({
        workdir: it.place.mkdir(name),
        title,
        model: it.model,
        approval: "auto",
      });
    const beta = await start("Beta", "other");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const titles = () => page.locator(".session-table .row-link").allTextContents();
    await until(async () => (await titles()).join() === "Beta,Alpha", "the newest first");
    await page.getByRole("rowheader").getByText(it.workdir).waitFor();

    await page.locator("tr.session-row", { hasText: "Alpha" }).hover();
    await it.turn("go");
    const alpha = page.locator("tr.session-row", { hasText: "Alpha" });
    await alpha.getByText("New", { exact: true }).waitFor();
    assertEquals(await titles(), ["Beta", "Alpha"]);
    await app.accessible("an unread session");
    await page.mouse.move(2, 2);
    await until(async () => (await titles()).join() === "Alpha,Beta", "the new order");

    // Looking at it is what makes it read, also after a reload.
    await alpha.getByRole("link").click();
    await page.getByRole("log").getByText("one").waitFor();
    await it.turn("more");
    await page.getByRole("log").getByText("two").waitFor();
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await alpha.waitFor();
    await page.reload();
    await alpha.waitFor();
    assertEquals(await page.getByText("New", { exact: true }).count(), 0);

    // What needs the person comes first, wherever it is.
    const asks = await it.client.rpc.call("session.start", {
      workdir: it.place.mkdir("third"),
      title: "Asks",
      model: "builtin/toolbelt",
      approval: "ask",
      prompt: "run echo hi",
    });
    await it.client.rpc.call("session.configure", { session_id: beta, pinned: true });
    await until(async () => (await titles()).join() === "Asks,Beta,Alpha", "who needs me");
    assertEquals(
      await page.locator(".recent a").allTextContents(),
      ["Asks", "Beta", "Alpha"],
    );
    await it.client.rpc.call("session.kill", { session_id: asks.session_id });
    app.clean("the list");
  },
});

Deno.test({
  name: "a session is renamed, pinned, exported, archived and deleted by its menu and the keyboard",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "An answer." }], { start: { title: "Old" } });
    await it.turn("A question.");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const act = async (title: string, name: string) => {
      await page.getByRole("button", { name: `Actions for ${title}` }).focus();
      await page.keyboard.press("Enter");
      await app.focused("[role=menuitem]");
      const focused = "document.activeElement.textContent";
      for (let n = 0; n < 9 && await page.evaluate(focused) !== name; n++) {
        await page.keyboard.press("ArrowDown");
      }
      await page.keyboard.press("Enter");
    };
    await act("Old", "Rename…");
    await page.getByRole("dialog", { name: "Rename session" }).waitFor();
    await app.accessible("the dialog that renames");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("<b>New</b>");
    await page.keyboard.press("Enter");
    const row = page.locator("tr.session-row", { hasText: "<b>New</b>" });
    await row.waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await act("<b>New</b>", "Pin");
    await row.getByText("Pinned").waitFor();
    assertEquals(await row.getByText("New", { exact: true }).count(), 0, "one's own change");

    const exports = async (word: string, ending: string, begin: string, ask: () => unknown) => {
      const file = page.waitForEvent("download");
      await ask();
      const saved = await file;
      assertEquals(saved.suggestedFilename(), `b New b.${ending}`);
      const text = Deno.readTextFileSync((await saved.path())!);
      assert(text.toLowerCase().startsWith(begin), `${word}: ${text.slice(0, 80)}`);
      assert(text.includes("A question.") && text.includes("An answer."), text);
    };
    const formats = [["Markdown", "md", "# "], ["HTML", "html", "<!doctype"], [
      "JSON",
      "json",
      "{",
    ]];
    for (const [word, ending, begin] of formats) {
      await exports(word, ending, begin, () => act("<b>New</b>", `Export as ${word}`));
    }
    await app.go(`/sessions/${it.session_id}`);
    for (const [word, ending, begin] of formats) {
      await exports(word, ending, begin, async () => {
        await page.getByRole("button", { name: "More", exact: true }).click();
        await page.getByRole("button", { name: `Export as ${word}` }).click();
      });
    }
    await app.go("/");

    await act("<b>New</b>", "Archive");
    await page.getByText("No sessions yet").waitFor();
    await page.getByLabel("Show archived").check();
    await act("<b>New</b>", "Take out of the archive");
    await row.getByText("Archived").waitFor({ state: "detached" });
    await act("<b>New</b>", "Delete…");
    await page.getByRole("dialog", { name: "Delete this session?" }).waitFor();
    await app.accessible("the question before a deletion");
    await page.getByRole("button", { name: "Delete session" }).click();
    await row.waitFor({ state: "detached" });
    await app.focusKept();
    assertEquals((await it.client.rpc.call("session.list", { include_ended: true })).sessions, []);
    app.clean("the menu of a session");
  },
});

Deno.test({
  name: "what was said is found in all sessions, and opened at its place",
  ignore: no_browser,
  async fn() {
    const long = Array.from({ length: 60 }, (_, n) => `Paragraph ${n}.\n\n`).join("");
    await using it = await Scenario.begin([
      { text: `The zebra <b>hides</b>.\n\n${long}` },
      { text: long },
    ], { start: { title: "Animals" } });
    await it.turn("Where is it?");
    await it.turn("And then?");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.getByLabel("Search sessions").fill("zebra");
    const found = page.getByRole("region", { name: "In conversations" });
    await found.getByText("The zebra <b>hides</b>.").waitFor();
    await app.accessible("what was said");
    await found.getByRole("link").click();
    await page.getByRole("log").locator(".row.at").getByText("zebra").waitFor();
    assertEquals(await page.locator("search input").inputValue(), "zebra");
    await page.goBack();
    await found.getByText("The zebra <b>hides</b>.").waitFor();
    await page.getByLabel("Search sessions").fill("nobody said this");
    await page.getByText("Nothing was said with these words.").waitFor();
    app.clean("search");
  },
});

Deno.test({
  name: "events elsewhere do not change where a session will work, and a bad command leaves none",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "one" }], { start: { title: "Alpha" } });
    const beta = await it.client.session({
      workdir: it.place.mkdir("other"),
      title: "Beta",
      model: it.model,
    });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const box = page.getByRole("textbox", BOX);
    await page.getByRole("button", { name: "Directory: other" }).waitFor();
    await box.fill("/nosuch do it");
    await it.turn("go");
    await until(
      async () =>
        (await page.locator(".session-table .row-link").first().textContent()) === "Alpha",
      "the order after the event",
    );
    await page.getByRole("button", { name: "Directory: other" }).waitFor();
    await box.press("Enter");
    await page.getByRole("alert").getByText("nosuch").waitFor();
    assertEquals(await box.inputValue(), "/nosuch do it");
    const { sessions } = await it.client.rpc.call("session.list", { include_ended: true });
    assertEquals(
      sessions.map(({ id }: { id: string }) => id).sort(),
      [it.session_id, beta].sort(),
    );
  },
});

Deno.test({
  name: "a session whose first message was taken stays, whatever becomes of the answer",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Done." }]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    /** Whether the daemon gets the message; its answer is lost in any case. */
    let taken = true;
    await page.routeWebSocket(/./, (socket) => {
      const daemon = socket.connectToServer();
      const lost = new Set<unknown>();
      const timeout = (id: unknown) =>
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          error: { code: -32000, message: "no answer came", data: { svc_code: "timeout" } },
        });
      socket.onMessage((message) => {
        const { id, method } = JSON.parse(String(message));
        if (method === "session.send") {
          if (!taken) return socket.send(timeout(id));
          lost.add(id);
        }
        daemon.send(message);
      });
      daemon.onMessage((message) => {
        const { id } = JSON.parse(String(message));
        socket.send(lost.has(id) ? timeout(id) : message);
      });
    });
    await app.go("/");
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByRole("combobox", { name: "Model" }).fill(it.model);
    await page.getByRole("option", { name: it.model }).click();
    const box = page.getByRole("textbox", BOX);
    await box.fill("!true");
    await box.press("Enter");
    await page.getByRole("log").getByText("true").first().waitFor();
    const [, id] = /sessions\/(\w+)$/.exec(page.url())!;
    assertEquals(id === it.session_id, false);
    await app.go("/");
    assertEquals(await box.inputValue(), "");
    // One that may still be on its way finds its session.
    taken = false;
    await box.fill("on its way");
    await box.press("Enter");
    await page.getByRole("alert").getByText("no answer came").waitFor();
    assertEquals(await box.inputValue(), "on its way");
    assertEquals((await it.client.rpc.call("session.list")).sessions.length, 3);
  },
});

Deno.test({
  name: "a first line with a setting that there is not begins no session, and says which there are",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const box = page.getByRole("textbox", BOX);
    const ids: unknown[] = [];
    page.on("websocket", (socket) =>
      socket.on("framesent", ({ payload }) => {
        const { method } = JSON.parse(String(payload));
        if (/^session\.(start|delete)$/.test(method)) ids.push(method);
      }));
    await app.go("/");
    for (
      const [line, said] of [
        ["/effort nonsense", "none, minimal, low, medium, high, xhigh, default"],
        ["/network nonsense", "off, allowed, on, default"],
      ]
    ) {
      await box.fill(line);
      await box.press("Enter");
      await page.getByRole("alert").getByText(said).waitFor();
      assertEquals(await box.inputValue(), line);
    }
    assertEquals(ids, []);
    // What only the daemon can know is found before there is a session.
    await box.fill("/add-dir /none/at/all");
    await box.press("Enter");
    await page.getByRole("alert").getByText("it does not exist").waitFor();
    assertEquals(ids, ["session.start"]);
    const { sessions } = await it.client.rpc.call("session.list", { include_ended: true });
    assertEquals(sessions.length, 1);
    await box.fill("/effort low");
    await box.press("Enter");
    await page.getByRole("status").getByText("effort: low").waitFor();
    const [, id] = /sessions\/(\w+)$/.exec(page.url())!;
    assertEquals((await it.client.rpc.call("session.get", { session_id: id })).effort, "low");
    app.clean("settings as a first line");
  },
});

Deno.test({
  name: "a tab that changes a choice leaves what another one has written",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const one = await AppPage.open(browser, it.daemon);
    const other = await AppPage.open(browser, it.daemon);
    await one.page.getByRole("textbox", BOX).fill("a long thought");
    await other.page.getByLabel("Approvals").selectOption("auto");
    await one.page.reload();
    await one.connected();
    assertEquals(await one.page.getByRole("textbox", BOX).inputValue(), "a long thought");
    assertEquals(await one.page.getByLabel("Approvals").inputValue(), "auto");
  },
});

Deno.test({
  name: "two tabs have first messages of their own, with files, also after a reload",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Seen." }]);
    await using browser = await shared.profile();
    const message = async ({ page }: AppPage, files: number) => {
      const list = page.locator(".attached li");
      await list.nth(files - 1).waitFor();
      return [await page.getByRole("textbox", BOX).inputValue(), ...await list.allInnerTexts()];
    };
    const write = async ({ page }: AppPage, text: string) => {
      const box = page.getByRole("textbox", BOX);
      await box.fill(text);
      await giveFile(box, "paste", `${text}.png`, "image/png", tinyPng().toBase64());
    };
    const reload = async ({ page }: AppPage) => {
      // What is being kept waits its turn.
      await page.evaluate("navigator.locks.request('svc-files', () => {})");
      await page.reload();
    };
    const one = await AppPage.open(browser, it.daemon);
    const other = await AppPage.open(browser, it.daemon);
    await write(one, "first");
    await write(other, "second");
    for (let n = 0; n < 2; n++) {
      assertEquals(await message(one, 1), ["first", "first.png"]);
      assertEquals(await message(other, 1), ["second", "second.png"]);
      await Promise.all([reload(one), reload(other)]);
    }
    const { page } = other;
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByRole("combobox", { name: "Model" }).fill(it.model);
    await page.getByRole("option", { name: it.model }).click();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("log").getByText("Seen.").waitFor();
    await other.go("/");
    assertEquals(await page.getByRole("textbox", BOX).inputValue(), "");
    assertEquals(await page.locator(".attached").count(), 0);
    await one.page.reload();
    assertEquals(await message(one, 1), ["first", "first.png"]);
    // A new tab begins with what was written last, where that tab is closed, too.
    await write(one, "again");
    assertEquals(await message(one, 2), ["again", "first.png", "again.png"]);
    await one.page.close();
    const third = await AppPage.open(browser, it.daemon);
    assertEquals(await message(third, 2), ["again", "first.png", "again.png"]);
    await third.page.getByRole("textbox", BOX).fill("");
    const fourth = await AppPage.open(browser, it.daemon);
    assertEquals(await fourth.page.getByRole("textbox", BOX).inputValue(), "");
    await third.page.getByRole("textbox", BOX).fill("again");
    await third.page.getByRole("button", { name: "Remove first.png" }).click();
    await reload(third);
    await third.connected();
    assertEquals(await message(third, 1), ["again", "again.png"]);
    other.clean("one of two first messages");
    third.clean("a new tab");
  },
});

Deno.test({
  name: "the Escape that ends a composition of an input method closes no search",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "said" }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.getByRole("button", { name: "Search the conversation" }).click();
    const search = page.getByRole("textbox", { name: "Search the conversation" });
    await search.fill("さ");
    // As Chromium tells it, and as Safari does.
    for (const more of ["isComposing: true", "keyCode: 229"]) {
      await page.evaluate(
        `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", ` +
          `{ key: "Escape", bubbles: true, cancelable: true, ${more} }))`,
      );
    }
    assertEquals(await search.inputValue(), "さ");
    await search.press("Escape");
    await search.waitFor({ state: "detached" });
  },
});

Deno.test({
  name: "keys of an input method move nothing, hide nothing, and send no form",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "said" }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const composed = async (key: string, init: Record<string, unknown> = {}) => {
      // As Chromium tells it, and as Safari does.
      for (const more of [{ isComposing: true }, { keyCode: 229 }]) {
        const made = JSON.stringify({ key, bubbles: true, cancelable: true, ...more, ...init });
        await page.evaluate(
          `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", ${made}))`,
        );
      }
    };
    const box = page.getByLabel("Message", { exact: true });
    await page.getByRole("log").getByText("said").waitFor();
    // The message box: the answer of a command stays, and so does what is written.
    await box.fill("/cost");
    await box.press("Enter");
    await page.locator(".composer-said").waitFor();
    await app.focused("#message");
    await box.press("ArrowUp");
    assertEquals(await box.inputValue(), "go");
    await composed("Escape");
    await composed("ArrowDown");
    assertEquals(await box.inputValue(), "go");
    assertEquals(await page.locator(".composer-said").count(), 1);
    // The palette.
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    const chosen = page.locator(".palette [aria-selected=true]");
    const first = await chosen.getAttribute("id");
    await composed("ArrowDown");
    await composed("Enter");
    await composed("Escape");
    // Their effects would be there with those of the next key.
    await page.keyboard.type("s");
    await chosen.waitFor();
    assertEquals(await chosen.getAttribute("id"), first);
    await page.keyboard.press("Escape");
    // A form with a long text.
    await app.go("/tasks");
    await page.getByRole("button", { name: "New task" }).first().click();
    const form = page.getByRole("dialog");
    await form.getByRole("textbox").first().fill("にほん");
    await composed("Enter", { ctrlKey: true });
    await composed("Escape");
    await page.keyboard.type("x");
    assertEquals([await form.count(), await form.locator("[role=alert]").count()], [1, 0]);
    app.clean("an input method");
  },
});

Deno.test({
  name: "directories of one name are told apart in the sidebar, the list and the box",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    for (const name of ["client", "server"]) {
      const workdir = it.place.mkdir(`${name}/app`);
      await it.client.session({ workdir, model: it.model, title: `Of the ${name}` });
    }
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.locator(".recent section").nth(2).waitFor();
    const texts = async (of: string) => (await page.locator(of).allInnerTexts()).sort();
    const names = ["client/app", "project", "server/app"];
    assertEquals(await texts(".recent h2"), names);
    assertEquals(await texts(".group-row b"), names);
    await page.getByRole("button", { name: "Directory: server/app" }).waitFor();
    app.clean("directories of one name");
  },
});

Deno.test({
  name: "the Enter that ends a composition of an input method starts nothing",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const box = page.getByRole("textbox", BOX);
    await page.getByRole("button", { name: /^Directory: project/ }).waitFor();
    await box.fill("にほん");
    // As Chromium tells it, and as Safari does.
    for (const more of ["isComposing: true", "keyCode: 229"]) {
      await page.evaluate(
        `document.getElementById("new-session").dispatchEvent(new KeyboardEvent("keydown", ` +
          `{ key: "Enter", bubbles: true, cancelable: true, ${more} }))`,
      );
    }
    const { sessions } = await it.client.rpc.call("session.list", {});
    assertEquals([sessions.length, await box.inputValue()], [1, "にほん"]);
    await box.press("Enter");
    await page.waitForURL("**/sessions/*");
  },
});

Deno.test({
  name: "the first message has the menus of its directory and files; what fails keeps both",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Seen." }), { toml: "images = true\n" });
    Deno.mkdirSync(join(it.workdir, ".claude/commands"), { recursive: true });
    Deno.writeTextFileSync(join(it.workdir, ".claude/commands/review.md"), "Review $1 now.\n");
    Deno.writeTextFileSync(join(it.workdir, "main.ts"), "");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.getByRole("button", { name: "Directory: project" }).waitFor();
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByRole("combobox", { name: "Model" }).fill(it.model);
    await page.getByRole("option", { name: it.model }).click();
    const box = page.getByRole("textbox", BOX);
    const option = (name: RegExp | string) =>
      page.locator(".options").getByRole("option", { name });
    await box.pressSequentially("/rev");
    await option("/review").waitFor();
    // Below the box: all of what is written and offered is seen.
    const [above, menu] = await Promise.all(
      [".new-session", ".options"].map((it) => page.locator(it).boundingBox()),
    );
    assert(menu!.y >= above!.y + above!.height && menu!.height > 30, JSON.stringify(menu));
    await app.accessibleEverywhere("the menu of the first message");
    await page.keyboard.press("Tab");
    assertEquals(await box.inputValue(), "/review");
    await box.pressSequentially(" @mai");
    await option("main.ts").click();
    assertEquals(await box.inputValue(), "/review @main.ts ");
    await app.focused("#new-session");

    // A file that is dropped beside the box does not take the page away.
    const png = tinyPng({ width: 2 }).toBase64();
    await giveFile(page.locator("h1"), "drop", "dropped.png", "image/png", png);
    await giveFile(box, "paste", "pasted.png", "image/png", png);
    const files = page.getByRole("list", { name: "Attached files" });
    await files.getByText("pasted.png").waitFor();
    await files.getByText("dropped.png").waitFor();
    await app.accessibleEverywhere("the first message with files");
    const ids = async () =>
      (await it.client.rpc.call("session.list")).sessions.map(({ id }: { id: string }) => id);
    const written = await box.inputValue();
    await box.fill("/none at all");
    await box.press("Enter");
    await page.getByRole("alert").getByText("unknown command /none").waitFor();
    await box.fill("/effort low");
    await box.press("Enter");
    await page.getByRole("alert").getByText("A command takes no files").waitFor();
    await box.fill(written);
    assertEquals([await files.locator("li").count(), await ids()], [2, [it.session_id]]);
    await page.reload();
    await files.locator("li").nth(1).waitFor();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    const log = page.getByRole("log");
    await log.getByText("Seen.").waitFor();
    const { body } = it.server.requests.at(-1)!;
    assertStringIncludes(JSON.stringify(body.messages), `data:image/png;base64,${png}`);
    await log.getByText("Review @main.ts now.").waitFor();
    await log.getByRole("img", { name: /pasted\.png/ }).waitFor();
    assertEquals((await ids()).length, 2);
    const kept = "caches.open('svc-files').then((it) => it.keys()).then((it) => it.length)";
    await until(async () => await page.evaluate(kept) === 0, "no file is kept");
  },
});

Deno.test({
  name: "a first line that begins with a blank or a backslash before the slash is a message",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Read." }));
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByRole("combobox", { name: "Model" }).fill(it.model);
    await page.getByRole("option", { name: it.model }).click();
    for (const [line, sent] of [[" /etc/x is odd", "/etc/x is odd"], ["\\/nope", "/nope"]]) {
      await page.getByRole("textbox", BOX).fill(line);
      await page.getByRole("button", { name: "Start", exact: true }).click();
      const log = page.getByRole("log");
      await log.getByText("Read.").waitFor();
      await log.getByText(sent, { exact: true }).waitFor();
      await page.getByRole("link", { name: "svc, all sessions" }).click();
    }
    app.clean("messages that look like commands");
  },
});

Deno.test({
  name: "a menu that is opened as soon as it is there has its entries",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([], { start: { title: "Mine" } });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/settings");
    const { page } = app;
    await page.evaluate(`new MutationObserver((_, observer) => {
      const button = document.querySelector(".menu-button");
      if (button === null) return;
      observer.disconnect();
      button.click();
    }).observe(document.body, { childList: true, subtree: true })`);
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await page.getByRole("menuitem", { name: "Rename…" }).waitFor();
  },
});
