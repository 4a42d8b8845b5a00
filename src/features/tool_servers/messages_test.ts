import { assertEquals } from "@std/assert";
import { JsonLines, messagesIn } from "./messages.ts";

Deno.test("answers that are not quite as the protocol says are answers", () => {
  const cases: [unknown, unknown][] = [
    [{ id: 1, result: { a: 1 }, error: null }, { id: 1, result: { a: 1 } }],
    [{ id: "7", result: {}, _extra: 1 }, { id: 7, result: {} }],
    [{ id: 1, result: { _meta: null, a: 1 } }, { id: 1, result: { a: 1 } }],
    [{ id: 1, result: null }, { id: 1, result: {} }],
    [{ id: 1, result: [1] }, { id: 1, result: { content: [], structuredContent: [1] } }],
    [{ id: 1, error: { message: "no" } }, { id: 1, error: { code: 0, message: "no" } }],
    [{ id: 1, error: { code: "-32602" } }, {
      id: 1,
      error: { code: -32602, message: '{"code":"-32602"}' },
    }],
    [{ error: "Session not found" }, {
      id: 9,
      error: { code: 0, message: "Session not found" },
    }],
    [{ id: 2, method: "ping", params: null }, { id: 2, method: "ping" }],
    [{ id: null, method: "note", params: { _meta: null, a: 1 } }, {
      method: "note",
      params: { a: 1 },
    }],
    [
      { id: 1, result: { protocolVersion: "1", capabilities: { tools: true, prompts: null } } },
      {
        id: 1,
        result: {
          protocolVersion: "1",
          capabilities: { tools: {} },
          serverInfo: { name: "", version: "" },
        },
      },
    ],
  ];
  for (const [given, message] of cases) {
    assertEquals(messagesIn(given, 9), [{ jsonrpc: "2.0", ...message as object }] as never);
  }
  assertEquals(messagesIn([cases[0][0], [], "x", 3, { id: 5 }]).length, 1);
});

Deno.test("a message is a line, or lines of JSON that is printed for people", () => {
  const message = { jsonrpc: "2.0", id: 1, result: { text: 'a "{" in \\ it', list: [[], {}] } };
  const pretty = JSON.stringify(message, null, 2).split("\n");
  const read = (...lines: string[]) => {
    const reader = new JsonLines(200);
    return lines.map((line) => reader.push(line)).filter((value) => value !== undefined);
  };
  const line = JSON.stringify(message);
  assertEquals(read(line, line), [message, message]);
  assertEquals(read(...pretty, ...pretty, line), [message, message, message]);
  // What is no message does not keep the next one.
  assertEquals(read("[info] starting", "{ half", "Listening", line), [message]);
  assertEquals(read("{ half", ...pretty.slice(0, 2), line, ...pretty), [message, message]);
  assertEquals(read("{", ...Array.from({ length: 30 }, () => '"x": "long enough",'), ...pretty), [
    message,
  ]);
});
