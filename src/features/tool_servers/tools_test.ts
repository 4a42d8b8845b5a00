import { assertEquals, assertNotEquals } from "@std/assert";
import { ruleOf } from "./tools.ts";
import type { OfferedTool } from "./offer.ts";

const TOOL = {
  name: "deploy",
  description: "Deploys to staging.",
  inputSchema: { type: "object", properties: { branch: { type: "string" } } },
  annotations: { readOnlyHint: true },
};

function rule(tool: Record<string, unknown>, server = "ci"): string {
  return ruleOf({ server: { entry: { name: server } }, tool } as unknown as OfferedTool);
}

Deno.test("what is always allowed of a tool server is a tool as it is described", () => {
  assertEquals(rule(TOOL), rule({ ...TOOL, _meta: { seen: 2 } }));
  const changed = [
    { ...TOOL, name: "deploy_all" },
    { ...TOOL, description: "Deploys to production." },
    { ...TOOL, title: "Deploy" },
    { ...TOOL, inputSchema: { type: "object", properties: { host: { type: "string" } } } },
    { ...TOOL, annotations: { destructiveHint: true } },
  ];
  for (const tool of changed) assertNotEquals(rule(tool), rule(TOOL));
  assertNotEquals(rule(TOOL, "other"), rule(TOOL));
  // One that was kept before it was bound to the description.
  assertNotEquals(rule(TOOL), "mcp_ci_deploy");
});
