import { assertEquals, assertThrows } from "@std/assert";
import { recent } from "./recent.ts";

Deno.test("what was found is kept for its time, and found anew after it", () => {
  let count = 0;
  const kept = recent(60_000, () => ++count);
  assertEquals([kept(), kept()], [1, 1]);
  const at_once = recent(-1, () => ++count);
  assertEquals([at_once(), at_once()], [2, 3]);
});

Deno.test("a search that fails is made again", () => {
  let fails = true;
  const kept = recent(60_000, () => {
    if (fails) throw new Error("not there");
    return "found";
  });
  assertThrows(kept, Error, "not there");
  fails = false;
  assertEquals(kept(), "found");
});
