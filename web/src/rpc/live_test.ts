import { assert, assertEquals } from "@std/assert";
import { Client } from "./client.ts";
import { Live } from "./live.ts";

/** Answers that the test gives, one for each time it is asked. */
function setUp() {
  const asked: PromiseWithResolvers<{ n: number }>[] = [];
  const client = new Client({ connect: () => Promise.reject(new Error("nobody is asked here")) });
  const live = new Live(client, {
    ask() {
      const answer = Promise.withResolvers<{ n: number }>();
      asked.push(answer);
      return answer.promise;
    },
    every_ms: 1_000,
  });
  return { live, asked };
}

Deno.test("asked for while it is asked, it is asked once more, and the newer answer counts", async () => {
  const { live, asked } = setUp();
  const first = live.refresh();
  live.refresh();
  const last = live.refresh();
  assertEquals(asked.length, 1);
  asked[0].resolve({ n: 1 });
  while (asked.length < 2) await Promise.resolve();
  assertEquals(live.value.value, { n: 1 });
  asked[1].resolve({ n: 2 });
  await Promise.all([first, last]);
  assertEquals([live.value.value, asked.length], [{ n: 2 }, 2]);
});

Deno.test("an answer that is the same changes nothing that is drawn", async () => {
  const { live, asked } = setUp();
  for (let n = 0; n < 2; n++) {
    const done = live.refresh();
    asked[n].resolve({ n: 7 });
    const before = live.value.value;
    await done;
    assert(n === 0 || live.value.value === before);
  }
});

Deno.test("a failure is told beside the last answer, until there is another", async () => {
  const { live, asked } = setUp();
  const ask = async (give: (to: PromiseWithResolvers<{ n: number }>) => void) => {
    const done = live.refresh();
    give(asked.at(-1)!);
    await done;
    return [live.value.value?.n, live.error.value];
  };
  assertEquals(await ask((it) => it.resolve({ n: 1 })), [1, undefined]);
  assertEquals(await ask((it) => it.reject(new Error("no disk"))), [1, "no disk"]);
  assertEquals(await ask((it) => it.resolve({ n: 2 })), [2, undefined]);
});
