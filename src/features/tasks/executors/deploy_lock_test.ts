import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../../../tests/support/permissions.ts";
import { until } from "../../../../tests/support/scripted.ts";
import { TempDir } from "../../../../tests/support/sessions.ts";
import { deploy_target, type DeployTarget } from "../../tool_servers/deploy_target.ts";
import { type DeployLock, lockDeploy } from "./deploy_lock.ts";

const ignore = !granted("read", "write", "run", "sys") || Deno.build.os === "windows";

function target(cwd: string, more: Partial<DeployTarget> = {}): DeployTarget {
  const fields = { name: "one", command: "/bin/sh", cwd, health_url: "http://127.0.0.1:9/" };
  return { ...deploy_target.parse(fields), ...more };
}

/** Locks a target for as long as the test wants; null if another deploy holds it. */
async function tryLock(dir: string, target: DeployTarget): Promise<DeployLock | null> {
  const stop = new AbortController();
  try {
    return await lockDeploy(dir, target, { signal: stop.signal, onWait: () => stop.abort() });
  } catch (error) {
    if (error === stop.signal.reason) return null;
    throw error;
  }
}

Deno.test({
  name: "what deploys to the same place is one target, also with other arguments and variables",
  ignore,
  async fn() {
    using dir = new TempDir();
    const [locks, a, b, link] = ["locks", "a", "b", "link"].map((name) => dir.join(name));
    for (const path of [a, b]) Deno.mkdirSync(path);
    Deno.symlinkSync(a, link);
    const held = (await tryLock(locks, target(a)))!;
    const others: [Partial<DeployTarget>, boolean][] = [
      [{}, false],
      [{ args: ["--now"], env: { KEY: "x" }, health_timeout: 1, expected_commit: "abc" }, false],
      [{ cwd: link }, false],
      [{ cwd: b }, true],
      [{ name: "two" }, true],
      [{ command: "/bin/true" }, true],
      [{ health_url: "http://127.0.0.1:10/" }, true],
    ];
    for (const [more, free] of others) {
      const lock = await tryLock(locks, target(a, more));
      assertEquals(lock !== null, free, JSON.stringify(more));
      lock?.release();
    }
    held.release();
    (await tryLock(locks, target(a)))!.release();
    assertEquals([...Deno.readDirSync(locks)], [], "no file is left");
  },
});

Deno.test({
  name: "the command of a killed svc keeps the target until it ends; another process does not",
  ignore,
  async fn() {
    using dir = new TempDir();
    const locks = dir.join("locks");
    const own = target(dir.path);
    const command = new Deno.Command("sleep", { args: ["600"] }).spawn();
    const held = (await tryLock(locks, own))!;
    held.started(command.pid);
    // As after a crash: the record is there, and nobody holds the lock.
    const [{ name }] = [...Deno.readDirSync(locks)];
    const crashed = dir.join("crashed");
    Deno.mkdirSync(crashed, { mode: 0o700 });
    const record = Deno.readTextFileSync(join(locks, name));
    const put = (text: string) =>
      Deno.writeTextFileSync(join(crashed, name), text, { mode: 0o600 });
    put(record);
    assertEquals(await tryLock(crashed, own), null);
    assertEquals(Deno.readTextFileSync(join(crashed, name)), record, "the record stays");
    if (Deno.build.os === "linux") {
      put(`${command.pid} 1`);
      (await tryLock(crashed, own))!.release();
      put(record);
    }
    command.kill("SIGKILL");
    await command.status;
    (await tryLock(crashed, own))!.release();
    put("not a record");
    (await tryLock(crashed, own))!.release();
    held.release();
  },
});

Deno.test({
  name: "deploys that wait have their turn although one process always has another one",
  ignore,
  async fn() {
    using dir = new TempDir();
    const locks = dir.join("locks");
    const own = target(dir.path);
    const { signal } = new AbortController();
    const order: string[] = [];
    const deploy = async (who: string) => {
      const lock = await lockDeploy(locks, own, { signal, onWait() {} });
      order.push(who);
      return lock;
    };
    const first = await deploy("busy");
    const waiting = deploy("other");
    // The first look of the other one is over when it holds the gate.
    await until(() => [...Deno.readDirSync(locks)].length === 2, "the gate");
    first.release();
    const second = deploy("busy");
    (await waiting).release();
    (await second).release();
    assertEquals(order, ["busy", "other", "busy"]);
  },
});

Deno.test({
  name: "a directory that others can write is refused",
  ignore,
  async fn() {
    using dir = new TempDir();
    const locks = dir.join("locks");
    Deno.mkdirSync(locks);
    Deno.chmodSync(locks, 0o777);
    await assertRejects(() => tryLock(locks, target(dir.path)), Error, "has mode 0777");
    Deno.chmodSync(locks, 0o700);
    (await tryLock(locks, target(dir.path)))!.release();
  },
});
