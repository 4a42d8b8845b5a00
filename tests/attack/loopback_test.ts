/**
 * `localhost` is two addresses. What a daemon leaves of them free, another user's program serves to
 * the person who opens it.
 */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { which } from "../../src/os/which.ts";
import { freePort } from "../support/free_port.ts";
import { has_ipv6, LOOPBACKS } from "../support/loopback.ts";
import { granted } from "../support/permissions.ts";
import { firstLine } from "../support/processes.ts";
import { can_run_svc, Place, svcCommand } from "../support/svc.ts";

const ignore = !can_run_svc || !has_ipv6;

Deno.test({
  name: "neither family of loopback is left to another program, on either surface",
  ignore,
  async fn() {
    await using place = new Place();
    const hire_port = freePort();
    const daemon = await place.serve("--enable-agent-routes", "--addr", `:${hire_port}`);
    for (const port of [daemon.port, hire_port]) {
      for (const hostname of LOOPBACKS) {
        assertThrows(() => Deno.listen({ hostname, port }), Deno.errors.AddrInUse);
        // The probe works: one more address of this machine is free.
        Deno.listen({ hostname: "127.0.0.9", port }).close();
      }
    }
    const local = await fetch(`http://localhost:${daemon.port}/v1/discover`);
    assertEquals((await local.json()).token, daemon.token);
  },
});

Deno.test({
  name: "a port of which another program has one family is refused; a free one is found",
  ignore,
  async fn() {
    await using place = new Place();
    using taken = Deno.listen({ hostname: "::1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    const said = `port ${port} on 127.0.0.1 is in use by another program`;
    await assertRejects(() => place.serve("--port", String(port)), Error, said);
    const hire = ["--enable-agent-routes", "--addr", `:${port}`];
    await assertRejects(() => place.serve(...hire), Error, said);
    await place.serve();
  },
});

Deno.test({
  name: "a machine without IPv6 is served as well",
  ignore: !can_run_svc || Deno.build.os !== "linux" || !granted("sys") || Deno.uid() !== 0 ||
    which("unshare", Deno.env.get("PATH")) === undefined ||
    which("ip", Deno.env.get("PATH")) === undefined,
  async fn() {
    await using place = new Place();
    const [program, first] = svcCommand();
    const script =
      "off=/proc/sys/net/ipv6/conf/lo/disable_ipv6; ip link set lo up && { [ ! -e $off ] || echo 1 > $off; } && " +
      'exec "$@"';
    const child = new Deno.Command("unshare", {
      args: ["-n", "sh", "-c", script, "sh", program, ...first, "serve", "--emit-port-stdout"],
      env: place.env,
      clearEnv: true,
      stdout: "piped",
      stderr: "null",
    }).spawn();
    try {
      assertEquals(JSON.parse(await firstLine(child)).event, "daemon.listening");
    } finally {
      child.kill("SIGKILL");
      await child.status;
      await child.stdout.cancel().catch(() => {});
    }
  },
});
