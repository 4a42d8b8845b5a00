import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ServerSentEventMessage } from "@std/http";
import { settle } from "../../../tests/support/clock.ts";
import { sseResponse } from "./sse.ts";

/** Messages without end, as long as nobody stops them. */
class Endless {
  asked = 0;

  async *messages(signal: AbortSignal): AsyncGenerator<ServerSentEventMessage> {
    while (!signal.aborted) yield { data: String(++this.asked) };
  }
}

Deno.test("a client that does not read costs no more than a few messages", async () => {
  const endless = new Endless();
  const stop = new AbortController();
  const { body } = sseResponse(endless.messages(stop.signal), stop);
  await settle();
  const { asked } = endless;
  assert(asked > 0 && asked < 50, String(asked));
  await settle();
  assertEquals(endless.asked, asked);
  await body!.cancel();
  await settle();
  assert(
    stop.signal.aborted,
    "whoever makes the messages is told that the client has disconnected",
  );
});

Deno.test("messages come one after the other; a failure ends the stream", async () => {
  async function* messages(): AsyncGenerator<ServerSentEventMessage> {
    yield { data: "first" };
    yield { data: "second", id: 2 };
    throw new Error("the daemon is stopping");
  }
  const response = sseResponse(messages(), new AbortController());
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  const text = await response.text();
  assertStringIncludes(text, ":open");
  assertStringIncludes(text, "data: first\n\ndata: second\nid:2\n\n");
});
