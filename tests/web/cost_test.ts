/** The costs' view: what it shows is what the verbs tell, while a turn runs too. */
import { assert, assertEquals } from "@std/assert";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "costs: by session and by model, in dollars and tokens, as a plot and as a table",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(
      [{ text: "One." }, { text: "Two." }, { text: "Three." }],
      {
        start: { title: "A dear session" },
        toml: '[prices."local/model-1"]\ninput = 1000\noutput = 2000\n',
      },
    );
    const { rpc } = it.client;
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/cost");
    const { page } = app;
    await page.getByText("No costs in this period").waitFor();
    await app.accessible("no costs");

    // What is spent shows up by itself.
    await it.turn("first");
    const row = page.getByRole("row", { name: /A dear session/ });
    await row.waitFor();
    const dollars = async () => `$${(await rpc.call("cost.get_current")).usd.toFixed(2)}`;
    const total = page.locator("dd").first();
    await until(async () => await total.textContent() === await dollars(), "the first total");
    const other = await it.client.session({
      workdir: it.place.mkdir("other"),
      model: it.model,
      title: "Another one",
    });
    await it.client.turn(other, "second");
    await page.getByRole("row", { name: /Another one/ }).waitFor();
    await until(async () => await total.textContent() === await dollars(), "the total");
    const { groups } = await rpc.call("cost.breakdown", { by: "session" });
    const names = page.locator("tbody th");
    assertEquals(
      await names.allTextContents(),
      groups.map(({ title }: { title: string }) => title),
    );
    await page.getByRole("img", { name: "Dollars over time, last 30 days" }).waitFor();
    await app.accessibleEverywhere("costs");

    await page.getByRole("combobox", { name: "Show" }).selectOption("tokens");
    await page.getByRole("img", { name: "Tokens over time, last 30 days" }).waitFor();
    await page.getByRole("button", { name: "Show as table" }).click();
    const table = page.getByRole("group", { name: "Tokens over time, last 30 days" });
    for (const { tokens_in, tokens_out } of groups) {
      const tokens = tokens_in + tokens_out;
      const shown = tokens < 1000 ? String(tokens) : `${(tokens / 1000).toFixed(1)}k`;
      await table.getByRole("cell", { name: shown }).first().waitFor();
    }
    await app.accessible("costs as a table");
    await page.getByRole("button", { name: "Show as plot" }).click();
    for (
      const [range, word] of [
        ["hour", "last hour"],
        ["day", "last day"],
        ["week", "last week"],
        ["all", "all time"],
      ]
    ) {
      await page.getByRole("combobox", { name: "Time" }).selectOption(range);
      await page.getByRole("img", { name: `Tokens over time, ${word}` }).waitFor();
      await until(async () => await total.textContent() === await dollars(), `the total, ${word}`);
    }
    await page.getByRole("combobox", { name: "By" }).selectOption("model");
    await page.getByRole("row", { name: new RegExp(it.model) }).waitFor();
    assertEquals(await names.allTextContents(), [it.model]);

    // By directory, and with one press to the sessions in it; the page keeps that over a reload.
    await page.getByRole("combobox", { name: "By" }).selectOption("workdir");
    const { groups: dirs } = await rpc.call("cost.breakdown", { by: "workdir" });
    const keys = dirs.map(({ key }: { key: string }) => key);
    await until(
      async () => (await names.allTextContents()).join() === keys.join(),
      "the directories",
    );
    await app.accessibleEverywhere("costs by directory");
    await page.getByRole("button", { name: it.place.dir }).filter({ hasText: "other" }).click();
    await page.getByRole("row", { name: /A dear session/ }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("row", { name: /Another one/ }).waitFor();
    assertEquals(await names.allTextContents(), ["Another one"]);
    await page.getByRole("button", { name: "show all again" }).click();
    await page.getByRole("button", { name: it.workdir }).waitFor();
    assertEquals(await names.count(), 2);
    await page.getByRole("combobox", { name: "Show" }).selectOption("usd");

    await page.getByRole("combobox", { name: "By" }).selectOption("session");
    await page.getByRole("link", { name: "Another one" }).last().click();
    await page.getByRole("heading", { level: 1, name: "Another one" }).waitFor();
    assertEquals(page.url(), `${it.daemon.url}/sessions/${other}`);
    app.clean("costs");
  },
});

Deno.test({
  name: "a price that is not known is said, and not shown as nothing, also after a restart",
  ignore: no_browser,
  async fn() {
    const free = '[prices."local/model-2"]\ninput = 0\noutput = 0\n';
    await using it = await Scenario.begin(() => ({ text: "here" }), { toml: free });
    await it.turn("go");
    const model = "local/model-2";
    const other = await it.client.session({ workdir: it.place.mkdir("other"), model });
    await it.client.turn(other, "go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    await app.page.locator(".facts").getByText("price unknown").waitFor();
    const listed = async (id: string) => {
      const { stdout } = await it.place.svc(["ctl", "sessions", "list"]);
      return stdout.split("\n").find((line) => line.startsWith(id))!;
    };
    for (const restarted of [false, true]) {
      const costs: [by: string, key: string][] = [["model", it.model], ["workdir", it.workdir]];
      for (const [by, key] of costs) {
        for (const bucket of ["minute", "hour", "day"]) {
          const { groups, total } = await it.client.rpc.call("cost.breakdown", { by, bucket });
          const of = (wanted: boolean) =>
            groups.find((it: { key: string }) => (it.key === key) === wanted)?.unpriced;
          assertEquals([by, bucket, of(true), of(false), total.unpriced], [
            by,
            bucket,
            true,
            undefined,
            true,
          ]);
        }
      }
      if (restarted) await it.restart();
      assert((await listed(it.session_id)).includes("price unknown"), await listed(it.session_id));
      assert((await listed(other)).includes("$0.00"), await listed(other));
      await app.page.goto(it.daemon.url);
      await app.connected();
      await app.page.locator("tr.session-row", { hasText: /project/ }).getByText("price unknown")
        .waitFor();
      await app.page.locator("tr.session-row", { hasText: /other/ }).getByText("$0.00").waitFor();
      await app.page.goto(`${it.daemon.url}/cost`);
      const group = app.page.locator(".group-table tbody tr");
      await group.getByText("price unknown").waitFor();
      await group.getByText("$0.00").waitFor();
      await app.page.locator(".totals").getByText("price unknown").waitFor();
      const plotted = app.page.getByRole("button", { name: "Show as table" });
      await plotted.click();
      await app.page.locator(".table-box").getByText("price unknown").waitFor();
    }
  },
});
