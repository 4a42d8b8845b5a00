import { assertEquals, assertRejects } from "@std/assert";
import { AnswerClock } from "./answer_clock.ts";
import { ANSWER_LIMITS } from "./answer_limits.ts";

/** A body that sends nothing, and how it was left. */
function silent() {
  const left = Promise.withResolvers<unknown>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({ cancel: (why) => left.resolve(why) });
  return { body, left: left.promise };
}

Deno.test("an abort closes a body that nobody has read, and whose reader never comes", async () => {
  const { body, left } = silent();
  const stop = new AbortController();
  const limited = new AnswerClock(ANSWER_LIMITS, "work").limited(body, stop.signal);
  stop.abort("enough");
  assertEquals(await left, "enough");
  await assertRejects(
    () =>
      limited.getReader().read().catch((error) => {
        throw new Error(String(error));
      }),
    Error,
    "enough",
  );
});

Deno.test("a body that begins after the abort is closed", async () => {
  const { body, left } = silent();
  new AnswerClock(ANSWER_LIMITS, "work").limited(body, AbortSignal.abort("enough"));
  assertEquals(await left, "enough");
});

Deno.test("an abort during a read is an error, not the end of the answer", async () => {
  const { body, left } = silent();
  const stop = new AbortController();
  const reader = new AnswerClock(ANSWER_LIMITS, "work").limited(body, stop.signal).getReader();
  const reading = reader.read().then(({ done }) => done, String);
  stop.abort("enough");
  assertEquals([await reading, await left], ["enough", "enough"]);
});
