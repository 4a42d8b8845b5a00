/** The list of keys, and that what stands in it works. */
import { assert, assertEquals } from "@std/assert";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();
const run = (command: string) => ({ name: "run_command", args: { command } });

Deno.test({
  name: "the keys are listed: by ? outside of boxes, by Ctrl+/ anywhere, and by mouse",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const keys = page.getByRole("dialog", { name: "Keys" });
    const box = page.getByLabel("Message", { exact: true });
    const gone = () => keys.waitFor({ state: "detached" });
    await box.focus();
    // A question mark may be the beginning of a message.
    await page.keyboard.type("?");
    assertEquals([await box.inputValue(), await keys.count()], ["?", 0]);
    await page.keyboard.press("Control+/");
    await keys.getByText("Open all cards, or fold them").waitFor();
    await app.accessibleEverywhere("the keys");
    const key = keys.locator("dt", { hasText: "Alt+O" });
    const what = keys.getByText("Open all cards, or fold them");
    for (const width of [1440, 1024, 768, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await keys.getByRole("heading", { name: "Keys" }).waitFor();
      const [before, after] = [await key.boundingBox(), await what.boundingBox()];
      // Below each other where there is no room.
      assertEquals([width, before!.x < after!.x], [width, width > 640]);
      assertEquals(
        await keys.evaluate((it: { scrollWidth: number; clientWidth: number }) =>
          it.scrollWidth - it.clientWidth
        ),
        0,
        `sideways at ${width} px`,
      );
    }
    // It scrolls by keys.
    await page.keyboard.press("End");
    await keys.getByText("Go into a directory of the list").waitFor();
    await app.holds("document.querySelector('.keys').scrollTop > 0", "its end");
    await page.keyboard.press("Control+/");
    await gone();
    await app.focused("#message");
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("?");
    await keys.waitFor();
    await page.keyboard.press("Escape");
    await gone();
    // On a phone, too.
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.getByRole("button", { name: "Keys" }).click();
    await keys.waitFor();
    // From one part of the palette to the other.
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.type("keys");
    await page.getByRole("option", { name: /^Keys/, selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await keys.waitFor();
    await app.holds("document.querySelector('dialog').contains(document.activeElement)", "focus");
    await page.keyboard.press("?");
    await gone();
    app.clean("the keys");
  },
});

Deno.test({
  name: "one key opens all cards of a conversation and folds them; menu and palette do so too",
  ignore: no_browser,
  async fn() {
    const write = { name: "write_file", args: { path: "a.txt", content: "new\n" } };
    const read = { name: "read_file", args: { path: "a.txt" } };
    await using it = await Scenario.begin([
      { calls: [run("echo one")] },
      { calls: [write] },
      { calls: [read, read] },
      { text: "Done." },
      { calls: [run("echo two")] },
      { text: "And done." },
      { calls: [run("false")] },
      { text: "Failed." },
    ]);
    await it.turn("begin");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.getByRole("log").getByText("Done.", { exact: true }).waitFor();
    const heads = () =>
      page.evaluate(
        "[...document.querySelectorAll('.transcript [aria-expanded]')].map((it) => it.ariaExpanded)",
      ) as Promise<string[]>;
    const shown = async (open: string, count: number) =>
      await until(async () => {
        const all = await heads();
        return all.length === count && all.every((it) => it === open);
      }, `${count} cards with ${open}`);
    await page.getByLabel("Message", { exact: true }).focus();
    await page.keyboard.press("Alt+o");
    // The run of calls that read has its calls in it.
    await shown("true", 5);
    // What comes is open, too.
    await it.turn("go on");
    await shown("true", 6);
    await page.keyboard.press("Alt+o");
    await shown("false", 4);
    assertEquals(await page.getByLabel("Message", { exact: true }).inputValue(), "");
    // What comes shows by itself what it must.
    await it.turn("fail");
    await until(async () => (await heads()).at(-1) === "true", "the failure");

    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("button", { name: "Open or fold all cards" }).click();
    await shown("true", 7);
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.type("fold");
    await page.getByRole("option", { name: /^Open or fold/, selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await shown("false", 5);
    app.clean("all cards");
  },
});

Deno.test({
  name: "what is read stays in sight while all cards open",
  ignore: no_browser,
  async fn() {
    const steps = Array.from({ length: 30 }, (_, n) => [
      { calls: [run(`seq ${n + 1} ${n + 9}`)] },
      { text: `Answer ${n}.` },
    ]).flat();
    await using it = await Scenario.begin(steps);
    for (let n = 0; n < 30; n++) await it.turn(`question ${n}`);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log");
    const read = log.getByText("Answer 15.", { exact: true });
    await log.getByText("Answer 29.", { exact: true }).waitFor();
    await page.keyboard.press("Control+f");
    await app.focused("search input");
    await page.keyboard.type("Answer 15.");
    await page.keyboard.press("Enter");
    await read.waitFor();
    await page.keyboard.press("Escape");
    await log.focus();
    await page.keyboard.press("Alt+o");
    await until(
      async () => await log.locator("[aria-expanded=false]").count() === 0,
      "all that is drawn is open",
    );
    const inSight = async () => {
      const [row, area] = [await read.boundingBox(), await log.boundingBox()];
      return row !== null && row.y >= area!.y && row.y + row.height <= area!.y + area!.height;
    };
    await until(inSight, "what was read");
  },
});

Deno.test({
  name: "a key finds what was said in all sessions, this directory first, and fills the box",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }));
    const other = await it.client.session({
      workdir: it.place.mkdir("other"),
      model: it.model,
      title: "Elsewhere",
    });
    const long = `mend the parser\nand ${"its tests ".repeat(500)}`.trim();
    await it.turn(long);
    await it.turn("mend the lexer");
    await it.client.turn(other, "mend the roof <b>now</b>");
    await it.client.turn(other, "mend the lexer");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    const found = page.locator(".palette [role=option] .palette-label");
    const open = async () => {
      await page.keyboard.press("Alt+r");
      await page.getByRole("dialog", { name: "Earlier messages" }).waitFor();
      await app.focused("dialog input");
    };
    await box.fill("a draft");
    await open();
    // Each once, the newest of this directory first.
    await until(async () => await found.count() === 3, "the messages");
    const texts = await found.allInnerTexts();
    assertEquals([texts[0], texts[2]], ["mend the lexer", "mend the roof <b>now</b>"]);
    assert(texts[1].startsWith("mend the parser and its tests"), texts[1]);
    await app.accessibleEverywhere("earlier messages");
    await page.keyboard.type("pars");
    await until(async () => await found.count() === 1, "one of them");
    await page.keyboard.press("Enter");
    await until(async () => await box.inputValue() === long, "all of the message");
    await app.focused("#message");
    // The browser's own undo has what stood there.
    await page.keyboard.press("Control+z");
    await until(async () => await box.inputValue() === "a draft", "the draft");
    // Nothing is taken without a choice.
    await open();
    await page.keyboard.press("Escape");
    await app.focused("#message");
    assertEquals(await box.inputValue(), "a draft");
    await open();
    await page.keyboard.type("nowhere");
    await page.getByText("Nothing found").waitFor();
    await page.keyboard.press("Enter");
    assertEquals(await box.inputValue(), "a draft");
    await page.keyboard.press("Escape");

    // The first page has it, too, for the directory of the box.
    await app.go("/");
    const first = page.getByLabel("New session", { exact: true });
    await first.focus();
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.type("earlier");
    await page.getByRole("option", { name: /^Earlier messages/, selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await until(async () => await found.count() === 3, "the messages");
    await page.keyboard.type("roof");
    await until(async () => await found.count() === 1, "one of them");
    await page.locator(".palette [role=option]").click();
    await until(async () => await first.inputValue() === "mend the roof <b>now</b>", "the text");
    await app.focused("#new-session");
    // Where nothing is written, it is not offered.
    await app.go("/cost");
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.getByRole("option", { name: /^New session/ }).waitFor();
    assertEquals(await page.getByRole("option", { name: /^(Earlier|Open or fold)/ }).count(), 0);
    await page.keyboard.type("questions");
    await page.getByRole("option", { name: /^Questions/, selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Questions" }).waitFor();
    app.clean("earlier messages");
  },
});

Deno.test({
  name: "on a Mac, where Ctrl and a letter are free, they are those of the terminal",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ calls: [run("echo one")] }, { text: "Done." }]);
    await it.turn("begin");
    await using browser = await shared.profile();
    await browser.context.addInitScript(
      "Object.defineProperty(navigator, 'userAgent', { get: () => 'Macintosh' })",
    );
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const card = page.locator(".transcript [aria-expanded=true]");
    await page.getByRole("log").getByText("Done.").waitFor();
    await page.getByLabel("Message", { exact: true }).focus();
    await page.keyboard.press("Alt+o");
    await page.keyboard.press("Control+o");
    await card.waitFor();
    await page.locator("[aria-live=polite]", { hasText: "All cards are open" }).waitFor({
      state: "attached",
    });
    await page.keyboard.press("Control+r");
    await page.getByRole("dialog", { name: "Earlier messages" }).waitFor();
    await page.keyboard.press("Meta+/");
    await page.getByRole("dialog", { name: "Keys" }).getByText("⌃R").waitFor();
    app.clean("keys of a Mac");
  },
});

