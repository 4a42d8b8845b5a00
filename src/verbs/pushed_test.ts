import { assertEquals, assertRejects } from "@std/assert";
import { SvcError } from "../protocol/errors.ts";
import type { Deliver, PushChannel } from "./define.ts";
import { pushedBy } from "./pushed.ts";

/** A subscription whose events the test pushes. */
class Source {
  deliver!: Deliver;
  open = true;

  readonly subscribe = (push: PushChannel): Promise<number> => {
    return Promise.resolve(push.open((deliver) => {
      this.deliver = deliver;
      return { start: () => Promise.resolve(), close: () => void (this.open = false) };
    }));
  };

  push(type: string) {
    return this.deliver.event({ at: "now", type, data_json: "{}" });
  }
}

Deno.test("an event is delivered when the one before was taken", async () => {
  const source = new Source();
  const events = await pushedBy(source.subscribe, new AbortController().signal);
  let taken = false;
  const pressure = Promise.resolve(source.push("one")).then(() => taken = true);
  await Promise.resolve();
  assertEquals(taken, false);
  assertEquals((await events.next()).value?.type, "one");
  await pressure;
  const next = events.next();
  source.push("two");
  assertEquals((await next).value?.type, "two");
});

Deno.test("the end comes after what was delivered, and its error is thrown", async () => {
  const source = new Source();
  const events = await pushedBy(source.subscribe, new AbortController().signal);
  source.push("one");
  source.deliver.ended(new SvcError("internal", "gone"));
  assertEquals((await events.next()).value?.type, "one");
  await assertRejects(() => events.next(), SvcError, "gone");
});

Deno.test("who stops reading, or is gone, ends the subscription", async () => {
  const source = new Source();
  const stop = new AbortController();
  const events = await pushedBy(source.subscribe, stop.signal);
  source.push("one");
  for await (const _ of events) break;
  assertEquals(source.open, false);

  const other = new Source();
  const more = await pushedBy(other.subscribe, stop.signal);
  const next = more.next();
  stop.abort();
  assertEquals([(await next).done, other.open], [true, false]);

  const late = new Source();
  assertEquals((await (await pushedBy(late.subscribe, stop.signal)).next()).done, true);
  assertEquals(late.open, false);
});
