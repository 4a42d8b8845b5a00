/** Under load the page draws seldom, keeps up, and gives its memory back. Times are the bench's. */
import { assert, assertEquals } from "@std/assert";
import { writeHistory, writeIndex } from "../support/histories.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { Place } from "../support/svc.ts";
import { AppPage, no_browser } from "../support/web.ts";
import { heapBytes, held, repaints, rowTexts, watchRepaints } from "../support/web_load.ts";

const shared = new SharedBrowser();

const DELTAS = 800;
const SESSIONS = 6;
/** What a session that was left may leave behind: its view has hundreds of nodes. */
const LEFT = { nodes: 40, listeners: 4 };

Deno.test({
  name: "500 deltas a second: ten repaints a second at most, and all of the text is there",
  ignore: no_browser,
  async fn() {
    const text = Array.from(
      { length: DELTAS },
      (_, n) => n % 60 === 59 ? `word${n}.\n\n` : `word${n} `,
    );
    await using it = await Scenario.begin([{ text, pace_ms: 2 }]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    await app.page.getByText("No messages yet").waitFor();
    await watchRepaints(app.page, "[role=log]");
    await it.turn("go");
    await app.page.getByRole("log").getByText(`word${DELTAS - 1}`).waitFor();
    const { count, ms } = await repaints(app.page);
    // Before the stream: the message itself, and what it displaces.
    const most = ms / 100 + 5;
    assert(count > 1 && count <= most, `${count} in ${ms} ms`);
    const rows = await app.page.locator("[role=log] .row").count();
    assert(rows < 60, `${rows} rows are drawn`);
    // Row 0 is the message.
    const [, ...drawn] = await rowTexts(app.page, "[role=log]");
    assertEquals(drawn.join(" ").trim().split(/\s+/), text.map((delta) => delta.trim()));
    app.clean("under load");
  },
});

Deno.test({
  name: "a long transcript draws what is in sight; sessions that are left give their memory back",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    const histories = Array.from(
      { length: SESSIONS },
      (_, n) => writeHistory(place.mkdir(`project-${n}`), 500_000),
    );
    writeIndex(place, histories);
    const daemon = await place.serve();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon);
    const { page } = app;
    const visit = async (id: string) => {
      await page.getByRole("main").locator(`a[href="/sessions/${id}"]`).click();
      await page.locator("[role=log] [data-role=assistant]").first().waitFor();
      assert(await page.locator("[role=log] .row").count() < 60);
      await page.goBack();
      await page.getByRole("table").waitFor();
    };
    // What is loaded once stays: it is no leak.
    await visit(histories[0].id);
    await visit(histories[1].id);
    const [bytes, before] = [await heapBytes(page), await held(page)];
    for (const { id } of histories) await visit(id);
    // What the last views have left to do holds them a little longer; a leak stays.
    await until(
      async () => {
        const { nodes, listeners } = await held(page);
        return await heapBytes(page) < bytes * 1.2 &&
          nodes - before.nodes < LEFT.nodes * SESSIONS &&
          listeners - before.listeners < LEFT.listeners * SESSIONS;
      },
      "the memory",
    ).catch(() => {});
    const [bytes_after, after] = [await heapBytes(page), await held(page)];
    assert(bytes_after < bytes * 1.2, `${bytes} bytes before, ${bytes_after} after`);
    for (const kind of ["nodes", "listeners"] as const) {
      const left = after[kind] - before[kind];
      assert(left < LEFT[kind] * SESSIONS, `${left} more ${kind}: ${JSON.stringify(after)}`);
    }
    assertEquals(app.problems, []);
  },
});
