import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { findDaemon, letGo } from "../../src/client/daemon_handle.ts";
import type { Discovery } from "../../src/protocol/discovery.ts";
import { Desktop, type DesktopWindow, Display, no_display, sidecarAt } from "../support/desktop.ts";
import { killKeepers } from "../support/port_keeper.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, gone, Place } from "../support/svc.ts";
import { appBuilt } from "../support/web.ts";

/** `svc desktop` at a place whose daemon, if any, is the test's; `act` is given its window. */
async function withDesktop(
  place: Place,
  act: (window: DesktopWindow, desktop: Desktop) => Promise<void>,
): Promise<void> {
  await appBuilt();
  await using display = await Display.open();
  await using desktop = new Desktop(place, display);
  await act(await desktop.window(), desktop);
}

Deno.test({
  name: "the desktop shows the daemon that runs, and leaves it alone when it is closed",
  ignore: no_display,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await withDesktop(place, async (window, desktop) => {
      await window.shows("Connected (external)");
      assertEquals(await window.evaluate("location.port"), String(daemon.port));
      await window.close();
      assertEquals(await desktop.ended(), 0);
    });
    assertEquals((await daemon.http("GET", "/v1/health")).status, 200);
  },
});

Deno.test({
  name: "without a daemon the desktop brings one, which ends with the window; its sessions stay",
  ignore: no_display,
  async fn() {
    await using place = new Place();
    let brought: Discovery;
    await withDesktop(place, async (window, desktop) => {
      await window.shows("Welcome to svc");
      await window.click("Not now");
      await window.shows("Bundled daemon");
      brought = place.discovery();
      assertEquals(await window.evaluate("location.port"), String(brought.port));
      await place.svc(["ctl", "sessions", "start", place.mkdir("project")]);
      await window.close();
      assertEquals(await desktop.ended(), 0);
      assert(await gone(brought.pid));
    });
    await withDesktop(place, async (window) => {
      await window.shows("Bundled daemon");
      assertNotEquals(place.discovery().pid, brought.pid);
      await window.shows("project");
      assertEquals(await window.evaluate("document.querySelector('dialog')"), null);
    });
  },
});

Deno.test({
  name:
    "an external daemon that dies under the window: yellow, red with retry, a window that is green",
  ignore: no_display,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await withDesktop(place, async (window, desktop) => {
      await window.shows("Connected (external)");
      await daemon.kill();
      await window.shows("Reconnecting…");
      await window.shows("Offline");
      await window.shows("Retry");
      const { url } = await place.serve();
      await (await desktop.window(url)).shows("Connected (external)");
    });
  },
});

Deno.test({
  name: "a sidecar that dies is brought again, and shown",
  ignore: no_display,
  async fn() {
    await using place = new Place();
    await withDesktop(place, async (window, desktop) => {
      await window.shows("Bundled daemon");
      const { pid, token } = place.discovery();
      Deno.kill(pid, "SIGKILL");
      await until(() => place.discovery().token !== token, "another daemon");
      const { port } = place.discovery();
      await (await desktop.window(`http://127.0.0.1:${port}/`)).shows("Bundled daemon");
    });
  },
});

Deno.test({
  name: "a sidecar that is restarted from outside: the window comes back by itself",
  ignore: no_display || Deno.build.os !== "linux",
  async fn() {
    await using place = new Place();
    await withDesktop(place, async (window, desktop) => {
      await window.shows("Bundled daemon");
      assertEquals((await place.svc(["serve", "restart"])).code, 0);
      await window.shows("Connected (external)");
      await window.close();
      assertEquals(await desktop.ended(), 0, await desktop.said);
      // It is no child of the shell's, and stays.
      assertEquals((await place.svc(["serve", "--status"])).code, 0);
    });
  },
});

