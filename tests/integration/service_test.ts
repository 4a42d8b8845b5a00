/** The daemon as a background unit: on a real systemd, where one can be started. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { join } from "@std/path";
import { delay } from "@std/async";
import type { Discovery } from "../../src/protocol/discovery.ts";
import { takeServiceManager } from "../support/service_manager.ts";
import { can_run_svc, gone, Place } from "../support/svc.ts";
import { can_run_systemd, UserSystemd } from "../support/systemd.ts";

// deno-lint-ignore no-explicit-any -- answers are looked into
type Json = any;

Deno.test({
  name: "a unit takes over from the daemon that ran, survives a crash, is restarted and removed",
  ignore: !can_run_systemd,
  async fn(t) {
    await using place = new Place();
    await using systemd = await UserSystemd.start(place);
    const workdir = place.mkdir("project");
    const stray = await place.serve();
    let id: string;
    {
      await using client = await stray.rpc();
      id = await client.session({ workdir });
      await client.turn(id, "help");
    }

    await t.step(
      "install writes it, shows it, and hands over the sessions",
      async () => {
        const { code, stdout, stderr } = await place.svc(["serve", "--install"]);
        assertEquals(code, 0, stderr);
        assertEquals((await stray.ended()).code, 0);
        const path = join(place.env.XDG_CONFIG_HOME, "systemd", "user", "svc.service");
        assertStringIncludes(stdout, Deno.readTextFileSync(path));
        assertStringIncludes(stdout, "starts at login, running");
        assertStringIncludes(stdout, `ExecStart="${join(place.home, "bin", "svc")}" serve`);
        const { pid } = place.discovery();
        assertEquals(await systemd.show("MainPID"), `${pid}`);
        await assertSession(place, id);
      },
    );

    await t.step("installing it twice changes nothing", async () => {
      const { pid } = place.discovery();
      const { code, stdout } = await place.svc(["serve", "--install", "--json"]);
      assertEquals(code, 0);
      const { changed, running, enabled, current, pid: unit_pid } = JSON.parse(stdout);
      assertEquals([changed, running, enabled, current], [false, true, true, true]);
      assertEquals([unit_pid, place.discovery().pid], [pid, pid]);
    });

    await t.step("status tells the daemon and its unit", async () => {
      const { code, stdout } = await place.svc(["serve", "--status", "--json"]);
      const { status, pid, service } = JSON.parse(stdout);
      assertEquals([code, status, service.pid], [0, "running", pid]);
      assertEquals([service.kind, service.installed, service.current], ["systemd", true, true]);
      const { checks } = JSON.parse((await place.svc(["doctor", "--json"])).stdout);
      const finding = checks.find(({ name }: Json) => name === "service");
      assertEquals(finding, {
        name: "service",
        status: "ok",
        message: "the background unit runs the daemon",
      });
    });

    await t.step("a unit whose text differs is written anew, and the daemon with it", async () => {
      const { pid } = place.discovery();
      place.env.PATH = `${place.mkdir("tools 100%")}:${place.env.PATH}`;
      const { code, stdout, stderr } = await place.svc(["serve", "--install", "--json"]);
      assertEquals(code, 0, stderr);
      assertEquals(JSON.parse(stdout).changed, true);
      const now = place.discovery();
      assertNotEquals(now.pid, pid);
      assertEquals(await systemd.show("MainPID"), `${now.pid}`);
      const environ = Deno.readTextFileSync(`/proc/${now.pid}/environ`).split("\0");
      assert(environ.includes(`PATH=${place.env.PATH}`), environ.join("\n"));
    });

    await t.step("a crash brings a new daemon, at the same port", async () => {
      const { pid, port } = place.discovery();
      await systemd.stored();
      Deno.kill(pid, "SIGKILL");
      assertEquals((await discovered(place, (now) => now.pid !== pid)).port, port);
      await assertSession(place, id);
    });

    await t.step("serve restart goes through systemd, which keeps the port", async () => {
      const { pid, port } = place.discovery();
      await systemd.stored();
      const { code, stderr } = await place.svc(["serve", "restart"]);
      assertEquals(code, 0, stderr);
      const now = place.discovery();
      assertNotEquals(now.pid, pid);
      assertEquals(now.port, port);
      assertEquals(await systemd.show("MainPID"), `${now.pid}`);
      await assertSession(place, id);
    });

    await t.step("reload reads the configuration, and says what is wrong with it", async () => {
      assertEquals((await systemd.systemctl("reload", "svc.service")).success, true);
      place.configure("[agent]\nmax_stepz = 1\n");
      assertEquals((await systemd.systemctl("reload", "svc.service")).success, false);
      assertEquals(await systemd.show("ActiveState"), "active");
    });

    await t.step(
      "a unit that does not start is told by what its daemon says",
      async () => {
        const { code, stderr } = await place.svc(["serve", "restart"]);
        assertNotEquals(code, 0);
        assertStringIncludes(stderr, "max_stepz");
        place.configure("");
      },
    );

    await t.step("a client starts the unit, not a daemon beside it", async () => {
      const asked = ["chat", workdir, "--approve", "auto", "-p", "run pwd"];
      const { code, stdout, stderr } = await place.svc(asked);
      assertEquals(code, 0, stderr);
      assertStringIncludes(stdout, workdir);
      assertEquals(await systemd.show("MainPID"), `${place.discovery().pid}`);
    });

    await t.step("a daemon that was asked to stop stays so", async () => {
      const { pid } = place.discovery();
      assertEquals((await place.svc(["ctl", "call", "daemon.shutdown"])).code, 0);
      assert(await gone(pid));
      const stopping = async () =>
        ["active", "deactivating"].includes(await systemd.show("ActiveState"));
      for (const end = Date.now() + 20_000; Date.now() < end && await stopping();) await delay(20);
      assertEquals([await systemd.show("ActiveState"), await systemd.show("Result")], [
        "inactive",
        "success",
      ]);
      const { code, stdout } = await place.svc(["serve", "--status"]);
      assertEquals(code, 3);
      assertStringIncludes(stdout, "not running");
    });

    await t.step("uninstall stops it and removes it; the data stays", async () => {
      assertEquals((await systemd.systemctl("start", "svc.service")).success, true);
      const { pid } = place.discovery();
      const { code, stdout, stderr } = await place.svc(["serve", "--uninstall"]);
      assertEquals(code, 0, stderr);
      assertMatch(stdout, /^removed .*svc\.service; the data in .* is kept$/m);
      assert(await gone(pid));
      assertEquals(filesBelow(place.env.XDG_CONFIG_HOME), []);
      assertEquals(await systemd.show("LoadState"), "not-found");
      const again = await place.svc(["serve", "--uninstall"]);
      assertEquals([again.code, again.stdout], [0, "no background unit is installed\n"]);
      const on_demand = await place.svc(["chat", workdir, "-p", "help"]);
      assertEquals(on_demand.code, 0, on_demand.stderr);
      assertEquals(await systemd.show("MainPID"), "0");
      await assertSession(place, id);
    });
  },
});

Deno.test({
  name: "the verbs install and uninstall a unit; the daemon that is asked hands over, and stops",
  ignore: !can_run_systemd,
  async fn() {
    await using place = new Place();
    await using systemd = await UserSystemd.start(place);
    const daemon = await place.serve();
    {
      await using client = await daemon.rpc();
      const before = await client.rpc.call("service.status");
      assertEquals([before.installed, before.kind, before.current], [false, "systemd", false]);
      const installed = await client.rpc.call("service.install");
      assertEquals([installed.installed, installed.enabled, installed.changed], [true, true, true]);
      assertEquals(Deno.readTextFileSync(installed.unit_path), installed.written);
    }
    assertEquals((await daemon.ended()).code, 0);
    const { pid } = await discovered(place, (now) => now.pid !== daemon.pid);
    assertEquals(await systemd.show("MainPID"), `${pid}`);

    const { code, stdout } = await place.svc(["ctl", "call", "service.uninstall"]);
    const { installed } = JSON.parse(stdout);
    assertEquals([code, installed], [0, false]);
    assert(await gone(pid));
    assertEquals(filesBelow(place.env.XDG_CONFIG_HOME), []);
  },
});

Deno.test({
  name: "the unit's daemon has the variables of the home's env file, which is its owner's alone",
  ignore: !can_run_systemd,
  async fn() {
    await using place = new Place();
    await using _systemd = await UserSystemd.start(place);
    place.configure('[models.mine]\nkind = "openai"\napi_key_env = "MY_KEY"\n');
    const path = join(place.home, "env");
    Deno.writeTextFileSync(path, "# keys\nMY_KEY='a key'\n", { mode: 0o600 });
    assertEquals((await place.svc(["serve", "--install"])).code, 0);
    const info = JSON.parse((await place.svc(["ctl", "call", "daemon.info"])).stdout);
    const { configured } = info.models.find(({ provider }: Json) => provider === "mine");
    assertEquals(configured, true);
    assertEquals((await place.svc(["ctl", "call", "daemon.shutdown"])).code, 0);
    assert(await gone(info.pid));

    Deno.chmodSync(path, 0o644);
    const { code, stderr } = await place.svc(["serve", "--install"]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "journalctl --user -u svc.service");
    assertThrows(() => place.discovery(), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "a unit of another home is neither used, nor written over, nor removed",
  ignore: !can_run_systemd,
  async fn() {
    await using place = new Place();
    await using _systemd = await UserSystemd.start(place);
    assertEquals((await place.svc(["serve", "--install"])).code, 0);
    const { pid } = place.discovery();
    await using other = new Place({ ...place.env, SVC_HOME: place.mkdir("other") });
    for (const flag of ["--install", "--uninstall"]) {
      const { code, stderr } = await other.svc(["serve", flag]);
      assertEquals(code, 1);
      assertStringIncludes(stderr, `SVC_HOME=${place.home}`);
    }
    assertEquals(place.discovery().pid, pid);
  },
});

Deno.test({
  name: "without a service manager nothing is written, and it is said what to do",
  ignore: !can_run_svc || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    takeServiceManager(place);
    const { code, stderr } = await place.svc(["serve", "--install"]);
    assertEquals(code, 1);
    assertMatch(stderr, /^svc: cannot reach .*\n +\S/);
    assertEquals(filesBelow(place.env.HOME), []);
    assertEquals((await place.svc(["serve", "--status"])).code, 4);
    assertEquals((await place.svc(["serve", "--install", "--port=1"])).code, 2);
    assertEquals((await place.svc(["serve", "--install", "--uninstall"])).code, 2);
  },
});

/** Waits for a discovery record. */
async function discovered(place: Place, fits: (now: Discovery) => boolean): Promise<Discovery> {
  for (const until = Date.now() + 20_000; Date.now() < until; await delay(20)) {
    try {
      const now = place.discovery();
      if (fits(now)) return now;
    } catch {
      // None is there yet.
    }
  }
  throw new Error("no daemon came");
}

async function assertSession(place: Place, id: string): Promise<void> {
  const { code, stdout, stderr } = await place.svc(["ctl", "sessions", "get", id]);
  assertEquals(code, 0, stderr);
  const { state, messages_count } = JSON.parse(stdout);
  assertEquals([state, messages_count > 0], ["running", true]);
}

function filesBelow(dir: string): string[] {
  try {
    return [...Deno.readDirSync(dir)].flatMap(({ name, isDirectory }) =>
      isDirectory ? filesBelow(join(dir, name)) : [name]
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
