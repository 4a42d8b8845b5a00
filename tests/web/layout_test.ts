/** Sizes, directions and places: what is on the page can be read. */
import { assert, assertEquals } from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const TABLE = `
| Name | Word | Number |
|:-----|:----:|-------:|
| a | internationalization | 12 |
| ${"b ".repeat(60)} | short | ${"9".repeat(40)} |
`;

/** A computed style of the first element that a selector finds. */
async function style(page: Page, selector: string, property: string): Promise<string> {
  return await page.locator(selector).first().evaluate(
    // deno-lint-ignore no-explicit-any -- the page's globals
    (element, property) => (globalThis as any).getComputedStyle(element)[property],
    property,
  );
}

Deno.test({
  name: "text has the size that the browser is set to: 15 pixels by default, and code 13",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{
      text: "Look.\n\n```\ncode\n```\n",
      calls: [{ name: "run_command", args: { command: "echo one" } }],
    }, { text: "done" }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    await page.getByRole("group", { name: "Output of run_command" }).waitFor();
    const sizes = async () => [
      await style(page, "html", "fontSize"),
      await style(page, "[data-role=user] p", "fontSize"),
      await style(page, ".tool-output", "fontSize"),
      await style(page, ".tool-subject", "fontSize"),
      await style(page, ".facts .path", "fontSize"),
      await style(page, "figure.code code", "fontSize"),
    ];
    assertEquals(await sizes(), ["16px", "15px", "13px", "13px", "13px", "13px"]);
    // As in the settings of a browser.
    await page.addStyleTag({ content: "html { font-size: 24px }" });
    assertEquals(await sizes(), ["24px", "22.5px", "19.5px", "19.5px", "19.5px", "19.5px"]);
  },
});

Deno.test({
  name: "the plan stands in the column of the conversation",
  ignore: no_browser,
  async fn() {
    const steps = [{ step: "Look", state: "doing" }, { step: "Mend", state: "pending" }];
    await using it = await Scenario.begin([
      { calls: [{ name: "plan", args: { steps } }] },
      { text: "Looking." },
    ]);
    await it.turn("go");
    await using browser = await shared.profile();
    const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const left = async (selector: string) =>
        Math.round((await page.locator(selector).first().boundingBox())!.x);
      await page.locator(".plan li").first().waitFor();
      assertEquals([width, await left(".plan li")], [width, await left(".row .tool")]);
    }
  },
});

Deno.test({
  name: "tables keep their words whole and their alignment, and a wide one scrolls by itself",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: TABLE }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.setViewportSize({ width: 390, height: 700 });
    const table = page.getByRole("group", { name: "Table" });
    await table.waitFor();
    const cell = (n: number) => table.locator("tbody td").nth(n);
    const aligned = [];
    for (const n of [0, 1, 2]) {
      aligned.push(
        await cell(n).evaluate((element) =>
          // deno-lint-ignore no-explicit-any -- the page's globals
          (globalThis as any).getComputedStyle(element).textAlign
        ),
      );
    }
    assertEquals(aligned.map((it) => it.replace("-webkit-", "")), ["left", "center", "right"]);
    const rects = (n: number) =>
      cell(n).evaluate((element) => {
        // deno-lint-ignore no-explicit-any -- the page's globals
        const range = (globalThis as any).document.createRange();
        range.selectNodeContents(element);
        return range.getClientRects().length;
      });
    assertEquals([await rects(1), await rects(5)], [1, 1]);
    const { inside, room } = await table.evaluate((element) => {
      const { scrollWidth, clientWidth } = element as unknown as Record<string, number>;
      return { inside: scrollWidth, room: clientWidth };
    });
    assert(inside > room, `${inside} in ${room}`);
    assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 390);
    await app.accessible("a wide table");
    app.clean("tables");
  },
});

