/** A conversation is followed at its end, until the person goes elsewhere in it. */
import { assertEquals } from "@std/assert";
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
