/**
 * A daemon that is killed while it deletes sessions: each is whole after the restart, or gone.
 *
 * SVC_DELETE_KILLS sets the number of kills, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { filesWith } from "../support/traces.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const KILLS = Number((granted("env") && Deno.env.get("SVC_DELETE_KILLS")) || 8);

Deno.test({
  name: `${KILLS} kills while a session is deleted: it is whole, or nothing of it is left`,
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    await using place = new Place();
    const workdir = place.mkdir("work");
    let [gone, whole, cut] = [0, 0, 0];
    for (let kill = 1; kill <= KILLS; kill++) {
      let daemon = await place.serve();
      const marker = `marker-${kill}-${random.below(1e6)}`;
      let id: string;
      {
        await using client = await daemon.rpc();
        id = await client.session({ workdir, approval: "auto" });
        await client.turn(id, `run echo ${marker} >f; echo ${marker}`);
        const deleting = client.rpc.call("session.delete", { session_id: id }).catch(() => {});
        await new Promise((done) => setTimeout(done, random.below(60)));
        await daemon.kill();
        await deleting;
      }
      Deno.removeSync(join(workdir, "f"));
      if (Deno.lstatSync(join(place.home, "ledger")).isDirectory) {
        const marks = join(place.home, "ledger", "deleting");
        try {
          cut += [...Deno.readDirSync(marks)].filter(({ name }) => name === id).length;
        } catch {
          // None was begun yet.
        }
      }
      daemon = await place.serve();
      await using client = await daemon.rpc();
      const { sessions } = await client.rpc.call("session.list", { include_ended: true });
      if (sessions.some((it: { id: string }) => it.id === id)) {
        whole++;
        const { messages } = await client.rpc.call("session.transcript", { session_id: id });
        assertStringIncludes(JSON.stringify(messages), marker);
        await client.rpc.call("session.delete", { session_id: id });
      } else gone++;
      // What the features have follows at once.
      await until(() => filesWith(place.home, marker).length === 0, `kill ${kill}`);
      assertEquals(filesWith(place.dir, marker), [], `kill ${kill}`);
      await daemon.kill();
    }
    console.log(`${KILLS} kills: ${gone} gone, ${whole} whole; ${cut} in the middle`);
    assert(gone + whole === KILLS);
  },
});
