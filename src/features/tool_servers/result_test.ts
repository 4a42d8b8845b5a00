import { assertEquals } from "@std/assert";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types";
import { resultText } from "./result.ts";

Deno.test("text is kept, everything else is named with its size", () => {
  const content: CallToolResult["content"] = [
    { type: "text", text: "first" },
    { type: "image", mimeType: "image/png", data: btoa("12345") },
    { type: "audio", mimeType: "audio/wav", data: btoa("123456") },
    { type: "resource_link", uri: "file:///a", name: "a" },
    { type: "resource", resource: { uri: "file:///b", text: "text of b" } },
    { type: "resource", resource: { uri: "file:///c", blob: btoa("1234") } },
    { type: "text", text: "" },
    { type: "text", text: "last" },
  ];
  assertEquals(
    resultText({ content }).split("\n"),
    [
      "first",
      "[image image/png, 5 bytes, not shown]",
      "[audio audio/wav, 6 bytes, not shown]",
      "[resource file:///a: a]",
      "[resource file:///b]",
      "text of b",
      "[resource file:///c, unknown type, 4 bytes, not shown]",
      "last",
    ],
  );
});

Deno.test("structured content stands in where there is no other", () => {
  const structuredContent = { sum: 5 };
  assertEquals(resultText({ content: [], structuredContent }), '{"sum":5}');
  const content = [{ type: "text" as const, text: "it is 5" }];
  assertEquals(resultText({ content, structuredContent }), "it is 5");
});
