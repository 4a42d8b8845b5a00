import { assertEquals } from "@std/assert";
import type { Receiver } from "../rpc/connection.ts";
import { LineEntry } from "./line_entry.ts";

/** An entry to two servers, and what each was given. */
function entry() {
  const log: string[] = [];
  const server = (name: string) => (): Promise<Receiver> => {
    log.push(`${name} opens`);
    return Promise.resolve({
      receive: (text: string) => Promise.resolve(void log.push(`${name}: ${text}`)),
      dispose: () => void log.push(`${name} ends`),
    });
  };
  const servers = { withSession: server("session"), stateless: server("stateless") };
  return { log, line: new LineEntry(servers) };
}

const VERSION = "io.modelcontextprotocol/protocolVersion";
const LIST = JSON.stringify({
  method: "tools/list",
  params: { _meta: { [VERSION]: "2026-07-28" } },
});
const DISCOVER = JSON.stringify({ method: "server/discover" });
const INITIALIZE = JSON.stringify({ method: "initialize" });
const PING = JSON.stringify({ method: "ping" });

Deno.test("the first message decides which server answers", async () => {
  for (
    const [first, name] of [
      [INITIALIZE, "session"],
      [PING, "session"],
      ["not JSON", "session"],
      ["null", "session"],
      [LIST, "stateless"],
      [DISCOVER, "stateless"],
    ]
  ) {
    const { log, line } = entry();
    await Promise.all([first, PING, LIST].map((it) => line.receive(it)));
    line.dispose();
    await Promise.resolve();
    const expected = [first, PING, LIST].map((it) => `${name}: ${it}`);
    assertEquals(log, [`${name} opens`, ...expected, `${name} ends`]);
  }
});

Deno.test("a client that asks what there is can still begin a session", async () => {
  const { log, line } = entry();
  for (const text of [DISCOVER, INITIALIZE, LIST]) await line.receive(text);
  assertEquals(log, [
    "stateless opens",
    `stateless: ${DISCOVER}`,
    "session opens",
    `session: ${INITIALIZE}`,
    `session: ${LIST}`,
  ]);
});
