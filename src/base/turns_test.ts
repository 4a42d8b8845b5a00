import { assertEquals } from "@std/assert";
import { Turns } from "./turns.ts";

Deno.test("turns come in order, with the work of others between them", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const others = setInterval(() => seen.push("other"));
  await Promise.all(["a", "b", "c"].map(async (name) => {
    await turns.next();
    seen.push(name);
    // As long as a program takes to start.
    for (const end = performance.now() + 10; performance.now() < end;);
  }));
  clearInterval(others);
  // Whatever the others did, no two turns are next to each other.
  assertEquals(seen.filter((it) => it !== "other"), ["a", "b", "c"]);
  assertEquals(/a,(other,)+b,(other,)+c/.test(seen.join()), true);
  // The first one of a quiet time does not wait for any timer.
  await new Promise((resolve) => setTimeout(resolve, 5));
  let waited = true;
  const timer = setTimeout(() => waited = false);
  await turns.next();
  assertEquals(waited, true);
  clearTimeout(timer);
  await new Promise((resolve) => setTimeout(resolve, 5));
});
