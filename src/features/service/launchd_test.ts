import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../../tests/support/permissions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { homePaths } from "../../os/paths.ts";
import type { ProgramResult } from "../../os/program.ts";
import { type Launchctl, LaunchdService } from "./launchd.ts";

const TARGET = "gui/501/svc.daemon";
const ignore = !granted("read", "write", "sys") || Deno.build.os === "windows";

/** What of launchd an agent meets: it is loaded or not, and runs or not. */
class Launchd {
  loaded: string | undefined;
  pid: number | undefined;
  readonly calls: string[] = [];

  readonly launchctl: Launchctl = ([command, ...args]) => {
    this.calls.push(command);
    return Promise.resolve(this.#run(command, args));
  };

  #run(command: string, args: string[]): ProgramResult {
    const done = (stdout = "") => ({ success: true, code: 0, stdout, stderr: "" });
    const failed = { success: false, code: 113, stdout: "", stderr: "Could not find service" };
    if (command === "enable") return done();
    if (command === "print" && args[0] === "gui/501") return done();
    if (command === "bootstrap") {
      if (this.loaded !== undefined) return { ...failed, stderr: "Bootstrap failed: 5" };
      this.loaded = Deno.readTextFileSync(args[1]);
      this.pid = 4711;
      return done();
    }
    if (this.loaded === undefined || args[0] !== TARGET) return failed;
    if (command === "bootout") {
      this.loaded = this.pid = undefined;
      return done();
    }
    const pid = this.pid === undefined ? "" : `\n\tpid = ${this.pid}`;
    return done(`${TARGET} = {\n\tactive count = 1${pid}\n\tstate = running\n}`);
  }
}

interface Mac {
  home: string;
  launchd: Launchd;
  service: LaunchdService;
}

/** A user with an installed binary, and their launchd. */
async function onMac(test: (mac: Mac) => Promise<void>, launchd = new Launchd()): Promise<void> {
  const home = Deno.makeTempDirSync({ prefix: "svc-unit-" });
  try {
    const env = (name: string) => ({ HOME: home, PATH: "/usr/bin" })[name];
    const paths = homePaths(env, 501);
    Deno.mkdirSync(join(paths.home, "bin"), { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(paths.binary, "");
    const options = { paths, env, uid: 501 };
    await test({ home, launchd, service: new LaunchdService(options, home, launchd.launchctl) });
  } finally {
    Deno.removeSync(home, { recursive: true });
  }
}

Deno.test({
  name: "an agent is written, started, written anew, and removed",
  ignore,
  fn: () =>
    onMac(async ({ home, launchd, service }) => {
      assertEquals(await service.status(), { installed: false, kind: "launchd", current: false });
      const installed = await service.install();
      assertEquals(installed.changed, true);
      assertEquals(installed.unit_path, join(home, "Library", "LaunchAgents", "svc.daemon.plist"));
      assertEquals(Deno.readTextFileSync(installed.unit_path), installed.written);
      assertEquals([await service.isInstalled(), (await service.status()).running], [true, false]);

      await service.start();
      const { running, pid, current, program } = await service.status();
      assertEquals([running, pid, current], [true, 4711, true]);
      assertEquals(program, join(home, ".svc", "bin", "svc"));
      assertEquals((await service.install()).changed, false);
      launchd.calls.length = 0;
      await service.start();
      assertEquals(launchd.calls, ["print"], "what runs is left alone");

      // It was asked to stop, and another agent stands in its file now: that one is loaded.
      launchd.pid = undefined;
      launchd.loaded = "another";
      await service.start();
      assertEquals([launchd.loaded, launchd.pid], [installed.written, 4711]);

      await service.remove({ stop: true });
      assertEquals([launchd.loaded, await service.isInstalled()], [undefined, false]);
      await service.remove({ stop: true });
    }),
});

Deno.test({
  name: "where launchd does not answer nothing is written; what it refuses is told",
  ignore,
  async fn() {
    const launchd = new Launchd();
    await onMac(async ({ home, service }) => {
      await service.install();
      launchd.loaded = "one that cannot be seen";
      const refusing: Launchctl = (args) =>
        args[0] === "print" ? Promise.resolve(undefined) : launchd.launchctl(args);
      const env = (name: string) => ({ HOME: home })[name];
      const options = { paths: homePaths(env, 501), env, uid: 501 };
      const other = new LaunchdService(options, home, refusing);
      const error = await assertRejects(() => other.start(), SvcError, "Bootstrap failed: 5");
      assertEquals(error.hint, `\`launchctl print ${TARGET}\` shows its state`);
      await Deno.remove(join(home, "Library"), { recursive: true });
      await assertRejects(() => other.install(), SvcError, "cannot reach launchd");
      assertEquals(await service.isInstalled(), false);
    }, launchd);
  },
});
