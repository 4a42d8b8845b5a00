import { assertEquals, assertRejects } from "@std/assert";
import { settle } from "../../../../tests/support/clock.ts";
import { Drafts } from "./drafts.ts";

Deno.test("work on one draft is done in turn, whatever becomes of the work before it", async () => {
  const noDb = () => Promise.reject(new Error("no database is needed"));
  const drafts = new Drafts(noDb, () => false);
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work = (name: string, until?: Promise<void>) => async () => {
    log.push(`${name} begins`);
    await until;
    log.push(`${name} ends`);
    return name;
  };
  const failing = drafts.inTurn("a", async () => {
    await work("first", gate.promise)();
    throw new Error("refused");
  });
  const second = drafts.inTurn("a", work("second"));
  const other = drafts.inTurn("b", work("other"));
  assertEquals(await other, "other");
  await settle();
  assertEquals(log, ["first begins", "other begins", "other ends"]);
  gate.resolve();
  await assertRejects(() => failing, Error, "refused");
  assertEquals(await second, "second");
  assertEquals(log.slice(3), ["first ends", "second begins", "second ends"]);
  await drafts.close();
});
