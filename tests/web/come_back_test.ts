/** Open pages come back by themselves to the next daemon, and to nobody else. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { killKeepers } from "../support/port_keeper.ts";
import { LOOPBACKS } from "../support/loopback.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { can_run_systemd, UserSystemd } from "../support/systemd.ts";
import { admitted, kept, Tabs } from "../support/tabs.ts";
import { AppPage, no_browser } from "../support/web.ts";

const ignore = no_browser || Deno.build.os !== "linux";
const shared = new SharedBrowser();

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
    await using browser = await shared.profile();
    const tabs = await Tabs.open(browser, it.place, it.session_id, "the first answer");
    for (const [how, restart] of Object.entries(RESTARTS)) {
      await kept(it.place);
      await tabs.backAfter(how, () => restart(it));
    }
    await tabs.readAnew();
  },
});

Deno.test({
  name: "three tabs come back after systemd has restarted the unit, and after its daemon's crash",
  ignore: ignore || !can_run_systemd,
  async fn() {
    await using it = await Scenario.begin([{ text: "the first answer" }]);
    await it.turn("one");
    await using systemd = await UserSystemd.start(it.place);
    const { code, stderr } = await it.place.svc(["serve", "--install"]);
    assertEquals(code, 0, stderr);
    await using browser = await shared.profile();
    const tabs = await Tabs.open(browser, it.place, it.session_id, "the first answer");
    const restarts = {
      async "systemctl restart"() {
        const { success, stderr } = await systemd.systemctl("restart", "svc.service");
        assert(success, stderr);
      },
      "a crash": () => Promise.resolve(Deno.kill(it.place.discovery().pid, "SIGKILL")),
    };
    for (const [how, restart] of Object.entries(restarts)) {
      await systemd.stored();
      await tabs.backAfter(how, restart);
    }
    await tabs.readAnew();
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
    await kept(it.place);
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