Deno.test({
  name: "text that is written from right to left is shown so, code in it from left to right",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "שלום, `a + b` עולם" }], {
      start: { title: "שלום" },
    });
    await it.turn("مرحبا");
    await using browser = await shared.profile();
    const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const said = "[data-role=assistant] .markdown";
    await page.locator(said).waitFor();
    for (const selector of [said, "[data-role=user] p", "h1", ".recent a .clip"]) {
      assertEquals([selector, await style(page, selector, "direction")], [selector, "rtl"]);
    }
    assertEquals(await style(page, `${said} code`, "direction"), "ltr");
    await page.getByLabel("Message", { exact: true }).fill("שלום");
    assertEquals(await style(page, "#message", "direction"), "rtl");
  },
});

Deno.test({
  name: "the toolbelt's help keeps its columns and its stars",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([], { start: { model: "builtin/toolbelt" } });
    await it.turn("help");
    await using browser = await shared.profile();
    const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const help = page.locator("figure.code code").first();
    await help.waitFor();
    const lines = (await help.textContent())!.split("\n");
    const begins = (text: string) => lines.find((line) => line.trimStart().startsWith(text))!;
    assert(begins("glob PATTERN").endsWith("src/**/*.ts"), begins("glob"));
    assertEquals(begins("ls [PATH]").indexOf("list"), begins("read PATH").indexOf("read a"));
    assertEquals(await page.locator(".markdown strong").count(), 0);
  },
});

Deno.test({
  name: "in a low window nothing stands over anything else",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    for (let n = 0; n < 9; n++) {
      await it.client.session({ workdir: it.place.mkdir(`project-${n}`) });
    }
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.setViewportSize({ width: 1280, height: 560 });
    await page.locator(".recent li").nth(7).waitFor();
    const overlaps = await page.evaluate(() => {
      // deno-lint-ignore no-explicit-any -- the page's globals
      const { document } = globalThis as any;
      const all = [...document.querySelectorAll(".sidebar :is(a, button, select, .banner)")];
      // deno-lint-ignore no-explicit-any -- an element's place
      const boxes = all.map((it: any) => [it.textContent, it.getBoundingClientRect()] as const);
      return boxes.flatMap(([one, a], n) =>
        boxes.slice(n + 1)
          .filter(([, b]) =>
            a.bottom > b.top && b.bottom > a.top && a.right > b.left && b.right > a.left
          )
          .map(([other]) => `${one} and ${other}`)
      );
    });
    assertEquals(overlaps, []);
    await page.getByLabel("Theme").scrollIntoViewIfNeeded();
    await app.accessible("a low window");
  },
});

const SHIFT_MAX = 0.02;

