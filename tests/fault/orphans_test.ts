/** A daemon that is killed takes its commands with it, whatever they were doing. */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { Random } from "../support/random.ts";
import { hasLandlock } from "../support/landlock.ts";
import { processesWith, until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const linux = Deno.build.os === "linux";
/** SVC_KILLS=200 is the full size. */
const kills = () => Number(Deno.env.get("SVC_KILLS") ?? 5);
const MODEL = { model: "builtin/toolbelt", approval: "auto" };
/** Longer than a command takes to start, with the state of the files that is kept before it. */
const START_MS = 240;

for (const shell of ["bubblewrap", ...(hasLandlock() ? ["landlock"] : []), "none"]) {
  Deno.test({
    name: `no command outlives a killed daemon, at whatever moment, shell = "${shell}"`,
    ignore: !can_run_svc || !linux,
    async fn() {
      await using place = new Place();
      place.configure(`[sandbox]\nshell = "${shell}"\n`);
      const random = new Random(Number(Deno.env.get("SVC_TEST_SEED") ?? Date.now()));
      const marker = `orphan-${crypto.randomUUID()}`;
      const workdir = place.mkdir("work");
      const written = join(workdir, "written");
      let seen = 0;
      for (let round = 0; round < kills(); round++) {
        const daemon = await place.serve();
        const client = await daemon.rpc();
        for (let n = 0; n < 2; n++) {
          const session_id = await client.session({ workdir, ...MODEL });
          // The inner shell leaves the group.
          const loop = `while :; do echo x >>written; sleep 0.02; done # ${marker}`;
          const text = `run setsid sh -c '${loop}' & ${loop}`;
          await client.rpc.call("session.send", { session_id, text });
        }
        await delay(random.below(START_MS));
        // Once a command runs for certain, however slow the machine is.
        const running = () => processesWith(marker).length > 0;
        if (round === 0) await until(running, "a command");
        if (running()) seen++;
        await daemon.kill();
        await client[Symbol.asyncDispose]();
        await until(() => processesWith(marker).length === 0, `round ${round}: all have ended`);
        Deno.writeTextFileSync(written, "");
        await delay(50);
        assertEquals(Deno.statSync(written).size, 0, `round ${round}: nothing writes any more`);
      }
      // Otherwise no command had begun, and nothing was shown.
      assert(seen > 0);
    },
  });
}
