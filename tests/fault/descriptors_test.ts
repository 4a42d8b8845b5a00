/** Whoever takes all its descriptors keeps a daemon from answering as long as they do, no longer. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { eventually } from "../contract/shared.ts";
import { Hire } from "../support/hire.ts";
import { rawHttp } from "../support/raw.ts";
import { RpcClient } from "../../src/client/rpc.ts";
import { can_run_svc, Place, TestClient } from "../support/svc.ts";

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

/** Open descriptors of a process (Linux). */
const openOf = (pid: number) => [...Deno.readDirSync(`/proc/${pid}/fd`)].length;

async function clientOf(place: Place): Promise<TestClient> {
  const path = place.discovery().sock;
  return new TestClient(new RpcClient(await Deno.connect({ transport: "unix", path })));
}

Deno.test({
  name: "sessions that come and go with their file tools leave no descriptor behind",
  ignore: ignore || Deno.build.os !== "linux",
  async fn() {
    await using place = new Place();
    await using hire = await Hire.serve(place, { descriptors: DESCRIPTORS });
    await using client = await clientOf(place);
    const oneSession = async (n: number) => {
      const workdir = place.mkdir(`work-${n}`);
      const id = await client.session({ workdir, model: "builtin/toolbelt", approval: "auto" });
      const { data } = await client.turn(id, "write f\n```\nhere\n```\nread f");
      assertEquals(data.stop_reason, "ok");
      assertStringIncludes(data.message, "here");
      await client.rpc.call("session.kill", { session_id: id });
    };
    for (let n = 0; n < 10; n++) await oneSession(n);
    const before = openOf(hire.pid);
    for (let n = 10; n < 40; n++) await oneSession(n);
    const after = openOf(hire.pid);
    assert(after <= before + 4, `${before} descriptors became ${after}`);
    assertEquals(await hire.stop(), 0);
  },
});

for (const first of [false, true]) {
  Deno.test({
    name: `without descriptors to spare ${
      first ? "the first" : "a"
    } tool says so, and the daemon lives`,
    ignore: ignore || Deno.build.os !== "linux",
    async fn() {
      await using place = new Place();
      await using hire = await Hire.serve(place, { descriptors: DESCRIPTORS });
      await using client = await clientOf(place);
      const workdir = place.mkdir("work");
      const id = await client.session({ workdir, model: "builtin/toolbelt", approval: "auto" });
      if (!first) {
        const before = await client.turn(id, "run echo fine");
        assertStringIncludes(before.data.message, "fine");
      }
      // Room for the turn's own files, and for no process or worker.
      const leave = 12;
      const held: Deno.Conn[] = [];
      while (openOf(hire.pid) < DESCRIPTORS - leave) {
        held.push(await Deno.connect({ hostname: "127.0.0.1", port: hire.daemon_port }));
        await eventually(() => Promise.resolve(openOf(hire.pid) >= held.length), 1_000);
      }
      for (const what of ["run echo fine", "ls"]) {
        const { data } = await client.turn(id, what);
        assertStringIncludes(data.message, "too few file descriptors", what);
      }
      for (const conn of held) conn.close();
      const works = async () => {
        const { data } = await client.turn(id, "run echo fine\nls");
        return !data.message.includes("too few");
      };
      assert(await eventually(works, 60_000));
      assertEquals(await hire.stop(), 0);
    },
  });
}

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
