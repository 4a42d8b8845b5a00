/** A conversation is followed at its end, until the person goes elsewhere in it. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { Browser } from "../support/browser.ts";
import { Scenario, until } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

const STEPS = 8;
const CONTENT = Array.from({ length: 60 }, (_, n) => `const line_${n} = ${n};`).join("\n");

/** How far the conversation is from its end, in pixels. */
async function toEnd(page: Page): Promise<number> {
  return await page.getByRole("log").evaluate((log) => {
    const { scrollHeight, scrollTop, clientHeight } = log as unknown as Record<string, number>;
    return scrollHeight - scrollTop - clientHeight;
  });
}

Deno.test({
  name: "a conversation opens at its end, and stays there while its changes are drawn; " +
    "who scrolled away stays where they are",
  ignore: no_browser,
  async fn() {
    const steps = Array.from({ length: STEPS }, (_, n) => ({
      text: `Step ${n}.`,
      calls: [{ name: "write_file", args: { path: `file_${n}.ts`, content: CONTENT } }],
    }));
    await using it = await Scenario.begin([...steps, { text: "All written." }, { text: "More." }]);
    await it.turn("write them");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.getByRole("log").getByText("All written.").waitFor();
    await page.getByRole("group", { name: `Change of file_${STEPS - 1}.ts` }).waitFor();
    await until(async () => await toEnd(page) < 2, "the end of the conversation");
    const newest = page.getByRole("button", { name: "Newest" });
    assertEquals(await newest.count(), 0);

    // With less room it is the end that is seen.
    await page.setViewportSize({ width: 1280, height: 400 });
    await until(async () => await toEnd(page) < 2, "the end, with less room");

    await page.getByRole("log").hover();
    await page.mouse.wheel(0, -2_000);
    await newest.waitFor();
    let away = 0;
    await until(async () => {
      const before = away;
      away = await toEnd(page);
      return away === before && away > 1_000;
    }, "the end of the scroll");
    await it.turn("and more");
    await until(async () => await toEnd(page) > away, "the answer, further below");
    await newest.click();
    await page.getByRole("log").getByText("More.").waitFor();
    await until(async () => await toEnd(page) < 2, "the end, again");
    app.clean("following");
  },
});

/** The row at the top of the conversation, and how far its beginning is above, in pixels. */
async function reading(page: Page): Promise<[key: string, above: number]> {
  return await page.getByRole("log").evaluate((log) => {
    // deno-lint-ignore no-explicit-any -- an element of the page
    const box = log as any;
    const { top } = box.getBoundingClientRect();
    for (const row of box.querySelectorAll(".row")) {
      const { top: begins, bottom } = row.getBoundingClientRect();
      if (bottom > top) return [row.dataset.key, Math.round(top - begins)];
    }
    return ["", 0];
  }) as [string, number];
}

Deno.test({
  name: "Back and a reload lead to where somebody read in a conversation; a link leads to its end",
  ignore: no_browser,
  async fn() {
    const steps = Array.from({ length: 40 }, (_, n) => ({
      text: `Step ${n}.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n`,
      calls: [{ name: "write_file", args: { path: `file_${n}.ts`, content: CONTENT } }],
    }));
    await using it = await Scenario.begin([...steps, { text: "All written." }, { text: "More." }]);
    await it.turn("write them");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const newest = page.getByRole("button", { name: "Newest" });
    await page.getByRole("log").getByText("All written.").waitFor();
    await until(async () => await toEnd(page) < 2, "the end of the conversation");
    await page.getByRole("log").hover();
    await page.mouse.wheel(0, -6_000);
    await newest.waitFor();
    const kept = `history.state.reading?.replace(/^[\\d.]+/, Math.round)`;
    let place: [string, number] = ["", 0];
    await until(async () => {
      const before = place;
      place = await reading(page);
      return place.join() === before.join() && await page.evaluate(kept) ===
          `${place[1]} ${place[0]}`;
    }, "the place that is kept");

    const isThere = async () => {
      const [key, above] = await reading(page);
      return key === place[0] && Math.abs(above - place[1]) <= 1;
    };
    const returned = async (what: string) => {
      await until(isThere, what);
      // It stays when all is drawn.
      await page.evaluate(`new Promise((done) => {
        let left = 60;
        const frame = () => left-- > 0 ? requestAnimationFrame(frame) : done();
        frame();
      })`);
      assert(await isThere(), what);
      assertEquals(await newest.count(), 1);
    };
    await page.reload();
    await newest.waitFor();
    await returned("the place, after a reload");
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    // What is said meanwhile changes nothing.
    await it.turn("and more");
    await page.goBack();
    await newest.waitFor();
    await returned("the place, by Back");

    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await page.locator(`a[href="/sessions/${it.session_id}"]`).first().click();
    await page.getByRole("log").getByText("More.").waitFor();
    await until(async () => await toEnd(page) < 2, "the end, by a link");
    app.clean("the place where somebody reads");
  },
});
