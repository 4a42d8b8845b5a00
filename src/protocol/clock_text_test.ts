import { assertEquals } from "@std/assert";
import { clockText } from "./clock_text.ts";

Deno.test("a time today is one of the day, another has its date", () => {
  const at = new Date(2026, 10, 28, 15, 4, 59);
  assertEquals(clockText(at, new Date(2026, 10, 28, 1)), "15:04");
  assertEquals(clockText(at, new Date(2026, 10, 27, 23)), "2026-11-28 15:04");
  assertEquals(clockText(new Date(2026, 0, 2, 3, 4), at), "2026-01-02 03:04");
});