Deno.test({
  name: "a sidecar that is restarted at another port: the window goes over to its successor",
  ignore: no_display,
  async fn() {
    await using place = new Place();
    await withDesktop(place, async (window, desktop) => {
      await window.shows("Bundled daemon");
      await killKeepers(place);
      assertEquals((await place.svc(["serve", "restart"])).code, 0);
      const { port } = place.discovery();
      const successor = await desktop.window(`http://127.0.0.1:${port}/`);
      await successor.shows("Connected (external)");
      for (const shown of [window, successor]) await shown.close();
      assertEquals(await desktop.ended(), 0, await desktop.said);
      // It is no child of the shell's, and stays.
      assertEquals((await place.svc(["serve", "--status"])).code, 0);
    });
  },
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  Deno.test({
    name: `the desktop ended by ${signal} leaves no sidecar`,
    ignore: no_display,
    async fn() {
      await using place = new Place();
      await withDesktop(place, async (window, desktop) => {
        await window.shows("Bundled daemon");
        const { pid } = place.discovery();
        desktop.child.kill(signal);
        await desktop.ended();
        assert(await gone(pid, 20_000));
        // Nobody is left to close the window of a shell that was killed.
        if (signal === "SIGKILL") await window.close();
      });
    },
  });
}

Deno.test({
  name: "a daemon.json left by a crash, or one whose port someone else has, finds no daemon",
  ignore: !can_run_svc || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    const file = join(place.home, "daemon.json");
    assertEquals(await findDaemon(file), undefined);
    const daemon = await place.serve();
    const found = await findDaemon(file);
    assertEquals([found?.mode, found?.url, found?.token], [
      "external",
      `${daemon.url}/`,
      daemon.token,
    ]);
    const record = place.discovery();
    await daemon.kill();
    assertEquals(await findDaemon(file), undefined, "its process is gone");

    const alive = { ...record, pid: Deno.pid };
    Deno.writeTextFileSync(file, JSON.stringify(alive));
    assertEquals(await findDaemon(file), undefined, "its port is refused");

    const impostor = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => Response.json({ ...alive, token: "0".repeat(64) }),
    );
    Deno.writeTextFileSync(file, JSON.stringify({ ...alive, port: impostor.addr.port }));
    assertEquals(await findDaemon(file), undefined, "who answers does not know the token");
    await impostor.shutdown();
    Deno.writeTextFileSync(file, "{");
    assertEquals(await findDaemon(file), undefined, "half a file");
  },
});

Deno.test({
  name: "a sidecar is let go of in order; one that does not stop is killed",
  ignore: !can_run_svc || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    const orderly = await sidecarAt(place);
    await letGo(orderly);
    assertEquals(await orderly.child!.ended.then(({ success }) => success), true);

    const stuck = await sidecarAt(place);
    // It takes connections, as the system does it, and does nothing.
    Deno.kill(stuck.child!.pid, "SIGSTOP");
    await letGo(stuck);
    assertEquals((await stuck.child!.ended).signal, "SIGKILL");
  },
});

Deno.test({
  name: "a sidecar that does not start says why",
  ignore: !can_run_svc || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    place.configure("[agent]\nno_such_key = 1\n");
    const error = await sidecarAt(place).then(() => undefined, (error) => error);
    assertStringIncludes(error.message, "the bundled daemon did not start");
    assertStringIncludes(error.message, "no_such_key");
  },
});

Deno.test({
  name: "without a display the desktop says so, and brings no daemon",
  ignore: !can_run_svc || Deno.build.os !== "linux",
  async fn() {
    await using place = new Place();
    const { code, stderr } = await place.svc(["desktop"]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "DISPLAY and WAYLAND_DISPLAY are not set");
    await assertRejects(() => Deno.stat(place.home), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "start at login is a setting of its own",
  ignore: !can_run_svc || Deno.build.os !== "linux",
  async fn() {
    await using place = new Place();
    place.env.XDG_CONFIG_HOME = join(place.dir, "config dir");
    const status = async () =>
      JSON.parse((await place.svc(["desktop", "--start-at-login", "status", "--json"])).stdout);
    const entry = join(place.env.XDG_CONFIG_HOME, "autostart", "svc-desktop.desktop");
    assertEquals(await status(), { enabled: false, place: entry });
    assertEquals((await place.svc(["desktop", "--start-at-login", "off"])).code, 0);
    assertEquals((await place.svc(["desktop", "--start-at-login", "on"])).code, 0);
    assertEquals(await status(), { enabled: true, place: entry });
    assertStringIncludes(Deno.readTextFileSync(entry), '"desktop"\n');
    assertEquals((await place.svc(["desktop", "--start-at-login", "off"])).code, 0);
    assertEquals(await status(), { enabled: false, place: entry });
    const wrong = await place.svc(["desktop", "--start-at-login", "maybe"]);
    assertEquals(wrong.code, 2);
    assertStringIncludes(wrong.stderr, "expected on, off or status");
  },
});