Deno.test({
  name: `while a view loads, its layout shifts by ${SHIFT_MAX} at most`,
  ignore: no_browser,
  async fn() {
    const content = Array.from({ length: 40 }, (_, n) => `const x${n} = ${n};\n`).join("");
    await using it = await Scenario.begin([
      { text: "Look.", calls: [{ name: "write_file", args: { path: "a.ts", content } }] },
      { text: `\`\`\`ts\n${content}\`\`\`\nThe end.` },
    ]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.addInitScript(`{
      globalThis.shifted = 0;
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries()) {
          if (!hadRecentInput) globalThis.shifted += value;
        }
      }).observe({ type: "layout-shift", buffered: true });
    }`);
    const session = `/sessions/${it.session_id}`;
    for (const [width, height] of [[1280, 800], [390, 700]]) {
      await page.setViewportSize({ width, height });
      for (const path of ["/", "/memory", "/tasks", session]) {
        await app.go(path);
        await page.locator("main h1").waitFor();
        await app.holds("document.querySelector('.loading') === null", "all of the view");
        if (path === session) await page.locator("figure.code .hl-keyword").first().waitFor();
        // What was drawn last is known two frames later.
        await page.evaluate(
          "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
        );
        const shifted = await page.evaluate("shifted") as number;
        assert(shifted <= SHIFT_MAX, `${path} at ${width} px: ${shifted}`);
      }
    }
  },
});

/** Where an element is, and how large. */
async function boxOf(locator: Locator) {
  await locator.waitFor();
  return (await locator.boundingBox())!;
}

Deno.test({
  name: "on a phone, names, actions and fields that belong together share a row, and none is cut",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await it.client.rpc.call("queue.pause");
    await it.client.rpc.call("queue.enqueue", {
      task_type: "research",
      description: "Find out what was done to the bridge since, with a source for each claim",
      extra: { workdir: it.workdir, files: ["history.txt"] },
    });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/memory");
    const { page } = app;
    await page.setViewportSize({ width: 390, height: 844 });
    const middle = async (locator: Locator) => {
      const { y, height } = await boxOf(locator);
      return y + height / 2;
    };
    const together = async (what: string, ...all: Locator[]) => {
      const [first, ...rest] = await Promise.all(all.map(middle));
      for (const other of rest) assert(Math.abs(first - other) < 8, `${what}: ${first}, ${other}`);
    };
    const heading = page.getByRole("heading", { level: 1 });
    await together("a view's action", heading, page.locator(".page-actions button"));
    await together("choices", page.getByLabel("Scope"), page.getByLabel("Category"));
    const search = await boxOf(page.getByLabel("Search the memory"));
    assert(search.width > 340, `the search box: ${search.width}`);

    await app.go("/tasks");
    const row = page.getByRole("row").filter({ hasText: "Find out" });
    await together("a row's action", row, row.getByRole("button"));

    await app.go("/tools");
    for (const name of ["Read policy again", "New server"]) {
      await together(name, heading, page.locator(".page-actions").getByRole("button", { name }));
    }
    const card = await boxOf(page.getByRole("region", { name: "From files" }));
    assert(card.x > 8 && card.x + card.width < 382, `a card: ${card.x}, ${card.width}`);

    await app.go("/");
    const chip = page.getByRole("button", { name: /^Directory:/ });
    const icon = await boxOf(chip.locator("svg"));
    assert(icon.x - (await boxOf(chip)).x < 16, "a chip begins where its row does");
    app.clean("a phone");
  },
});

Deno.test({
  name: "the figures of a session are shown whole or not at all",
  ignore: no_browser,
  async fn() {
    const ask = { calls: [{ name: "run_command", args: { command: "true" } }] };
    await using it = await Scenario.begin([{ text: "done" }, ask], {
      start: { approval: "ask", title: "A title" },
    });
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const facts = page.locator(".page-head .facts");
    await facts.getByText(/tokens$/).waitFor();
    for (const width of [1440, 1160, 1024, 900, 768, 660]) {
      await page.setViewportSize({ width, height: 800 });
      const whole = await boxOf(facts);
      for (const figure of await facts.locator(".figure").all()) {
        const { x, y, width: wide } = await boxOf(figure);
        const out_of_sight = y >= whole.y + whole.height;
        assert(out_of_sight || x + wide <= whole.x + whole.width + 1, `${width}: ${x}, ${wide}`);
        assertEquals(await figure.evaluate((it) => it.scrollWidth - it.clientWidth), 0, `${width}`);
      }
    }
    // With a longer state, the directory gives way and the figures stay.
    await page.setViewportSize({ width: 1200, height: 800 });
    await it.send("again");
    await facts.getByText("Needs approval").waitFor();
    const { y, height } = await boxOf(facts);
    for (const figure of await facts.locator(".figure").all()) {
      assert((await boxOf(figure)).y < y + height, "a figure is in sight");
    }
    app.clean("figures");
  },
});

Deno.test({
  name: "the names of times stay within the chart of costs",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Done.", usage: { input: 100, output: 10 } }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const { page } = await AppPage.open(browser, it.daemon, "/cost");
    await page.setViewportSize({ width: 768, height: 1024 });
    await page.locator(".choice select").last().selectOption("tokens");
    const chart = page.locator(".chart");
    await chart.locator("text").last().waitFor();
    const { x, width } = await boxOf(chart);
    for (const name of await chart.locator("text").all()) {
      const at = await boxOf(name);
      assert(at.x + at.width <= x + width + 1, `${await name.textContent()} leaves the chart`);
    }
  },
});
