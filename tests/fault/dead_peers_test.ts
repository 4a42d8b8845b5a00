/**
 * Peers that are cut off without a word: the daemon gives their connections back, and keeps those of
 * peers that only have nothing to say.
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { firstLine } from "../support/processes.ts";
import { RawWebSocket, TEXT } from "../support/raw.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place, tests_binary } from "../support/svc.ts";

// Of the binary alone, as it waits for the daemon's own times: two pings, or 30 s without a request.
const ignore = !can_run_svc || !tests_binary || Deno.build.os !== "linux";
const PEERS = 20;
const GONE_MS = 120_000;

const openWebSocket = async ({ port, token }: Daemon) =>
  (await RawWebSocket.open(port, { protocols: `svc.bearer, ${token}` })).socket!;

/** A program with an open WebSocket, which says when it is open. */
function webSocketProgram({ port, token }: Daemon): Deno.ChildProcess {
  const protocols = JSON.stringify(["svc.bearer", token]);
  const code = `const socket = new WebSocket("ws://127.0.0.1:${port}/", ${protocols});` +
    `socket.onopen = () => console.log("open"); setInterval(() => {}, 1000);`;
  return new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", code],
    stdin: "null",
    stdout: "piped",
  }).spawn();
}

function sockets({ pid }: Daemon): number {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].filter(({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/${pid}/fd/${name}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;
}

/** A number once it has been the same for a second: a connection may be open for a moment only. */
async function settled(count: () => number): Promise<number> {
  for (let [last, same] = [count(), 0];; same++) {
    if (same === 10) return last;
    await delay(100);
    const now = count();
    if (now !== last) [last, same] = [now, 0];
  }
}

Deno.test({
  name: "dead WebSocket peers, stopped ones and idle connections give their descriptors back",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    // Those that stay: a WebSocket that answers pings, events that do not come, the local socket.
    const living = new WebSocket(`ws://127.0.0.1:${daemon.port}/`, ["svc.bearer", daemon.token]);
    await new Promise((resolve) => living.onopen = resolve);
    await using client = await daemon.rpc();
    const session_id = await client.session({ workdir: place.mkdir("project") });
    const events = await fetch(`${daemon.url}/v1/sessions/${session_id}/events`, {
      headers: { authorization: `Bearer ${daemon.token}` },
    });
    const reader = events.body!.getReader();
    await reader.read();
    const before = await settled(() => sockets(daemon));

    const open: Disposable[] = [];
    for (let n = 0; n < PEERS; n++) {
      // It reads nothing, and so answers no ping.
      open.push(await openWebSocket(daemon));
      const silent = await Deno.connect({ hostname: "127.0.0.1", port: daemon.port });
      open.push({ [Symbol.dispose]: () => silent.close() });
      const idle = await Deno.connect({ hostname: "127.0.0.1", port: daemon.port });
      open.push({ [Symbol.dispose]: () => idle.close() });
      const request = `GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:${daemon.port}\r\n\r\n`;
      await idle.write(new TextEncoder().encode(request));
      assert(await idle.read(new Uint8Array(4096)) !== null);
    }
    const program = webSocketProgram(daemon);
    try {
      await firstLine(program);
      program.kill("SIGSTOP");
      await until(() => sockets(daemon) === before + 3 * PEERS + 1, "all of them are connected");
      await until(() => sockets(daemon) === before, "the descriptors of all of them", GONE_MS);
    } finally {
      for (const peer of open) peer[Symbol.dispose]();
      program.kill("SIGKILL");
      await program.status;
      await program.stdout.cancel().catch(() => {});
    }
    const answered = new Promise<MessageEvent>((resolve) => living.onmessage = resolve);
    living.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "daemon.health" }));
    assertEquals(JSON.parse((await answered).data).result.status, "ok");
    const closed = new Promise((resolve) => living.onclose = resolve);
    living.close();
    await closed;
    const said = reader.read();
    await client.rpc.call("session.kill", { session_id });
    assert(!(await said).done);
    await reader.cancel();
    using last = await openWebSocket(daemon);
    await last.send(TEXT, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "daemon.health" }));
    assertEquals((await last.json()).result.status, "ok");
  },
});
