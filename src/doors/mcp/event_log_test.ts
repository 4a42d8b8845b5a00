import { assertEquals, assertRejects } from "@std/assert";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import { EventLog } from "./event_log.ts";

function notification(text: string): JSONRPCMessage {
  return { jsonrpc: "2.0", method: "notifications/message", params: { text } };
}

async function replayed(log: EventLog, id: string): Promise<string[]> {
  const ids: string[] = [];
  await log.replayEventsAfter(id, {
    send: (id) => {
      ids.push(id);
      return Promise.resolve();
    },
  });
  return ids;
}

Deno.test("what follows an event in its own stream is replayed", async () => {
  const log = new EventLog();
  const first = await log.storeEvent("a", notification("1"));
  await log.storeEvent("b", notification("2"));
  const third = await log.storeEvent("a", notification("3"));
  assertEquals(await log.getStreamIdForEventId(first), "a");
  assertEquals(await replayed(log, first), [third]);
  assertEquals(await replayed(log, third), []);
});

Deno.test("a stream's first event, which says nothing, is not replayed", async () => {
  const log = new EventLog();
  const before = await log.storeEvent("a", notification("1"));
  await log.storeEvent("a", {} as JSONRPCMessage);
  assertEquals(await replayed(log, before), []);
});

Deno.test("a stream ends with its answer", async () => {
  const log = new EventLog();
  const told = await log.storeEvent("a", notification("1"));
  const answer = await log.storeEvent("a", { jsonrpc: "2.0", id: 1, result: {} });
  const refusal = await log.storeEvent("b", {
    jsonrpc: "2.0",
    id: 2,
    error: { code: 1, message: "" },
  });
  assertEquals([told, answer, refusal, "9"].map((id) => log.endsStream(id)), [
    false,
    true,
    true,
    false,
  ]);
});

Deno.test("the oldest events go when there is too much, the newest stays however large", async () => {
  const log = new EventLog();
  const first = await log.storeEvent("a", notification("x".repeat(600_000)));
  const second = await log.storeEvent("a", notification("x".repeat(600_000)));
  assertEquals(await log.getStreamIdForEventId(first), undefined);
  await assertRejects(() => replayed(log, first), Error, "no longer available");
  assertEquals(await log.getStreamIdForEventId(second), "a");
  const large = await log.storeEvent("a", notification("x".repeat(3_000_000)));
  assertEquals(await log.getStreamIdForEventId(second), undefined);
  assertEquals(await log.getStreamIdForEventId(large), "a");
  for (let n = 0; n < 5_000; n++) await log.storeEvent("b", notification(""));
  assertEquals(await log.getStreamIdForEventId(large), undefined);
});
