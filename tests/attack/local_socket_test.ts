/** A program in a sandbox that reached the socket's path has our uid, and is not our user. */
import { assertEquals } from "@std/assert";
import { which } from "../../src/os/which.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const path = can_run_svc ? Deno.env.get("PATH") : undefined;
const bwrap = which("bwrap", path);
const curl = which("curl", path);

Deno.test({
  name:
    "the local socket answers nobody in another process namespace, and goes on with who was there",
  ignore: Deno.build.os !== "linux" || bwrap === undefined || curl === undefined,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using before = await daemon.rpc();
    /** What a raw JSON-RPC line is answered with; curl speaks to the socket byte by byte. */
    const ask = async (...wrapper: string[]): Promise<string> => {
      const child = new Deno.Command(bwrap!, {
        args: [
          ...["--dev-bind", "/", "/", ...wrapper, "--", curl!, "--silent", "--max-time", "4"],
          ...["--http0.9", "--unix-socket", daemon.sock, "--upload-file", "-", "telnet://svc"],
        ],
        stdin: "piped",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const writer = child.stdin.getWriter();
      const line = '{"jsonrpc":"2.0","id":1,"method":"daemon.health"}\n';
      await writer.write(new TextEncoder().encode(line)).catch(() => {});
      await writer.close().catch(() => {});
      const { stdout } = await child.output();
      return new TextDecoder().decode(stdout);
    };
    assertEquals(JSON.parse(await ask()).result.status, "ok");
    assertEquals(await ask("--unshare-pid"), "");
    assertEquals(await ask("--unshare-user", "--unshare-pid"), "");
    assertEquals((await before.rpc.call("daemon.health")).status, "ok");
  },
});
