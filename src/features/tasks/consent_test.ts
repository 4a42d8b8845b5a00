import { assertEquals } from "@std/assert";
import type { Via } from "../../verbs/define.ts";
import { consented } from "./consent.ts";

const request = (extra?: Record<string, unknown>, task_type = "code") =>
  ({ task_type, query: "x", effort: "standard", extra }) as const;

Deno.test("a code task that a model asks for asks as the configuration says", () => {
  const approval = (via: Via, configured: "ask" | "auto" | "read_only", given?: string) =>
    consented(request(given === undefined ? {} : { approval: given }), { via }, configured)
      .extra?.approval;
  assertEquals(approval("mcp", "ask"), "ask");
  assertEquals(approval("mcp", "read_only"), "ask");
  assertEquals(approval("mcp", "ask", "auto"), "ask");
  assertEquals(approval("mcp", "auto"), "auto");
  assertEquals(approval("mcp", "auto", "ask"), "ask");
  // A person's own call is left as it is.
  for (const via of ["socket", "http", "websocket"] as const) {
    assertEquals(approval(via, "ask"), undefined);
    assertEquals(approval(via, "ask", "ask"), "ask");
  }
  const other = request({}, "research");
  assertEquals(consented(other, { via: "mcp" }, "ask"), other);
});
