/** What a phone has: a screen keyboard over the page, and fingers that swipe. */
import { assert, assertEquals } from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();
const SIZE = { width: 390, height: 800 };
const KEYBOARD = 300;

/** Has a page's screen keyboard cover it, as where `interactive-widget` is not known. */
const KEYBOARD_SCRIPT = `{
  const seen = Object.assign(new EventTarget(), { scale: 1, offsetTop: 0 });
  let covered = 0;
  Object.defineProperty(seen, "height", { get: () => innerHeight - covered });
  Object.defineProperty(globalThis, "visualViewport", { value: seen });
  globalThis.cover = (px) => {
    covered = px;
    seen.dispatchEvent(new Event("resize"));
  };
}`;

type Point = [x: number, y: number];

/** A finger of a page, as the browser's input has it. */
async function finger(page: Page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  const send = (type: "touchStart" | "touchMove" | "touchEnd", points: Point[]) =>
    devtools.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: points.map(([x, y]) => ({ x, y })),
    });
  return {
    async swipe(from: Point, to: Point): Promise<void> {
      const steps = 8;
      await send("touchStart", [from]);
      for (let n = 1; n <= steps; n++) {
        const part = n / steps;
        await send("touchMove", [[
          from[0] + (to[0] - from[0]) * part,
          from[1] + (to[1] - from[1]) * part,
        ]]);
      }
      await send("touchEnd", []);
    },
  };
}

Deno.test({
  name: "the box stays above a keyboard that covers the page, and comes back down",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "line\n\n".repeat(60) + "the end" }]);
    await it.turn("go");
    await using browser = await shared.profile();
    await browser.context.addInitScript(KEYBOARD_SCRIPT);
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.setViewportSize(SIZE);
    const box = page.locator(".composer");
    const bottom = async () => {
      const { y, height } = (await box.boundingBox())!;
      return y + height;
    };
    await page.getByRole("log").getByText("the end").waitFor();
    const before = await bottom();
    assert(before > SIZE.height - KEYBOARD && before <= SIZE.height, `${before}`);
    await page.getByLabel("Message", { exact: true }).focus();
    await page.evaluate(`cover(${KEYBOARD})`);
    await until(async () => await bottom() <= SIZE.height - KEYBOARD, "the box above it");
    // What was at the end still is.
    await until(async () => {
      const end = (await page.getByRole("log").getByText("the end").boundingBox())!;
      return end.y + end.height <= (await box.boundingBox())!.y;
    }, "the end in sight");
    await app.focused("#message");
    // The browser's bars are no keyboard.
    await page.evaluate("cover(50)");
    await until(async () => await bottom() === before, "the box below again");
    app.clean("a screen keyboard");
  },
});

Deno.test({
  name: "a form's fields and its buttons are above a keyboard that covers the page",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    await browser.context.addInitScript(KEYBOARD_SCRIPT);
    const app = await AppPage.open(browser, it.daemon, "/tools");
    const { page } = app;
    await page.setViewportSize(SIZE);
    await page.getByRole("button", { name: "New server" }).click();
    const dialog = page.getByRole("dialog");
    const save = dialog.getByRole("button", { name: "Save" });
    await dialog.getByLabel("Kind").selectOption("http");
    await dialog.getByRole("button", { name: "Add a header" }).click();
    await page.evaluate(`cover(${KEYBOARD})`);
    const ends = async (what: Locator) => {
      const { y, height } = (await what.boundingBox())!;
      return y + height;
    };
    const seen = SIZE.height - KEYBOARD;
    await until(async () => await ends(save) <= seen, "the button above the keyboard");
    for (const name of ["Name", "Address", "Name of header 1", "Value of header 1"]) {
      const field = dialog.getByLabel(name, { exact: true });
      await field.focus();
      await page.keyboard.type("x");
      await until(async () => await ends(field) <= (await save.boundingBox())!.y, name);
    }
    await dialog.getByLabel("Name", { exact: true }).focus();
    await until(
      async () => (await dialog.getByLabel("Name", { exact: true }).boundingBox())!.y >= 0,
      "the first field again",
    );
    app.clean("a form above a keyboard");
  },
});

