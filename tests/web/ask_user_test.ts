/** The page's questions of a model to the person. */
import { assert, assertEquals } from "@std/assert";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const OPTIONS = [{ label: "Postgres", description: "runs already" }, { label: "SQLite" }];
const ask = (args: unknown) => ({ calls: [{ name: "ask_user", args }] });

Deno.test({
  name: "a question is answered by buttons or in own words, once it has been there for a while",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      ask({ question: "Which\\u202e <b>one</b>?".replace("\\u202e", "\u202e"), options: OPTIONS }),
      ask({ question: "Which ones?", options: OPTIONS, multiple: true }),
      ask({ question: "Why?" }),
      ask({ question: "Go on?" }),
      { text: "All is said." },
    ]);
    await it.send("go");
    await it.event("approval.requested");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const armed = (name: string) =>
      page.locator("button:not([aria-disabled])", { hasText: name }).first().waitFor();
    // It is shown before it can be answered, and nothing of it is markup.
    await page.getByText("Which\\u{202e} <b>one</b>?").first().waitFor();
    await armed("SQLite");
    await app.accessibleEverywhere("a question of the model");
    await button("SQLite").click();
    await page.getByText("Which ones?").first().waitFor();
    await armed("SQLite");
    await button("SQLite").click();
    await button("Postgres").click();
    assertEquals(await button("SQLite").getAttribute("aria-pressed"), "true");
    await page.getByLabel("Your own words").fill("both of them");
    await button("Answer").click();
    await page.getByText("Why?").first().waitFor();
    assertEquals(await page.getByLabel("Your own words").inputValue(), "");
    await page.getByLabel("Your own words").fill("because");
    await armed("Answer");
    await button("Answer").click();
    await page.getByText("Go on?").first().waitFor();
    await armed("Skip");
    await button("Skip").click();
    await page.getByRole("log").getByText("All is said.").waitFor();
    const answers = it.client.of("approval.resolved").map(({ data }) =>
      data.answer ?? data.unanswered
    );
    assertEquals(answers, [
      { chosen: ["SQLite"] },
      { chosen: ["SQLite", "Postgres"], text: "both of them" },
      { chosen: [], text: "because" },
      "declined",
    ]);
    app.clean("questions");
  },
});

Deno.test({
  name: "a question that has just appeared takes no click, and goes when another face answers",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      ask({ question: "Which one?", options: OPTIONS }),
      { text: "All is said." },
    ]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.getByText("No messages yet").waitFor();
    // Clicked as soon as it is there, within the page.
    await page.evaluate(() => {
      // deno-lint-ignore no-explicit-any -- the page's globals
      const { document, MutationObserver } = globalThis as any;
      // deno-lint-ignore no-explicit-any -- the page's globals
      new MutationObserver((_: unknown, observer: any) => {
        const option = document.querySelector(".person-options button");
        if (option === null) return;
        observer.disconnect();
        option.click();
        document.title = "clicked";
      }).observe(document.body, { childList: true, subtree: true });
    });
    await it.send("go");
    const { data } = await it.event("approval.requested");
    await app.holds("document.title === 'clicked'", "the click");
    await page.locator("button:not([aria-disabled])", { hasText: "SQLite" }).waitFor();
    assertEquals(it.client.of("approval.resolved"), []);
    await it.call("session.answer", { approval_id: data.approval_id, chosen: ["Postgres"] });
    await page.getByRole("log").getByText("All is said.").waitFor();
    assert(!(await page.getByRole("button", { name: "SQLite" }).isVisible()));
  },
});
