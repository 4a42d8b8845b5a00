/** Temporary sessions whose client is gone: the daemon deletes them, or the next one does. */
import { assertEquals } from "@std/assert";
import { exists } from "../../src/os/files.ts";
import { join } from "@std/path";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, spawnSvc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const SLOW = { text: ["a ", "b ", "c"], pace_ms: 60_000 };

async function temporary(it: Scenario): Promise<string[]> {
  const { sessions } = await it.client.rpc.call("session.list", { include_ended: true });
  return sessions.filter(({ temporary }: { temporary?: true }) => temporary)
    .map(({ id }: { id: string }) => id);
}

/** Begins a run of `svc chat -p` whose turn lasts. */
async function begun(it: Scenario, cwd: string): Promise<Deno.ChildProcess> {
  const asked = it.server.requests.length;
  const child = spawnSvc(it.place, ["chat", cwd, "-m", it.model, "-p", "go"]);
  await until(() => it.server.requests.length > asked, "the model is asked");
  return child;
}

async function killed(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await child.output();
}

Deno.test({
  name: "the daemon deletes the session of a client that was killed, and ends its turn",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => SLOW);
    const cwd = it.place.mkdir("asked");
    await killed(await begun(it, cwd));
    assertEquals((await temporary(it)).length, 1);
    await until(async () => (await temporary(it)).length === 0, "it is deleted");
    await until(() => [...Deno.readDirSync(cwd)].length === 0, "its files are gone");
  },
});

for (const way of ["stopped", "killed"] as const) {
  Deno.test({
    name: `the next daemon deletes what one left that was ${way} after its client`,
    ignore,
    async fn() {
      await using it = await Scenario.begin(() => SLOW);
      const cwd = it.place.mkdir("asked");
      await killed(await begun(it, cwd));
      const left = await temporary(it);
      if (way === "stopped") await it.daemon.stop();
      await it.restart();
      assertEquals([await temporary(it), exists(join(cwd, ".svc"))], [left, true]);
      await until(async () => (await temporary(it)).length === 0, "it is deleted", 180_000);
      await until(() => [...Deno.readDirSync(cwd)].length === 0, "its files are gone");
      const { sessions } = await it.client.rpc.call("session.list", { include_ended: true });
      assertEquals(sessions.map(({ id }: { id: string }) => id), [it.session_id]);
    },
  });
}

Deno.test({
  name: "one that is started over HTTP and followed by nobody goes after its turn, not before",
  ignore,
  async fn() {
    let release = () => {};
    const released = new Promise<void>((resolve) => release = resolve);
    await using it = await Scenario.begin(async () => {
      await released;
      return { text: "Done." };
    });
    const { json, status } = await it.daemon.http("POST", "/v1/sessions", {
      ...{ workdir: it.place.mkdir("asked"), model: it.model, prompt: "go", temporary: true },
    });
    assertEquals(status, 201);
    await until(() => it.server.requests.length === 1, "the model is asked");
    assertEquals(await temporary(it), [json.session_id]);
    release();
    await until(async () => (await temporary(it)).length === 0, "it is deleted");
  },
});
