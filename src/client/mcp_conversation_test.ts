import { assert, assertEquals } from "@std/assert";
import { McpConversation, type McpMessage } from "./mcp_conversation.ts";

function say(conversation: McpConversation, message: McpMessage): void {
  conversation.sent(message, JSON.stringify(message));
}

/** One that has begun, with a server of version 1. */
function begun(): McpConversation {
  const conversation = new McpConversation();
  say(conversation, { id: 0, method: "initialize", params: { protocolVersion: "v" } });
  conversation.answered({ id: 0, result: { serverInfo: { version: "1" } } });
  say(conversation, { method: "notifications/initialized" });
  return conversation;
}

function methods(messages: McpMessage[]): (string | undefined)[] {
  return messages.map(({ method }) => method);
}

Deno.test("before the conversation has begun there is nothing to say again", () => {
  const conversation = new McpConversation();
  assertEquals(conversation.replay(), []);
  say(conversation, { id: 0, method: "initialize" });
  assertEquals(conversation.replay(), []);
  assertEquals(conversation.takeUnanswered().again.length, 1);
});

Deno.test("a new daemon is told what the one before knew of the client", () => {
  const conversation = begun();
  say(conversation, { id: 1, method: "logging/setLevel", params: { level: "info" } });
  for (const uri of ["a", "b", "c"]) {
    say(conversation, { id: uri, method: "resources/subscribe", params: { uri } });
    conversation.answered(uri === "c" ? { id: uri, error: {} } : { id: uri, result: {} });
  }
  say(conversation, { id: 9, method: "resources/unsubscribe", params: { uri: "a" } });
  const replayed = conversation.replay();
  assertEquals(methods(replayed), [
    "initialize",
    "notifications/initialized",
    "logging/setLevel",
    "resources/subscribe",
  ]);
  assertEquals(conversation.watched, ["b"]);
  const requests = replayed.filter(({ method }) => method !== "notifications/initialized");
  assert(requests.every((message) => conversation.isOwn(message)));
  assert(!conversation.isOwn({ id: 1 }));
});

Deno.test("what only looks is asked again, a tool is not", () => {
  const conversation = begun();
  say(conversation, { id: 1, method: "tools/list" });
  say(conversation, { id: 2, method: "tools/call" });
  say(conversation, { id: 3, method: "tools/call" });
  say(conversation, { method: "notifications/cancelled", params: { requestId: 3 } });
  const { again, answers } = conversation.takeUnanswered();
  assertEquals(again.map((line) => JSON.parse(line).id), [1]);
  const [{ id, error }] = answers.map((line) => JSON.parse(line));
  assertEquals([answers.length, id, error.code, error.data.svc_code], [
    1,
    2,
    -32008,
    "crash_recovery",
  ]);
  assert(conversation.waits);
  conversation.answered({ id: 1, result: {} });
  assert(!conversation.waits);
});

Deno.test("what two daemons were lost over is not asked a third time", () => {
  const conversation = begun();
  say(conversation, { id: 1, method: "resources/read" });
  assertEquals(conversation.takeUnanswered().again.length, 1);
  const { again, answers } = conversation.takeUnanswered();
  assertEquals([again.length, JSON.parse(answers[0]).id], [0, 1]);
  assert(!conversation.waits);
});

Deno.test("another version is noticed once", () => {
  const conversation = begun();
  const of = (version: string) => ({ result: { serverInfo: { version } } });
  assertEquals(["1", "2", "2"].map((version) => conversation.resumed(of(version))), [
    false,
    true,
    false,
  ]);
});

Deno.test("without a daemon everything that waits is answered", () => {
  const conversation = begun();
  say(conversation, { id: 1, method: "tools/list" });
  say(conversation, { id: "x", method: "tools/call" });
  const answers = conversation.failAll({ svc_code: "internal", message: "none" })
    .map((line) => JSON.parse(line));
  assertEquals(answers.map(({ id, error }) => [id, error.code, error.message]), [
    [1, -32603, "none"],
    ["x", -32603, "none"],
  ]);
  assert(!conversation.waits);
});

Deno.test("a log level above warning keeps warnings back", () => {
  const conversation = begun();
  assert(conversation.hears_warnings);
  say(conversation, { id: 1, method: "logging/setLevel", params: { level: "error" } });
  assert(!conversation.hears_warnings);
});