Deno.test({
  name: "the other keys of the list do what it says",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      { text: "One." },
      { calls: [run("sleep 60")] },
      { text: "Two." },
    ]);
    await it.turn("the first");
    Deno.writeTextFileSync(`${it.workdir}/notes.md`, "# Notes");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    await page.getByRole("log").getByText("One.").waitFor();
    await box.focus();
    await page.keyboard.press("ArrowUp");
    assertEquals(await box.inputValue(), "the first");
    // Within it, the arrows move the cursor.
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowDown");
    assertEquals(await box.inputValue(), "the first");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowDown");
    assertEquals(await box.inputValue(), "");
    await page.keyboard.type("a");
    await page.keyboard.press("Shift+Enter");
    assertEquals(await box.inputValue(), "a\n");
    for (const [begin, menu] of [["@not", "Files"], ["/und", "Commands and skills"]]) {
      await box.fill("");
      await page.keyboard.type(begin);
      await page.getByRole("listbox", { name: menu }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("listbox", { name: menu }).waitFor({ state: "detached" });
    }
    await box.fill("go");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Cancel turn" }).waitFor();
    await box.fill("later");
    await page.keyboard.press("Alt+Enter");
    await page.getByRole("button", { name: "Take back" }).waitFor();
    await page.keyboard.press("Control+f");
    await app.focused("search input");
    await page.keyboard.press("Escape");
    await page.locator("search").waitFor({ state: "detached" });
    await box.focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Cancel turn" }).waitFor({ state: "detached" });
    // What was queued is in the box again.
    assertEquals(await box.inputValue(), "later");
    app.clean("the other keys");
  },
});

