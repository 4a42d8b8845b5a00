import { assertEquals } from "@std/assert";
import { CARDS } from "../../../../tests/support/a2a.ts";
import { TASK_TYPES } from "../../tasks/task.ts";
import { agentCard, legacyAgentCard } from "./card.ts";

const OFFER = { version: "1", task_types: TASK_TYPES, base_url: "https://example.org/svc" };

Deno.test("every type of task is a skill, with an example that asks for it", () => {
  for (const requires_auth of [true, false]) {
    const card = CARDS["1.0"].parse(agentCard({ ...OFFER, requires_auth }));
    assertEquals(card.skills.map(({ id }) => id), [...TASK_TYPES]);
    for (const { id, examples } of card.skills) assertEquals(JSON.parse(examples[0]).task_type, id);
    assertEquals(card.capabilities.pushNotifications, requires_auth);
    assertEquals(card.securityRequirements?.length, requires_auth ? 2 : undefined);
  }
});

Deno.test("both cards say the same, each in its way", () => {
  const offer = { ...OFFER, requires_auth: true };
  const legacy = CARDS["0.3"].parse(legacyAgentCard(offer));
  const card = CARDS["1.0"].parse(agentCard(offer));
  assertEquals(legacy.url, "https://example.org/svc/a2a");
  assertEquals(legacy.supportedInterfaces, card.supportedInterfaces);
  assertEquals(legacy.skills, card.skills);
  assertEquals(Object.keys(legacy.securitySchemes!), Object.keys(card.securitySchemes!));
});
