import { assertEquals } from "@std/assert";
import { costText, usd } from "./amount.ts";

Deno.test("an amount has two figures after the point, or four below a cent", () => {
  assertEquals([0, 0.0042, 0.01, 12.345].map(usd), ["$0.00", "$0.0042", "$0.01", "$12.35"]);
});

Deno.test("a cost that is not known is not shown as nothing", () => {
  assertEquals(costText({ cost_usd: 0 }), "$0.00");
  assertEquals(costText({ cost_usd: 0, unpriced: true }), "price unknown");
  assertEquals(costText({ cost_usd: 0.5, unpriced: true }), "over $0.50");
});
