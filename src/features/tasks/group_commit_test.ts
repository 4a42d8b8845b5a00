import { assertEquals, assertRejects } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import { GroupCommit } from "./group_commit.ts";

/** A group whose transactions take their steps in `steps`. */
function groupWith(steps: string[]): GroupCommit {
  return new GroupCommit({
    transaction(work) {
      steps.push("begin");
      work();
      steps.push("commit");
    },
    onCommitted: () => void steps.push("committed"),
  });
}

Deno.test("all that is written together is one transaction, and each has its own result", async () => {
  const steps: string[] = [];
  const group = groupWith(steps);
  const add = (name: string) =>
    group.add(() => steps.push(name), () => {
      steps.push(`${name} is written`);
      return name;
    });
  assertEquals(await Promise.all([add("a"), add("b")]), ["a", "b"]);
  const written = ["a is written", "b is written"];
  assertEquals(steps, ["begin", "a", "b", "commit", ...written, "committed"]);
  assertEquals(group.idle, true);
  assertEquals(await add("c"), "c");
  assertEquals(steps.slice(7), ["begin", "c", "commit", "c is written", "committed"]);
});

Deno.test("writes of successive turns are one transaction, up to 256", async () => {
  const steps: string[] = [];
  const group = groupWith(steps);
  const written: Promise<number>[] = [];
  for (let n = 0; n < 300; n++) {
    written.push(group.add(() => steps.push("write"), () => n));
    await setImmediate();
  }
  await Promise.all(written);
  assertEquals(steps.indexOf("commit"), 257);
  assertEquals(steps.filter((step) => step === "commit").length, 2);
});

Deno.test("a transaction that fails fails all that is in it, and none of the next", async () => {
  const steps: string[] = [];
  const group = groupWith(steps);
  const full = () => {
    throw new Error("disk full");
  };
  const before = group.add(() => 1, () => steps.push("written"));
  const failing = group.add(full, () => steps.push("written"));
  for (const it of [before, failing]) await assertRejects(() => it, Error, "disk full");
  assertEquals(steps, ["begin"]);
  assertEquals(await group.add(() => 2, (it) => it), 2);
});

Deno.test("what follows a write fails alone", async () => {
  const group = groupWith([]);
  const failing = group.add(() => 1, () => {
    throw new Error("refused");
  });
  const other = group.add(() => 2, (it) => it);
  await assertRejects(() => failing, Error, "refused");
  assertEquals(await other, 2);
});
