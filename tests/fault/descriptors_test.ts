/** Whoever takes all its descriptors keeps a daemon from answering as long as they do, no longer. */
import { assert, assertEquals } from "@std/assert";
import { deadline } from "@std/async";
import { eventually } from "../contract/shared.ts";
import { Hire } from "../support/hire.ts";
import { rawHttp } from "../support/raw.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const DESCRIPTORS = 160;
const CONNECT_MS = 2_000;

/** Takes all the descriptors of a daemon, and gives them back. */
async function exhaust(connect: () => Promise<Deno.Conn>, during: () => Promise<void>) {
  const held: Deno.Conn[] = [];
  try {
    while (held.length < 2 * DESCRIPTORS) {
      const connecting = connect();
      try {
        held.push(await deadline(connecting, CONNECT_MS));
      } catch {
        // It listens no more, or takes none of those that wait.
        connecting.then((late) => late.close(), () => {});
        break;
      }
    }
    await during();
  } finally {
    for (const conn of held) conn.close();
  }
}

/** Whether a port answers, over a connection of its own. */
async function answers(port: number, path: string): Promise<boolean> {
  try {
    return (await rawHttp(port, "GET", path)).status === 200;
  } catch {
    return false;
  }
}

Deno.test({
  name: "out of descriptors, the agent routes listen again once there are some",
  ignore,
  async fn() {
    await using place = new Place();
    await using hire = await Hire.serve(place, { descriptors: DESCRIPTORS });
    const { port } = hire;
    const offers = () => answers(port, "/api/capabilities");
    assert(await offers());
    await exhaust(() => Deno.connect({ hostname: "127.0.0.1", port }), async () => {
      assert(!(await offers()));
    });
    assert(await eventually(offers, 60_000));
    assertEquals(await hire.stop(), 0);
  },
});

for (const door of ["the loopback port", "the local socket"] as const) {
  Deno.test({
    name: `out of descriptors by way of ${door}, the daemon answers again once there are some`,
    ignore,
    async fn() {
      await using place = new Place();
      await using hire = await Hire.serve(place, { descriptors: DESCRIPTORS });
      const port = hire.daemon_port;
      const path = place.discovery().sock;
      const connect = door === "the local socket"
        ? () => Deno.connect({ transport: "unix", path })
        : () => Deno.connect({ hostname: "127.0.0.1", port });
      await exhaust(connect, () => Promise.resolve());
      assert(await eventually(() => answers(port, "/v1/health"), 60_000));
      const { code, stderr } = await place.svc(["ctl", "discover"]);
      assertEquals([code, stderr], [0, ""]);
      const listed = await place.svc(["ctl", "sessions", "list"]);
      assertEquals(listed.code, 0, listed.stderr);
      assertEquals(await hire.stop(), 0);
    },
  });
}