Deno.test({
  name: "on each page and in its forms, targets are as large as a finger and typed text is 16 px",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Hello." }], {
      start: { title: "A title that is longer than a phone is wide, and then some" },
    });
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/");
    const { page } = app;
    await page.setViewportSize(SIZE);
    const found_all: unknown[] = [];
    const wanted: unknown[] = [];
    const fits = async (what: string) => {
      const found = await page.evaluate(`({
        wide: document.documentElement.scrollWidth,
        small: [...(document.querySelector("dialog[open]") ?? document.querySelector("main"))
          .querySelectorAll("button, select, summary, input:not([type=checkbox]), textarea")]
          .filter((it) => {
            const { height, width } = it.getBoundingClientRect();
            const typed = it.matches("input, textarea");
            const { fontSize } = getComputedStyle(it);
            return it.checkVisibility() && (height < 44 || width < 44 || typed && fontSize !== "16px");
          }).map((it) => it.outerHTML.slice(0, 120)),
      })`);
      found_all.push([what, found]);
      wanted.push([what, { wide: SIZE.width, small: [] }]);
    };
    const forms: [path: string, button: string, dialog: string][] = [
      ["/missions", "New mission", "New mission"],
      ["/tasks", "New task", "New task"],
      ["/tools", "New server", "New tool server"],
      ["/memory", "Remember", "New memory entry"],
      ["/cost", "", ""],
      ["/settings", "", ""],
    ];
    for (const [path, button, dialog] of forms) {
      await app.go(path);
      await page.locator(".page .skeleton").first().waitFor({ state: "detached" });
      await fits(path);
      if (button === "") continue;
      await page.locator(".page-actions").getByRole("button", { name: button }).click();
      await page.getByRole("dialog").first().waitFor();
      await fits(dialog);
    }
    assertEquals(found_all, wanted);
    await page.keyboard.press("Control+k");
    const choices = page.getByRole("dialog").getByRole("option");
    await choices.first().waitFor();
    for (const choice of await choices.all()) {
      assert((await choice.boundingBox())!.height >= 44, await choice.textContent() ?? "");
    }
    await page.keyboard.press("Escape");
    // Nothing of the box for messages is cut.
    await app.go(`/sessions/${it.session_id}`);
    await page.getByLabel("Message", { exact: true }).waitFor();
    const cut = await page.evaluate(
      `[...document.querySelectorAll(".composer-foot :is(button, select)")]
        .filter((it) => it.checkVisibility() && it.scrollWidth > it.clientWidth + 1)
        .map((it) => it.outerHTML.slice(0, 120))`,
    );
    assertEquals(cut, []);
    app.clean("pages on a phone");
  },
});

Deno.test({
  name: "in a conversation and its questions, what is pressed is as large as a finger",
  ignore: no_browser,
  async fn() {
    const code = "```js\nlet a = 1;\n```";
    const options = [{ label: "One", description: "the first" }, { label: "Two" }];
    await using it = await Scenario.begin([
      { text: code, calls: [{ name: "write_file", args: { path: "a.txt", content: "a" } }] },
      { text: "And?", calls: [{ name: "ask_user", args: { question: "Which?", options } }] },
      { text: "line\n\n".repeat(60) },
    ], { start: { approval: "ask" } });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.setViewportSize(SIZE);
    /** What can be pressed and is smaller: a radio button with the line that it stands in. */
    const small = (selector: string) =>
      page.evaluate(
        `[...document.querySelectorAll("${selector} :is(button, input, textarea, summary)")]
          .map((it) => it.closest("label") ?? it)
          .filter((it) => {
            const { width, height } = it.getBoundingClientRect();
            return it.checkVisibility() && (width < 44 || height < 44);
          }).map((it) => it.outerHTML.slice(0, 120))`,
      );
    await it.send("go");
    const actions = page.locator(".approval-actions");
    await actions.getByRole("button", { name: "Allow" }).waitFor();
    assertEquals(await small("main"), []);
    await actions.getByRole("button", { name: /^Say what/ }).click();
    await page.getByLabel("What to do instead").waitFor();
    assertEquals(await small("main"), []);
    await actions.getByRole("button", { name: /^Always/ }).click();
    await page.getByRole("group", { name: "Allow always" }).waitFor();
    assertEquals(await small("main"), []);
    await actions.getByRole("button", { name: "Allow" }).click();
    await page.locator(".person-options").waitFor();
    assertEquals(await small("main"), []);
    await page.getByRole("button", { name: "Two" }).click();
    const log = page.getByRole("log", { name: "Conversation" });
    await log.getByText("line").last().waitFor();
    await log.hover();
    await page.mouse.wheel(0, -100_000);
    await page.getByRole("button", { name: "Newest" }).waitFor();
    await log.getByText("let a = 1;").waitFor();
    assertEquals(await small("main"), []);
    app.clean("targets in a conversation");
  },
});

