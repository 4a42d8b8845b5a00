/** product.md, Desktop sidecar discovery: what a desktop shell does, and the daemon must support. */
import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { deadline, delay } from "@std/async";
import { join } from "@std/path";
import { findDaemon, letGo } from "../../src/client/daemon_handle.ts";
import { Browser } from "../support/browser.ts";
import { sidecarAt } from "../support/desktop.ts";
import { firstLine } from "../support/processes.ts";
import { Place, spawnSvc } from "../support/svc.ts";
import { appBuilt, no_browser } from "../support/web.ts";
import { WsClient } from "./client.ts";
import { row } from "./row.ts";
import { Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "Desktop sidecar discovery";
const PROBE_MS = 1_000;

/** Connects to the port as the shell's probe does. */
async function probe(port: number): Promise<void> {
  const conn = await deadline(Deno.connect({ hostname: "127.0.0.1", port }), PROBE_MS);
  conn.close();
}

row("product", SECTION, "1. daemon.json, then a TCP connect within 1 second", async () => {
  await probe(shared.place.discovery().port);
});

row("product", "Limits", "sidecar probe timeout: 1 second, a busy daemon answers", async () => {
  await using client = await shared.socket();
  const ids = await Promise.all(
    [1, 2, 3].map(() => client.session({ workdir: shared.workdir(), approval: "auto" })),
  );
  const turns = ids.map((id) => client.turn(id, "run yes | head -c 3000000\nrun seq 100000"));
  let busy = true;
  const done = Promise.all(turns).finally(() => busy = false);
  while (busy) {
    await probe(shared.daemon.port);
    // Without a pause this would be a flood, and the system's queue of connections full.
    await delay(10);
  }
  await done;
});

row("product", SECTION, "1. refused when the daemon of a left daemon.json is gone", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  await daemon.kill();
  await assertRejects(() => probe(place.discovery().port), Deno.errors.ConnectionRefused);
});

row("product", SECTION, "2. serve --port=0 --emit-port-stdout: the port on stdout", async () => {
  await using place = new Place();
  const child = spawnSvc(place, ["serve", "--port=0", "--emit-port-stdout"]);
  const { event, port } = JSON.parse(await firstLine(child));
  assertEquals(event, "daemon.listening");
  await probe(port);
  // Ready means ready: the discovery file is there and leads to the same.
  assertEquals(place.discovery().port, port);
  child.kill("SIGTERM");
  const { code, stdout } = await child.output();
  assertEquals(code, 0);
  // Nothing but NDJSON on stdout.
  for (const line of new TextDecoder().decode(stdout).split("\n")) {
    if (line !== "") JSON.parse(line);
  }
});

row("product", SECTION, "3. the line has what the handle needs: url, token, child", async () => {
  await using place = new Place();
  const child = spawnSvc(place, ["serve", "--port=0", "--emit-port-stdout"]);
  const { url, token, pid } = JSON.parse(await firstLine(child));
  const response = await fetch(new URL("/v1/sessions", url), {
    headers: { authorization: `Bearer ${token}` },
  });
  assertEquals((await response.json()).sessions, []);
  assertEquals(pid, child.pid);
  child.kill("SIGTERM");
  await child.output();
});

for (const section of [SECTION, "Limits"]) {
  const words = section === SECTION
    ? "4. daemon.shutdown over the WebSocket ends it within 5 seconds"
    : "sidecar stop wait: 5 seconds before kill";
  row("product", section, words, async () => {
    await using place = new Place();
    const child = spawnSvc(place, ["serve", "--port=0", "--emit-port-stdout"]);
    const { port, token } = JSON.parse(await firstLine(child));
    {
      await using ws = await WsClient.connect(port, token);
      const id = await ws.session({ workdir: place.mkdir("project"), approval: "auto" });
      await ws.turn(id, "help");
      await ws.call("daemon.shutdown", { grace_s: 5 });
      await ws.event((it) => it.session_id === id && it.type === "session.paused");
      await ws.closed;
    }
    // By itself, with nobody who kills it.
    const { code } = await child.output();
    assertEquals(code, 0);
  });
}

row(
  "product",
  SECTION,
  "4. a sidecar that is killed after all leaves nothing in the way",
  async () => {
    await using place = new Place();
    const first = await place.serve("--port=0");
    await first.kill();
    const second = await place.serve("--port=0");
    assertNotEquals(second.pid, first.pid);
    assertEquals(place.discovery().pid, second.pid);
  },
);

row("product", SECTION, "3. the handle: mode, url, token and child", async () => {
  await using place = new Place();
  const sidecar = await sidecarAt(place);
  const { port, token, pid } = place.discovery();
  const url = `http://127.0.0.1:${port}/`;
  assertEquals([sidecar.mode, sidecar.url, sidecar.token], ["sidecar", url, token]);
  assertEquals(sidecar.child!.pid, pid);
  const external = await findDaemon(join(place.home, "daemon.json"));
  assertEquals(external, { mode: "external", url, token });
  // Letting go of a daemon that is not ours leaves it alone.
  await letGo(external!);
  await probe(port);
  await letGo(sidecar);
  await assertRejects(() => probe(port), Deno.errors.ConnectionRefused);
});

row("product", SECTION, "6. the first time, the wizard offers `svc serve --install`", async () => {
  await appBuilt();
  await using browser = await Browser.launch();
  const page = await browser.page(`${shared.daemon.url}/?welcome`);
  const wizard = page.getByRole("dialog", { name: "Welcome to svc" });
  await wizard.getByText("svc serve --install").waitFor();
  await wizard.getByRole("button", { name: "Install the service" }).waitFor();
  await wizard.getByRole("button", { name: "Not now" }).click();
  await wizard.waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("Connected (external)").waitFor();
  assertEquals(await wizard.count(), 0);
}, { ignore: no_browser });

row(
  "product",
  SECTION,
  "7. start at login of desktop and daemon: either, both, neither",
  async () => {
    await using place = new Place();
    place.env.XDG_CONFIG_HOME = place.mkdir("config");
    const service = join(place.env.XDG_CONFIG_HOME, "systemd");
    const enabled = async (wanted: string) => {
      const { stdout } = await place.svc(["desktop", "--start-at-login", wanted, "--json"]);
      return JSON.parse(stdout).enabled;
    };
    assertEquals(await enabled("status"), false);
    assertEquals(await enabled("on"), true);
    await assertRejects(() => Deno.stat(service), Deno.errors.NotFound);
    assertEquals(await enabled("off"), false);
  },
  { ignore: Deno.build.os !== "linux" },
);
