/**
 * Another user of the machine, or a program in a sandbox of ours, asks the loopback listener for the
 * daemon's token. The control is the same probe by the daemon's own user, which gets it.
 */
import { assert, assertEquals } from "@std/assert";
import { which } from "../../src/os/which.ts";
import { forEveryone } from "../support/everyone.ts";
import { granted } from "../support/permissions.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const NOBODY = 65534;
const linux = Deno.build.os === "linux" && can_run_svc && granted("sys");
const curl = linux ? which("curl", Deno.env.get("PATH")) : undefined;
const bwrap = linux ? which("bwrap", Deno.env.get("PATH")) : undefined;
const as_root = linux && Deno.uid() === 0;

interface Probe {
  /** The program and its arguments; the address of `/v1/discover` follows. */
  argv: string[];
  uid?: number;
}

/** Status and body of `GET /v1/discover`. */
async function discover({ port }: Daemon, { argv, uid }: Probe): Promise<[number, string]> {
  const [program, ...args] = [...argv, `http://127.0.0.1:${port}/v1/discover`];
  const { stdout, stderr } = await new Deno.Command(
    uid === undefined ? program : forEveryone(program),
    {
      args,
      cwd: "/",
      ...(uid === undefined ? {} : { uid, gid: uid }),
    },
  ).output();
  const [body, status] = new TextDecoder().decode(stdout).split("\n#");
  assert(status !== undefined, new TextDecoder().decode(stderr));
  return [Number(status), body];
}

/** A client whose own end is at an address and port of its choice. */
function from(hostname: string, port: number): string[] {
  const own_end = ["--interface", hostname, "--local-port", String(port)];
  return [
    curl!,
    "--silent",
    "--show-error",
    "--max-time",
    "20",
    "-w",
    "\n#%{http_code}",
    ...own_end,
  ];
}

async function refused(daemon: Daemon, probe: Probe): Promise<void> {
  const [status, body] = await discover(daemon, probe);
  assertEquals(status, 403);
  assert(!body.includes(daemon.token));
}

async function given(daemon: Daemon, probe: Probe): Promise<void> {
  const [status, body] = await discover(daemon, probe);
  assertEquals([status, JSON.parse(body).token], [200, daemon.token]);
}

/** Ports at which the daemon's user has connections to its own daemon. */
async function connections({ port }: Daemon, count: number): Promise<Deno.TcpConn[]> {
  const hostname = "127.0.0.1";
  return await Promise.all(
    Array.from({ length: count }, () => Deno.connect({ hostname, port })),
  );
}

Deno.test({
  name: "another user at the port of a connection of ours, on another address, gets no token",
  ignore: !as_root || curl === undefined,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    for (const conn of await connections(daemon, 5)) {
      const argv = from("127.0.0.2", conn.localAddr.port);
      await refused(daemon, { argv, uid: NOBODY });
      conn.close();
    }
    const [conn] = await connections(daemon, 1);
    await given(daemon, { argv: from("127.0.0.2", conn.localAddr.port) });
    conn.close();
  },
});

Deno.test({
  name: "another user at the port of a connection that has just ended gets no token",
  ignore: !as_root || curl === undefined,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    for (const conn of await connections(daemon, 5)) {
      const { port } = conn.localAddr;
      // It ends from this side, which leaves it in TIME_WAIT: the kernel counts that as root's.
      conn.close();
      await refused(daemon, { argv: from("127.0.0.3", port), uid: NOBODY });
    }
    await given(daemon, { argv: from("127.0.0.3", 0).slice(0, -2) });
  },
});

Deno.test({
  name: "a program of ours in a process namespace of its own gets no token",
  ignore: curl === undefined || bwrap === undefined,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const argv = from("127.0.0.1", 0).slice(0, -2);
    const shared = [bwrap!, "--dev-bind", "/", "/"];
    await given(daemon, { argv: [...shared, "--", ...argv] });
    await refused(daemon, { argv: [...shared, "--unshare-pid", "--", ...argv] });
    await refused(daemon, { argv: [...shared, "--unshare-pid", "--unshare-user", "--", ...argv] });
  },
});