Deno.test({
  name: "keys work on keyboards without Latin letters, and no key is one, too",
  ignore: no_browser,
  async fn() {
    const start = { approval: "ask" } as const;
    await using it = await Scenario.begin([{ calls: [run("echo one")] }, { text: "Done." }], {
      start,
    });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const press = (key: string | undefined, code: string, modifiers = {}) =>
      page.evaluate(
        `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", ${
          JSON.stringify({ key, code, bubbles: true, cancelable: true, ...modifiers })
        }))`,
      );
    await page.getByLabel("Message", { exact: true }).focus();
    const palette = page.getByRole("dialog", { name: "Search or run" });
    // A browser that fills in a form tells of a key without a name.
    await press(undefined, "", { ctrlKey: true });
    await press("л", "KeyK", { ctrlKey: true });
    await palette.waitFor();
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
    await press("а", "KeyF", { ctrlKey: true });
    await app.focused("search input");
    await page.keyboard.press("Escape");
    await it.client.rpc.call("session.send", { session_id: it.session_id, text: "go" });
    const allow = page.getByRole("button", { name: "Allow", exact: true });
    await allow.waitFor();
    await page.getByRole("heading", { level: 1 }).focus();
    await until(() => allow.isEnabled(), "the question to be armed");
    // Another layout has another letter there.
    await press("u", "KeyN");
    await press("ñ", "KeyN");
    await press("н", "KeyY");
    await page.getByRole("log").getByText("Done.").waitFor();
    const { events } = await it.client.rpc.call("session.history", { session_id: it.session_id });
    const decided = (events as { type: string; data: { decision?: string } }[])
      .flatMap(({ type, data }) => type === "approval.resolved" ? [data.decision] : []);
    assertEquals(decided, ["allow"]);
    app.clean("without Latin letters");
  },
});

