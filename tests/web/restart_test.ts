/** The daemon goes and comes back: the page does too, and shows what the journal has. */
import { assertEquals, assertNotEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { killKeepers } from "../support/port_keeper.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import type { Daemon } from "../support/svc.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const PIECES = Array.from({ length: 400 }, (_, n) => `word${n} `);

/** The texts of a conversation, in order, as the page draws them. */
function drawn(page: Page, role: string): Promise<string[]> {
  return page.locator(`[role=log] [data-role=${role}]`).allTextContents();
}

const ENDS: Record<string, (daemon: Daemon) => Promise<unknown>> = {
  killed: (daemon) => daemon.kill(),
  async "restarted in order"(daemon) {
    const stop = { jsonrpc: "2.0", id: 1, method: "daemon.shutdown", params: { grace_s: 1 } };
    await daemon.http("POST", "/v1/rpc", stop);
    assertEquals((await daemon.ended()).code, 0);
  },
};

for (const [how, end] of Object.entries(ENDS)) {
  Deno.test({
    name:
      `a daemon ${how} while it streams: the page reconnects by itself, nothing is missing or twice`,
    ignore: no_browser,
    async fn() {
      await using it = await Scenario.begin([
        // It never ends by itself: it is the daemon's end that ends it.
        { text: PIECES, pace_ms: 5, hang_after: PIECES.length },
        { text: "after the restart" },
      ], { toml: `[agent]\ncontinue = "never"\n` });
      await using browser = await shared.profile();
      const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
      const { page } = app;
      await it.send("go on");
      await page.getByRole("log").getByText("word60 ").waitFor();
      await page.getByLabel("Message", { exact: true }).fill("a draft");
      await end(it.daemon);
      await page.getByText("Reconnecting…").waitFor();
      it.daemon = await it.place.serve();
      await app.connected();
      await page.getByRole("log").getByText("Interrupted").waitFor();
      await page.getByRole("log").getByText("The daemon was restarted").waitFor();
      assertEquals(await page.getByLabel("Message", { exact: true }).inputValue(), "a draft");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("log").getByText("after the restart").waitFor();

      await using client = await it.daemon.rpc();
      const { messages } = await client.rpc.call("session.transcript", {
        session_id: it.session_id,
      });
      const texts = (role: string) =>
        messages.filter((one: { role: string }) => one.role === role)
          .map((one: { text: string }) => one.text.trim());
      const asked = (await drawn(page, "user")).map((text) => text.replace(/^You:/, ""));
      assertEquals(asked, texts("user"));
      assertEquals((await drawn(page, "assistant")).map((text) => text.trim()), texts("assistant"));
      // The same from the beginning is the same that was followed.
      const followed = await page.getByRole("log").textContent();
      await page.reload();
      await page.getByRole("log").getByText("after the restart").waitFor();
      assertEquals(await page.getByRole("log").textContent(), followed);
      const refused = app.problems.filter((text) => !/ERR_CONNECTION_REFUSED|WebSocket/.test(text));
      assertEquals(refused, []);
    },
  });
}

Deno.test({
  name: "after a restart in order a lane goes on, and views hear of events again",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "before" }, { text: "after" }]);
    await it.turn("one");
    await using browser = await shared.profile();
    const lane = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}/lanes/main`);
    const asked: string[] = [];
    const costs = await AppPage.open(browser, it.daemon);
    costs.page.on("websocket", (socket) => {
      socket.on("framesent", ({ payload }) => void asked.push(String(payload)));
    });
    await costs.go("/cost");
    // Those of the view: the page has one of its own, about questions.
    const tails = () =>
      asked.filter((text) => text.includes("bus.tail") && !text.includes("approval.")).length;
    await until(() => tails() === 1, "the first subscription");
    await lane.page.getByRole("group", { name: "Output" }).getByText("before").waitFor();

    await ENDS["restarted in order"](it.daemon);
    await lane.page.getByText("Reconnecting…").waitFor();
    it.daemon = await it.place.serve();
    await lane.connected();
    await costs.connected();
    await until(() => tails() === 2, "the second subscription");
    await using client = await it.daemon.rpc();
    await client.rpc.call("session.send", { session_id: it.session_id, text: "two" });
    await lane.page.getByRole("group", { name: "Output" }).getByText("after").waitFor();
    assertEquals(await lane.page.getByRole("button", { name: "Try again" }).count(), 0);
  },
});

Deno.test({
  name: "a daemon that hangs is not shown as connected, and is once it goes on",
  ignore: no_browser || Deno.build.os === "windows",
  async fn() {
    await using it = await Scenario.begin([{ text: "here" }]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    await app.page.getByRole("heading", { level: 1 }).waitFor();
    Deno.kill(it.daemon.pid, "SIGSTOP");
    try {
      await app.page.getByText("Not responding…").waitFor();
      await app.accessible("not responding");
    } finally {
      Deno.kill(it.daemon.pid, "SIGCONT");
    }
    await app.connected();
    await it.turn("go on");
    await app.page.getByRole("log").getByText("here").waitFor();
    app.clean("a daemon that hung");
  },
});

Deno.test({
  name:
    "a turn goes on over a restart, and by a button after a crash; what it says stands there once",
  ignore: no_browser,
  async fn() {
    const half = { text: ["One ", "two "], hang_after: 2 };
    const whole = { text: ["One ", "two ", "three."] };
    await using it = await Scenario.begin([half, whole, half, whole]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const log = app.page.getByRole("log");
    const trimmed = (text: string) => text.trim();
    const again = async () => {
      await app.page.getByText("Reconnecting…").waitFor();
      it.daemon = await it.place.serve();
      await app.connected();
    };
    await it.send("count");
    await log.getByText("One two").waitFor();
    await ENDS["restarted in order"](it.daemon);
    await again();
    await log.getByText("One two three.").waitFor();
    assertEquals((await drawn(app.page, "assistant")).map(trimmed), ["One two three."]);
    assertEquals(await log.getByText("Interrupted").count(), 0);

    await using client = await it.daemon.rpc();
    await client.rpc.call("session.send", { session_id: it.session_id, text: "again" });
    await log.getByText("One two").nth(1).waitFor();
    await ENDS.killed(it.daemon);
    await again();
    await log.getByRole("button", { name: "Continue" }).click();
    await log.getByText("One two three.").nth(1).waitFor();
    assertEquals((await drawn(app.page, "assistant")).map(trimmed), [
      "One two three.",
      "One two three.",
    ]);
    assertEquals(await log.getByRole("button", { name: "Continue" }).count(), 0);
  },
});

Deno.test({
  name: "without a daemon the page says Offline, and comes back when it is asked to try again",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "here" }]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await it.daemon.kill();
    await page.getByText("Offline").waitFor();
    await app.accessible("offline");
    // It goes on trying by itself: from now on too late to be what connects it.
    await page.evaluate(`{
      const soon = setTimeout;
      globalThis.setTimeout = (call, ms, ...rest) => {
        if (ms < 700 || ms > 1_600) return soon(call, ms, ...rest);
        globalThis.put_off = true;
        return soon(call, 1e9, ...rest);
      };
    }`);
    await app.holds("globalThis.put_off", "one more try");
    it.daemon = await it.place.serve();
    await page.getByRole("button", { name: "Retry" }).click();
    await app.connected();
    await page.locator("tr.session-row", { hasText: /project/ }).waitFor();
    assertEquals(await page.getByRole("button", { name: "Retry" }).count(), 0);
  },
});

Deno.test({
  name: "a page whose daemon has come back at another port says how to get there",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "here" }]);
    await using browser = await shared.profile();
    const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { port } = it.daemon;
    await killKeepers(it.place);
    await it.daemon.kill();
    it.daemon = await it.place.serve();
    assertNotEquals(it.daemon.port, port);
    await page.getByText("Offline").waitFor();
    await page.getByText("run svc open").waitFor();
    const { stdout } = await it.place.svc(["open", it.session_id, "--print"]);
    await page.goto(stdout.trim());
    await page.getByText("Connected (external)").waitFor({ state: "attached" });
    assertEquals(new URL(page.url()).port, String(it.daemon.port));
  },
});
