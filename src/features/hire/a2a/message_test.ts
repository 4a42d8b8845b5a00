import { assertEquals, assertThrows } from "@std/assert";
import { Message, Role } from "@a2a-js/sdk";
import { ContentTypeNotSupportedError, RequestMalformedError } from "@a2a-js/sdk/errors";
import { readMessage, toRequest } from "./message.ts";

function read(members: Record<string, unknown>, metadata = {}) {
  const message = Message.fromJSON({ messageId: "m", role: Role.ROLE_USER, ...members });
  return readMessage(message, metadata);
}

Deno.test("texts are the description, data has the rest", () => {
  const data = { task_type: "research", query: "q", effort: "minimal", extra: { urls: [] } };
  const parts = [{ text: "first" }, { data }, { text: " \n" }, { text: "second" }];
  assertEquals(toRequest(read({ parts })), { ...data, description: "first\n\nsecond" });
  const described = read({ parts: [{ data: { ...data, description: "d" } }] });
  assertEquals(toRequest(described).description, "d");
  const both = [{ data: { task_type: "research" } }, {
    data: { task_type: "browser", query: "q" },
  }];
  assertEquals(toRequest(read({ parts: both })), { task_type: "browser", query: "q" });
});

Deno.test("the skill is that of the data, or of the metadata", () => {
  const parts = [{ text: "t" }];
  const typeOf = (...given: Parameters<typeof read>) => read(...given).task_type;
  assertEquals(typeOf({ parts, metadata: { skill_id: "browser" } }), "browser");
  assertEquals(typeOf({ parts, metadata: { skillId: "browser" } }), "browser");
  assertEquals(typeOf({ parts }, { skill_id: "research" }), "research");
  const data = [{ text: "t" }, { data: { task_type: "research" } }];
  assertEquals(typeOf({ parts: data, metadata: { skill_id: "browser" } }), "research");
  assertEquals(typeOf({ parts }), undefined);
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
