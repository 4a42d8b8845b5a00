/** `svc mcp-serve`: the daemon may come and go, standard output carries MCP alone. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { longProject, McpClient, McpProcess } from "../support/mcp.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, gone, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

Deno.test({
  name: "mcp-serve starts the daemon, ends with its input and prints MCP alone",
  ignore,
  async fn() {
    await using place = new Place();
    const process = new McpProcess(place);
    const ask = (id: number, method: string, params: unknown = {}) =>
      process.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    await ask(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    await process.write("not JSON\n[]\n");
    await ask(3, "ping", { padding: "x".repeat(9 * 1024 * 1024) });
    await ask(2, "tools/call", { name: "svc.daemon.health" });
    const { code, stderr } = await process.end();
    assertEquals(code, 0, stderr);
    const answers = process.lines.map((line) => JSON.parse(line));
    assert(answers.every(({ jsonrpc }) => jsonrpc === "2.0"));
    const answered = (id: number | null) => answers.filter((it) => it.id === id);
    assertEquals(answered(1)[0].result.serverInfo.name, "svc");
    assertEquals(answered(3)[0].error.code, -32600);
    assertEquals(answered(2)[0].result.structuredContent.data.status, "ok");
    assertEquals(answered(null).map(({ error }) => error.code), [-32700, -32600]);
    assert(stderr.includes("starting the daemon"), stderr);
  },
});

Deno.test({
  name: "mcp-serve takes only what its help names",
  ignore,
  async fn() {
    await using place = new Place();
    for (const args of [["--caps", "some"], ["--safe-name"], ["more"]]) {
      const { code, stdout } = await place.svc(["mcp-serve", ...args], { stdin: "" });
      assertEquals([code, stdout], [2, ""], args.join(" "));
    }
    const { code, stdout } = await place.svc(["mcp-serve", "--help"]);
    assertEquals(code, 0);
    assert(stdout.includes("--safe-names"));
  },
});

Deno.test({
  name: "a conversation over mcp-serve goes on with the next daemon",
  ignore,
  async fn() {
    await using place = new Place();
    const first = await place.serve();
    await using client = await McpClient.stdio(place);
    const { session_id } = await client.data("svc.session.start", { workdir: place.mkdir("w") });
    const uri = `svc://sessions/${session_id}/transcript`;
    await client.client.subscribeResource({ uri });

    await first.kill();
    const second = await place.serve();
    // Not a tool: what is under way when the loss is noticed is asked again, a tool is not.
    await client.client.ping();
    assertEquals((await client.data("svc.session.get", { session_id })).id, session_id);
    await client.until(
      () => client.pushed.find(({ event }) => event === "daemon.reconnected"),
      "daemon.reconnected",
    );
    await client.until(() => client.updated.includes(uri), "resources/updated after the restart");
    client.updated.length = 0;
    await client.data("svc.session.send", { session_id, text: "help" });
    await client.until(() => client.updated.includes(uri), "resources/updated");

    await second.stop();
    const third = await place.serve();
    await client.client.ping();
    assertEquals((await client.data("svc.daemon.info")).pid, third.pid);
  },
});

Deno.test({
  name: "a tool that was at work when the daemon was lost is not run a second time",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await McpClient.stdio(place);
    const { workdir } = longProject(place, `602.${Deno.pid}`);
    const call = client.call("svc.verify.test", { workdir });
    call.catch(() => {});
    const begun = () => Deno.readTextFile(join(workdir, "begun")).catch(() => "");
    await until(async () => (await begun()) !== "", "the command");
    await daemon.kill();
    // Where this one is late, mcp-serve has started another for the call that waits.
    await place.serve().catch(() => {});
    await assertRejects(() => call, Error, "its outcome is unknown");
    assertEquals((await client.data("svc.session.list")).sessions, []);
    assertEquals(await begun(), "x\n");
  },
});

Deno.test({
  name: "mcp-serve brings the daemon back when it is asked something and none comes",
  ignore,
  async fn() {
    await using place = new Place();
    await using client = await McpClient.stdio(place);
    const { pid } = await client.data("svc.daemon.info");
    Deno.kill(pid, "SIGKILL");
    await gone(pid);
    await client.client.ping();
    const after = await client.data("svc.daemon.info");
    assert(after.pid !== pid);
  },
});
