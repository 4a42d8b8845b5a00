/** The app as an installed one: what a browser asks of it, its page without a daemon, its badge. */
import { assertEquals } from "@std/assert";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

/** Waits until the service worker is what the page's requests go through. */
const controlled = (app: AppPage) =>
  app.holds("navigator.serviceWorker.controller !== null", "the service worker");

Deno.test({
  name: "a browser can install the app, and finds no fault with its manifest",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    await controlled(app);
    const devtools = await app.page.context().newCDPSession(app.page);
    const { errors, manifest } = await devtools.send("Page.getAppManifest");
    assertEquals(errors, []);
    const { installabilityErrors } = await devtools.send("Page.getInstallabilityErrors");
    // A profile that leaves nothing behind can install nothing.
    const found = installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito");
    assertEquals([found, manifest?.startUrl], [[], `${it.daemon.url}/`]);
    app.clean("an app that can be installed");
  },
});

Deno.test({
  name: "without a daemon a page says so in each view, and opens the view once there is one",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Done." }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await controlled(app);
    const path = `/sessions/${it.session_id}`;

    // The control: while the daemon answers, it is what one sees.
    await app.go(path);
    await page.getByRole("log").getByText("Done.").waitFor();

    await it.daemon.kill();
    await page.goto(`${it.daemon.url}${path}`);
    await page.getByRole("heading", { name: "svc is not running" }).waitFor();
    await app.accessible("the page without a daemon");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "svc is not running" }).waitFor();

    it.daemon = await it.place.serve();
    await page.getByRole("log").getByText("Done.").waitFor();
    assertEquals(new URL(page.url()).pathname, path);

    // Nothing but that page is kept: an answer of the daemon never is.
    const kept = await page.evaluate(
      "caches.keys().then((all) => Promise.all(all.map(async (it) => " +
        "(await (await caches.open(it)).keys()).map(({ url }) => new URL(url).pathname))))",
    ) as string[][];
    assertEquals(kept.length, 1);
    const names = kept[0].map((it) => it.replace(/-[0-9a-f]{8}/, "")).sort();
    assertEquals(names, ["/assets/icon.svg", "/assets/offline.html", "/assets/offline.js"]);
    const problems = app.problems.filter((text) => !/ERR_CONNECTION_REFUSED|WebSocket/.test(text));
    assertEquals(problems, []);
  },
});

Deno.test({
  name: "the icon of the tab says that a question waits, until it is answered",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command: "echo hi > a" } }] },
      { text: "Done." },
    ], { start: { approval: "ask" } });
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const icon = (name: string) =>
      app.page.locator(`link[rel=icon][href^="/assets/${name}"]`).waitFor({ state: "attached" });
    await icon("icon-");
    await it.send("go");
    const { data } = await it.event("approval.requested");
    await icon("icon-waiting-");
    await it.call("session.approve", { approval_id: data.approval_id, decision: "allow" });
    await it.event("turn.completed");
    await app.page.locator('link[rel=icon]:not([href*="waiting"])').waitFor({ state: "attached" });
    app.clean("a question that waited");
  },
});
