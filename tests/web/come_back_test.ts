/** Open pages come back by themselves to the next daemon, and to nobody else. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { killKeepers, portKeepers, recordedKeeper } from "../support/port_keeper.ts";
import { LOOPBACKS } from "../support/loopback.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const ignore = no_browser || Deno.build.os !== "linux";
const shared = new SharedBrowser();

/** Waits until the daemon's port is kept. */
async function kept({ place }: Scenario): Promise<void> {
  const holds = () => {
    const keeper = recordedKeeper(place);
    return keeper !== undefined && portKeepers(place).includes(keeper);
  };
  await until(holds, "a keeper of the port");
}

/** Waits until a page has what it comes back with. */
async function admitted(app: AppPage): Promise<void> {
  await app.holds(
    `performance.getEntriesByType("resource").some(({ name, responseEnd }) =>
      name.endsWith("/v1/page/key") && responseEnd > 0)`,
    "a key for the page",
  );
}

const RESTARTS: Record<string, (it: Scenario) => Promise<unknown>> = {
  async "a crash"(it) {
    await it.daemon.kill();
    it.daemon = await it.place.serve();
  },
  async "SIGTERM"(it) {
    await it.daemon.stop();
    it.daemon = await it.place.serve();
  },
  async "svc serve restart"(it) {
    const { code, stderr } = await it.place.svc(["serve", "restart"]);
    assertEquals(code, 0, stderr);
  },
};

Deno.test({
  name: "three tabs come back after a crash, SIGTERM and svc serve restart, with nothing twice",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "the first answer" }]);
    await it.turn("one");
    const { port } = it.daemon;
    await using browser = await shared.profile();
    const session = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const lane = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}/lanes/main`);
    const list = await AppPage.open(browser, it.daemon);
    const tabs = [session, lane, list];
    const log = session.page.getByRole("log");
    await log.getByText("the first answer").waitFor();
    for (const tab of tabs) await admitted(tab);
    const loads: string[] = [];
    for (const { page } of tabs) page.on("framenavigated", (frame) => loads.push(frame.url()));
    for (const [n, [how, restart]] of Object.entries(RESTARTS).entries()) {
      await kept(it);
      const before = it.place.discovery().pid;
      await restart(it);
      assertEquals([how, it.place.discovery().port], [how, port]);
      assertNotEquals(it.place.discovery().pid, before);
      for (const { page } of tabs) {
        await page.getByText("Connected (external)").waitFor({ state: "attached" });
      }
      // The new daemon says so in the session.
      await log.getByText("The daemon was restarted").nth(n).waitFor();
      assertEquals([how, await log.getByText("the first answer").count()], [how, 1]);
    }
    await list.page.getByRole("row", { name: /project/ }).waitFor();
    assertEquals(loads, []);
    // What was followed is what is read from the beginning.
    const followed = await log.textContent();
    await session.page.reload();
    await log.getByText("The daemon was restarted").nth(2).waitFor();
    assertEquals(await log.textContent(), followed);
  },
});

/** A program at the daemon's port that answers everything, and remembers what it was sent. */
function impostor(
  port: number,
  answer: (path: string, body: string) => Promise<Response> | undefined,
) {
  const asked: { path: string; headers: string; body: string }[] = [];
  const servers = LOOPBACKS.map((hostname) =>
    Deno.serve({ hostname, port, onListen() {} }, async (request) => {
      const { pathname: path } = new URL(request.url);
      const body = await request.text();
      asked.push({ path, headers: JSON.stringify([...request.headers]), body });
      const token = "f".repeat(64);
      return await answer(path, body) ?? Response.json({ port, token, nonce: token, proof: token });
    })
  );
  return {
    asked,
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server.shutdown()));
    },
  };
}

Deno.test({
  name: "a page sends an impostor at its port nothing but random numbers, and stays offline",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "here" }]);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await admitted(app);
    await kept(it);
    const { port, token } = it.daemon;
    await killKeepers(it.place);
    await it.daemon.kill();
    const real = await it.place.serve();
    assertNotEquals(real.port, port);
    {
      // Passes on what it is asked, and what the daemon at its other port says.
      let relayed = 0;
      await using other = impostor(port, (path, body) => {
        if (!path.startsWith("/v1/page/")) return undefined;
        relayed++;
        const headers = { "content-type": "application/json" };
        return fetch(`${real.url}${path}`, { method: "POST", headers, body });
      });
      await page.getByText("Offline").waitFor();
      await page.getByText("run svc open").waitFor();
      // What is not loaded yet is not taken from it either.
      await page.getByRole("link", { name: "Missions" }).click();
      await page.getByRole("button", { name: "Retry" }).click();
      await until(() => relayed > 3, "another try");
      for (const { path, headers, body } of other.asked) {
        assertEquals(path, "/v1/page/challenge");
        assert(!headers.includes("authorization") && !headers.includes("websocket"), headers);
        assertEquals(Object.keys(JSON.parse(body)).sort(), ["nonce", "page"]);
        assert(!`${headers}${body}`.includes(token) && !`${headers}${body}`.includes(real.token));
      }
      // The control: what a page does send would be seen.
      const seen = other.asked.length;
      await page.evaluate(`fetch("/v1/sessions", { headers: { authorization: "Bearer x" } })`);
      await until(
        () => other.asked.slice(seen).some(({ headers }) => headers.includes("Bearer x")),
        "what the page sends",
      );
    }
    // With the daemon back at its port, the page is too.
    await killKeepers(it.place);
    await real.kill();
    it.daemon = await it.place.serve("--port", String(port));
    await page.getByText("Connected (external)").waitFor({ state: "attached" });
    await page.getByRole("heading", { name: "Missions", level: 1 }).waitFor();
  },
});
