import { assertEquals, assertThrows } from "@std/assert";
import { Message, Role } from "@a2a-js/sdk";
import { ContentTypeNotSupportedError, RequestMalformedError } from "@a2a-js/sdk/errors";
import { readMessage } from "./message.ts";

const TYPES = ["research", "browser"];

function read(members: Record<string, unknown>, task_types = TYPES, metadata = {}) {
  const message = Message.fromJSON({ messageId: "m", role: Role.ROLE_USER, ...members });
  return readMessage(message, metadata, task_types);
}

Deno.test("texts are the description, data has the rest", () => {
  const data = { task_type: "research", query: "q", effort: "minimal", extra: { urls: [] } };
  assertEquals(read({ parts: [{ text: "first" }, { data }, { text: "second" }] }), {
    ...data,
    description: "first\n\nsecond",
  });
  assertEquals(read({ parts: [{ data: { ...data, description: "d" } }] }).description, "d");
  const both = [{ data: { task_type: "research" } }, {
    data: { task_type: "browser", query: "q" },
  }];
  assertEquals(read({ parts: both }), { task_type: "browser", query: "q" });
});

Deno.test("the skill is that of the data, of the metadata, or the only one", () => {
  const parts = [{ text: "t" }];
  const typeOf = (...given: Parameters<typeof read>) => read(...given).task_type;
  assertEquals(typeOf({ parts, metadata: { skill_id: "browser" } }), "browser");
  assertEquals(typeOf({ parts, metadata: { skillId: "browser" } }), "browser");
  assertEquals(typeOf({ parts }, TYPES, { skill_id: "research" }), "research");
  assertEquals(typeOf({ parts }, ["code"]), "code");
  const data = [{ text: "t" }, { data: { task_type: "research" } }];
  assertEquals(typeOf({ parts: data, metadata: { skill_id: "browser" } }), "research");
  assertThrows(() => read({ parts }), RequestMalformedError, "research, browser");
});

Deno.test("files and messages of agents are refused", () => {
  for (const part of [{ raw: "AAAA" }, { url: "https://example.org/a.pdf" }]) {
    assertThrows(() => read({ parts: [part] }), ContentTypeNotSupportedError);
  }
  for (const part of [{}, { data: "text" }, { data: [1] }]) {
    assertThrows(() => read({ parts: [part] }), RequestMalformedError);
  }
  const role = Role.ROLE_AGENT;
  assertThrows(() => read({ role, parts: [{ text: "t" }] }), RequestMalformedError, "role");
});
