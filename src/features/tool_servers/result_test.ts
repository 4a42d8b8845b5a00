import { assertEquals } from "@std/assert";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types";
import { tinyPdf, tinyPng } from "../../../tests/support/media.ts";
import type { Media } from "../../base/media.ts";
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

Deno.test("images and documents are collected where a model can be given them", () => {
  const image = (bytes: Uint8Array) => ({
    type: "image" as const,
    mimeType: "image/jpeg",
    data: bytes.toBase64(),
  });
  const content: CallToolResult["content"] = [
    image(tinyPng()),
    { type: "resource", resource: { uri: "file:///c", blob: tinyPdf().toBase64() } },
    image(tinyPng({ width: 9_000 })),
    image(new TextEncoder().encode("<svg/>")),
    { type: "image", mimeType: "image/png", data: "not base64" },
  ];
  const media: Media[] = [];
  assertEquals(resultText({ content }, media).split("\n"), [
    "[image: image-1.png, 69 bytes]",
    "[PDF: pdf-2.pdf, 189 bytes]",
    "[image not shown: it is an image of 9000 × 1 pixels; a model can be given at most 8000 in " +
    "each direction]",
    "[image image/jpeg, 6 bytes, not shown]",
    "[image image/png, 6 bytes, not shown]",
  ]);
  assertEquals(media.map(({ media_type }) => media_type), ["image/png", "application/pdf"]);
  const many = Array.from({ length: 30 }, () => image(tinyPng()));
  const more: Media[] = [];
  resultText({ content: many }, more);
  assertEquals(more.length, 20);
});

Deno.test("structured content stands in where there is no other", () => {
  const structuredContent = { sum: 5 };
  assertEquals(resultText({ content: [], structuredContent }), '{"sum":5}');
  const content = [{ type: "text" as const, text: "it is 5" }];
  assertEquals(resultText({ content, structuredContent }), "it is 5");
});