Deno.test({
  name: "a swipe from the left edge goes to the list, one on a row opens its menu; others scroll",
  ignore: no_browser,
  async fn() {
    const wide = `| ${"a wide head | ".repeat(30)}\n|${"-|".repeat(30)}\n| ${"x | ".repeat(30)}`;
    await using it = await Scenario.begin([{ text: `${"line\n\n".repeat(60)}${wide}` }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.setViewportSize(SIZE);
    const { swipe } = await finger(page);
    const log = page.getByRole("log", { name: "Conversation" });
    const table = log.getByRole("group", { name: "Table" });
    await table.waitFor();
    const path = () => new URL(page.url()).pathname;
    const here = path();
    const transcript = (await log.boundingBox())!;
    const middle = transcript.y + transcript.height / 2;
    // Not from the middle, not up or down, not a little, not where something scrolls sideways.
    await swipe([150, middle], [330, middle]);
    const top = () => log.evaluate((it) => it.scrollTop);
    const before = await top();
    await swipe([10, middle - 100], [30, middle + 100]);
    await until(async () => await top() < before, "the conversation scrolls");
    await swipe([10, middle], [50, middle]);
    await page.getByRole("button", { name: "Newest" }).click();
    await table.scrollIntoViewIfNeeded();
    const inside = (await table.boundingBox())!;
    const across: Point = [inside.x + 2, inside.y + inside.height / 2];
    await swipe([across[0] + 200, across[1]], [across[0], across[1]]);
    await until(async () => await table.evaluate((it) => it.scrollLeft) > 0, "the table scrolls");
    await swipe(across, [across[0] + 250, across[1]]);
    assertEquals(path(), here);
    assertEquals(await page.locator(".session-body").evaluate((it) => it.style.translate), "");

    // Nor in a dialog that lies over the conversation.
    await page.evaluate(`{
      const dialog = document.createElement("dialog");
      dialog.style = "inset: 0; inline-size: 100%; block-size: 100%; max-inline-size: none";
      document.querySelector(".session-body").append(dialog);
      dialog.showModal();
    }`);
    await swipe([10, middle - 150], [200, middle - 150]);
    assertEquals(path(), here);
    await page.evaluate(`document.querySelector(".session-body > dialog").remove()`);
    await swipe([10, middle - 150], [200, middle - 150]);
    await until(() => Promise.resolve(path() === "/"), "the list");
    const row = page.locator(".session-row").first();
    await row.waitFor();
    await row.scrollIntoViewIfNeeded();
    const { x, y, height, width } = (await row.boundingBox())!;
    await swipe([x + width - 80, y + height / 2], [x + 60, y + height / 2]);
    await page.getByRole("menuitem", { name: "Rename…" }).waitFor();
    assertEquals(path(), "/");
    await app.accessible("the menu of a row");
    await page.keyboard.press("Escape");
    app.clean("swipes");
  },
});

Deno.test({
  name: "an installed page keeps clear of the camera and of the phone's own bar",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "said" }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const devtools = await page.context().newCDPSession(page);
    const clear = async (width: number, height: number, insets: Insets, of: string) => {
      await page.setViewportSize({ width, height });
      // Playwright does not know this one.
      await (devtools as unknown as Devtools).send("Emulation.setSafeAreaInsetsOverride", {
        insets,
      });
      const { top = 0, bottom = 0, left = 0, right = 0 } = insets;
      const box = page.locator(of).first();
      await until(async () => {
        const { x, y, ...size } = (await box.boundingBox())!;
        return y >= top && y + size.height <= height - bottom && x >= left &&
          x + size.width <= width - right;
      }, `${of} at ${width} px`);
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      assertEquals([of, wide], [of, width]);
    };
    const portrait: Screen = [390, 844, { top: 59, bottom: 34 }];
    const landscape: Screen = [844, 390, { left: 59, right: 59, bottom: 21 }];
    for (const at of [portrait, landscape]) {
      for (const part of [".sidebar-head a", ".page-head h1", ".composer"]) {
        await clear(...at, part);
      }
      await page.keyboard.press("Control+/");
      await clear(...at, "dialog");
      await app.accessible("a phone's edges");
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
    }
    // The end of a list is not below the bar.
    await app.go("/settings");
    await clear(...portrait, ".page-head h1");
    const end = `{
      const main = document.querySelector("main");
      main.scrollTop = main.scrollHeight;
      const { bottom } = document.querySelector(".settings").lastElementChild.getBoundingClientRect();
      main.scrollTop > 0 && bottom <= innerHeight - 34;
    }`;
    await app.holds(end, "the end of the settings above the bar");
    app.clean("a phone's edges");
  },
});

interface Insets {
  top?: number;
  bottom?: number;
  left?: number;
  right?: number;
}

type Screen = [width: number, height: number, insets: Insets];

interface Devtools {
  send(method: string, params: unknown): Promise<unknown>;
}
