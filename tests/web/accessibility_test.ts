/** No violation of any impact on any route, in any theme, at any width; a session by keyboard alone. */
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const MARKDOWN = `# A title

Some **bold** text, \`code\`, a [link](https://example.com), and a list:

- one
- [x] two

| a | b |
|---|---|
| 1 | 2 |

\`\`\`ts
const answer = 42;
\`\`\`

> a quotation
`;
/** It runs until the test has seen that. */
const COMMAND = "echo out; for n in $(seq 600); do [ -e seen ] && exit 3; sleep 0.1; done";

Deno.test({
  name: "axe finds nothing: sessions, a session, its lanes, dialogs, the palette, no page",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      {
        text: MARKDOWN,
        calls: [{ id: "c1", name: "run_command", args: { command: COMMAND } }],
      },
      {
        text: "It failed.",
        calls: [{ id: "c2", name: "write_file", args: { path: "a.txt", content: "new\n" } }],
      },
    ], { start: { approval: "ask", title: "A rather long title of a session ".repeat(4) } });
    await it.send("try it");
    await it.event("approval.requested");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.getByRole("table").waitFor();
    await app.accessibleEverywhere("sessions");

    await page.getByRole("button", { name: /^Directory:/ }).click();
    await page.locator("[role=option]").first().waitFor();
    await app.accessibleEverywhere("the directory of a new session");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).waitFor();
    await app.accessibleEverywhere("the menu of a session");
    await page.keyboard.press("Escape");

    await app.go(`/sessions/${it.session_id}`);
    await page.getByRole("button", { name: "Allow", exact: true }).waitFor();
    await app.accessibleEverywhere("an approval");
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByRole("button", { name: "Lanes", exact: true }).click();
    await page.getByRole("button", { name: /^Kill lane/ }).waitFor();
    await app.accessible("a running lane");
    Deno.writeTextFileSync(join(it.workdir, "seen"), "");
    const [lane] = (await it.call("lanes.list")).lanes.filter((one: { kind: string }) =>
      one.kind === "tool"
    );
    await page.getByRole("button", { name: "Allow", exact: true }).waitFor();
    await app.accessibleEverywhere("a finished command, an edit to approve");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Kill", exact: true }).waitFor();
    await app.accessible("the menu of a session");
    await page.getByRole("button", { name: "Kill", exact: true }).click();
    await page.getByRole("dialog").waitFor();
    await app.accessibleEverywhere("a question");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: /^session\.start/ }).click();
    await page.getByRole("button", { name: "Run session.start" }).waitFor();
    await app.accessibleEverywhere("a verb's form");
    await page.keyboard.press("Escape");

    await app.go(`/sessions/${it.session_id}/lanes/${lane.lane_id}`);
    await page.getByRole("heading", { name: lane.label }).waitFor();
    await app.accessibleEverywhere("a lane");
    await app.go("/nowhere");
    await page.getByText("Page not found").waitFor();
    await app.accessibleEverywhere("no page");
    app.clean("all of it");
  },
});

Deno.test({
  name: "axe finds nothing while a turn streams; what is said is announced politely",
  ignore: no_browser,
  async fn() {
    const text = [MARKDOWN, "\nThe first sentence. ", "The last one."];
    await using it = await Scenario.begin([{ text, hang_after: 2 }]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    // What was said before a page was there is not announced.
    await app.page.getByText("No messages yet").waitFor();
    await it.send("go");
    await app.page.getByRole("log").getByText("The first sentence.").waitFor();
    await app.accessibleEverywhere("a streaming turn");
    const polite = app.page.locator("[aria-live=polite]");
    await polite.filter({ hasText: "The first sentence." }).waitFor({ state: "attached" });
    await app.page.getByRole("button", { name: "Cancel turn" }).click();
    await polite.filter({ hasText: "The turn ended: cancelled" }).waitFor({ state: "attached" });
    app.clean("a streaming turn");
  },
});
