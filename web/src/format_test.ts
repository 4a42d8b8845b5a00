import { assertEquals } from "@std/assert";
import { ago, bytes, count, duration, usd } from "./format.ts";
import { matchPath } from "./router.ts";

Deno.test("times read as a person says them", () => {
  const now = Date.parse("2026-01-02T12:00:00Z");
  const said = (ms: number) => ago(new Date(now - ms).toISOString(), now);
  assertEquals([-5_000, 0, 9_999].map(said), ["just now", "just now", "just now"]);
  assertEquals([10_000, 60_000, 3_600_000].map(said), ["10 s ago", "1 min ago", "1 h ago"]);
  assertEquals([86_400_000, 99 * 86_400_000, 100 * 86_400_000].map(said), [
    "1 d ago",
    "99 d ago",
    "2025-09-24",
  ]);
  assertEquals([5, 1_500, 61_000, 3_660_000].map(duration), [
    "5 ms",
    "1.5 s",
    "1 min 1 s",
    "1 h 1 min",
  ]);
});

Deno.test("amounts keep the figures that matter", () => {
  assertEquals([0, 999, 1_500, 2_345_678].map(bytes), ["0 B", "999 B", "1.5 kB", "2.3 MB"]);
  assertEquals([0, 0.0012, 0.5, 12.345].map(usd), ["$0.00", "$0.0012", "$0.50", "$12.35"]);
  assertEquals([7, 1_500, 2_500_000].map(count), ["7", "1.5k", "2.5M"]);
});

Deno.test("a path fits its pattern and no other", () => {
  assertEquals(matchPath("/sessions/:id", "/sessions/a%20b"), { id: "a b" });
  assertEquals(matchPath("/sessions/:id", "/sessions/%E0%A4%A"), { id: "%E0%A4%A" });
  assertEquals(matchPath("/sessions/:id", "/sessions/"), undefined);
  assertEquals(matchPath("/sessions/:id", "/sessions/x/y"), undefined);
  assertEquals(matchPath("/", "/"), {});
});
