/** The port of a daemon is its successor's, and nobody else's meanwhile. */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { killKeepers, portKeepers, recordedKeeper } from "../support/port_keeper.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const TIMES = 20;

/** Waits until a process other than the last keeper is the only one that holds the port. */
async function kept(place: Place, last?: number): Promise<number> {
  const only = () => {
    const [keeper, ...more] = portKeepers(place);
    return more.length === 0 && keeper !== last && keeper === recordedKeeper(place);
  };
  await until(only, "one keeper of the port");
  return recordedKeeper(place)!;
}

const ENDS: Record<string, (daemon: Daemon) => Promise<unknown>> = {
  "a crash": (daemon) => daemon.kill(),
  "SIGTERM": (daemon) => daemon.stop(),
  async "a stop in order"(daemon) {
    const params = { grace_s: 1 };
    await daemon.http("POST", "/v1/rpc", {
      jsonrpc: "2.0",
      id: 1,
      method: "daemon.shutdown",
      params,
    });
    await daemon.ended();
  },
};

for (const [how, end] of Object.entries(ENDS)) {
  Deno.test({
    name: `after ${how} the next daemon has the same port, with another token`,
    ignore,
    async fn() {
      await using place = new Place();
      const first = await place.serve();
      await kept(place);
      await end(first);
      const next = await place.serve();
      assertEquals(next.port, first.port);
      assertNotEquals(next.token, first.token);
      assertEquals((await next.http("GET", "/v1/sessions")).status, 200);
    },
  });
}

Deno.test({
  name: "svc serve restart keeps the port",
  ignore,
  async fn() {
    await using place = new Place();
    const first = await place.serve();
    const keeper = await kept(place);
    const { code, stderr } = await place.svc(["serve", "restart"]);
    assertEquals(code, 0, stderr);
    const now = place.discovery();
    assertEquals(now.port, first.port);
    assertNotEquals(now.pid, first.pid);
    await kept(place, keeper);
  },
});

Deno.test({
  name: `${TIMES} restarts at one port leave one process that keeps it`,
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const { port } = daemon;
    await kept(place);
    for (let n = 0; n < TIMES; n++) {
      await (n % 2 === 0 ? daemon.kill() : daemon.stop());
      daemon = await place.serve();
      assertEquals(daemon.port, port);
    }
    await kept(place);
  },
});

Deno.test({
  name: "without the process that kept it, or without its record, the port is let go",
  ignore,
  async fn() {
    await using place = new Place();
    const first = await place.serve();
    await kept(place);
    await killKeepers(place);
    await first.kill();
    const second = await place.serve();
    assertNotEquals(second.port, first.port);
    await kept(place);
    await second.kill();
    Deno.removeSync(join(place.home, "port.json"));
    await until(() => portKeepers(place).length === 0, "no keeper");
    assertNotEquals((await place.serve()).port, second.port);
  },
});

Deno.test({
  name: "a port where a program of the same user listens is not taken over",
  ignore,
  async fn() {
    await using place = new Place();
    const first = await place.serve();
    await kept(place);
    // While the daemon lives, nobody at all can have it too.
    const beside = { hostname: "127.0.0.1", port: first.port, reusePort: true };
    let refused: unknown;
    try {
      Deno.listen(beside).close();
    } catch (error) {
      refused = error;
    }
    assert(refused instanceof Deno.errors.AddrInUse, String(refused));
    await first.kill();
    using _listener = Deno.listen(beside);
    const second = await place.serve();
    assertNotEquals(second.port, first.port);
    assertEquals((await second.http("GET", "/v1/sessions")).status, 200);
  },
});

Deno.test({
  name: "--port with a port that is taken or kept for another home is an error",
  ignore,
  async fn() {
    await using place = new Place();
    await using other = new Place();
    const first = await place.serve();
    await kept(place);
    const refused = async () => {
      const { code, stderr } = await other.svc(["serve", "--port", `${first.port}`]);
      assertEquals(code, 1);
      assertStringIncludes(stderr, `port ${first.port} on 127.0.0.1 is in use`);
    };
    await refused();
    await first.kill();
    await refused();
    // It is its own home's.
    assertEquals((await place.serve("--port", `${first.port}`)).port, first.port);
  },
});
