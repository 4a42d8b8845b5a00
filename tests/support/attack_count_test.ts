import { assertEquals } from "@std/assert";
import { countAttacks, countLine, SUCCEEDED } from "./attack_count.ts";

Deno.test("an attack counts with its control, unless that is what failed", () => {
  const count = countAttacks([
    { outcome: "ok" },
    { outcome: "ok" },
    { outcome: "FAILED", error: `AssertionError: ${SUCCEEDED}: the secret` },
    { outcome: "FAILED", error: "AssertionError: the control brought nothing home" },
    { outcome: "ignored" },
  ]);
  assertEquals(count, { attempts: 4, controls: 3, succeeded: 1, not_run: 1 });
  assertEquals(countLine(count), "4 attempts, 3 controls that worked, 1 succeeded, 1 not run");
});
