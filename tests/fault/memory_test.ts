/**
 * Memory of a daemon that worked hard: it must give back what the work took. SVC_SOAK=1 runs the
 * full 2,000 commands; without it 100.
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { can_run_svc, type Daemon, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const COMMANDS = can_run_svc && Deno.env.get("SVC_SOAK") === "1" ? 2_000 : 100;
const A_TURN = 20;
const SESSIONS = 200;
const MB = 1024 * 1024;
const GROWTH_MAX = 15 * MB;
const REST_MS = 60_000;
const FLOOD = "run head -c 5000000 /dev/zero | tr '\\0' x";

/** Runs that many flooding commands, a few turns of many lines each. */
async function flood(client: TestClient, session_id: string, commands: number): Promise<void> {
  for (let left = commands; left > 0; left -= A_TURN) {
    const text = Array(Math.min(A_TURN, left)).fill(FLOOD).join("\n");
    const { data } = await client.turn(session_id, text, 120_000);
    assertEquals(data.stop_reason, "ok");
    const done = client.of("session.tool_completed");
    assertEquals(done.length, Math.min(A_TURN, left));
    assert(done.every(({ data }) => data.ok && data.truncated && data.output.length < 64 * 1024));
    client.events.length = 0;
  }
}

/** Waits until nothing more is given back, or the memory is below `enough`. */
async function settle(daemon: Daemon, enough: number, timeout_ms: number): Promise<number> {
  const until = Date.now() + timeout_ms;
  let rss = daemon.rss();
  while (rss > enough && Date.now() < until) {
    await delay(1_000);
    rss = daemon.rss();
  }
  return rss;
}

Deno.test({
  name: `${COMMANDS} commands with 5 MB of output each, then ${SESSIONS} idle sessions: ` +
    "the memory comes back",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const session_id = await client.session({ workdir: place.mkdir("busy"), approval: "auto" });
    // What only a long conversation needs is loaded too.
    await flood(client, session_id, 2 * A_TURN);
    const before = await settle(daemon, 0, 8_000);

    let peak = before;
    const sampler = setInterval(() => peak = Math.max(peak, daemon.rss()), 200);
    const started = performance.now();
    await flood(client, session_id, COMMANDS);
    const took = performance.now() - started;
    const worked = daemon.rss();
    for (let n = 0; n < SESSIONS; n++) {
      await client.rpc.call("session.start", { workdir: place.mkdir(`idle-${n}`) });
    }
    clearInterval(sampler);
    const created = daemon.rss();
    const rested_at = performance.now();
    const after = await settle(daemon, before + GROWTH_MAX, REST_MS);
    const rested = performance.now() - rested_at;
    const info = await client.rpc.call("daemon.info");
    const mb = (bytes: number) => `${(bytes / MB).toFixed(1)} MB`;
    console.log(
      `RSS before ${mb(before)}, peak ${mb(peak)}, after the commands ${mb(worked)}, ` +
        `with the sessions ${mb(created)}, after ${(rested / 1000).toFixed(0)} s of rest ` +
        `${mb(after)}; heap ${mb(info.heap_bytes)}; ${COMMANDS} commands took ` +
        `${(took / 1000).toFixed(1)} s`,
    );
    assertEquals(info.sessions, SESSIONS + 1);
    assert(after <= before + GROWTH_MAX, `grew by ${mb(after - before)}`);
  },
});