Deno.test({
  name: "no key takes away what is written into a form, or acts behind a dialog",
  ignore: no_browser,
  async fn() {
    const read = { name: "read_file", args: { path: "a.txt" } };
    await using it = await Scenario.begin([{ calls: [read, read] }, { text: "One." }]);
    Deno.writeTextFileSync(`${it.workdir}/a.txt`, "text\n");
    await it.turn("begin");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.getByRole("log").getByText("One.").waitFor();
    await page.getByLabel("Message", { exact: true }).focus();
    await page.keyboard.press("Control+k");
    await app.focused("dialog input");
    await page.keyboard.press("Control+f");
    await page.keyboard.press("Alt+o");
    await page.keyboard.type("cortex.remember");
    await page.getByRole("option", { name: /^cortex\.remember/, selected: true }).waitFor();
    assertEquals(await page.locator("search, .transcript [aria-expanded=true]").count(), 0);
    await page.keyboard.press("Enter");
    const content = page.getByRole("dialog").getByLabel("Content");
    await content.fill("a long thought");
    for (const key of ["Control+k", "Control+/"]) {
      await page.keyboard.press(key);
      await app.look();
      assertEquals([key, await content.count()], [key, 1]);
    }
    assertEquals(await content.inputValue(), "a long thought");
    // Held down, a key does once what it does.
    await page.getByRole("button", { name: "Close" }).click();
    await app.focused("#message");
    await page.keyboard.down("Control");
    for (const _ of [1, 2]) await page.keyboard.down("/");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.up("/");
    await page.keyboard.press("/");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
    app.clean("what is written");
  },
});

Deno.test({
  name: "an earlier message that comes late is not written into the box of another session",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "One." }]);
    await it.turn("the first");
    await it.client.session({ workdir: it.workdir, title: "Elsewhere" });
    await using browser = await shared.profile();
    let give: (() => void) | undefined;
    await browser.context.routeWebSocket(/\/v1\/ws$/, (page) => {
      const daemon = page.connectToServer();
      let held: unknown;
      page.onMessage((text) => {
        const { id, method, params } = JSON.parse(String(text));
        if (method === "session.history" && params.limit === 1) held = id;
        daemon.send(text);
      });
      daemon.onMessage((text) => {
        if (held === undefined || JSON.parse(String(text)).id !== held) return page.send(text);
        held = undefined;
        give = () => page.send(text);
      });
    });
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const box = page.getByLabel("Message", { exact: true });
    const choose = async () => {
      await box.focus();
      await page.keyboard.press("Alt+r");
      await page.getByRole("option", { name: /the first/ }).click();
      await until(() => give !== undefined, "the answer");
    };
    const answer = () => {
      give!();
      give = undefined;
    };
    await choose();
    await page.getByRole("navigation", { name: "Recent sessions" })
      .getByRole("link", { name: /Elsewhere/ }).click();
    await page.getByRole("heading", { level: 1, name: "Elsewhere" }).waitFor();
    await box.fill("for here");
    answer();
    // What the page asks now is answered after it.
    await app.look();
    assertEquals(await box.inputValue(), "for here");
    await choose();
    answer();
    await until(async () => await box.inputValue() === "the first", "the message");
    await page.keyboard.press("Control+z");
    await until(async () => await box.inputValue() === "for here", "what was written");
    app.clean("a late message");
  },
});

Deno.test({
  name: "an arrow takes no message for one that was sent before that came into the box since",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      { text: "One." },
      { text: "Two." },
      { calls: [run("sleep 60")] },
    ]);
    await it.turn("the first");
    await it.turn("the second");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const { rpc } = it.client;
    const { session_id } = it;
    const box = page.getByLabel("Message", { exact: true });
    await rpc.call("session.send", { session_id, text: "go" });
    await page.getByRole("button", { name: "Cancel turn" }).waitFor();
    await rpc.call("session.send", { session_id, text: "a queued thought", delivery: "queue" });
    await page.getByRole("button", { name: "Take back" }).waitFor();
    await box.focus();
    await page.keyboard.press("ArrowUp");
    assertEquals(await box.inputValue(), "a queued thought");
    await page.getByRole("button", { name: "Take back" }).click();
    const written = "a queued thought\n\na queued thought";
    await until(async () => await box.inputValue() === written, "the message");
    await app.focused("#message");
    await page.keyboard.press("ArrowUp");
    assertEquals(await box.inputValue(), written);
    app.clean("arrows");
  },
});
