/** How each provider is given images and documents, in its own wire format. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { tinyGif, tinyPdf, tinyPng } from "../../tests/support/media.ts";
import {
  type Json,
  startAnthropicServer,
  startGoogleServer,
  startOpenAiServer,
  startResponsesServer,
} from "../../tests/support/model_servers.ts";
import { granted } from "../../tests/support/permissions.ts";
import type { Attachment, MediaType } from "../protocol/attachments.ts";
import type { ModelRequest } from "./model.ts";
import type { ProviderKind } from "./provider_address.ts";
import { providerModel } from "./providers.ts";
import { acceptedMedia } from "./vision.ts";

const SERVERS = {
  "openai": startOpenAiServer,
  "openai-responses": startResponsesServer,
  "openai-compatible": startOpenAiServer,
  "anthropic": startAnthropicServer,
  "google": startGoogleServer,
};
type Kind = keyof typeof SERVERS;

const PNG = tinyPng().toBase64();
const PDF = tinyPdf().toBase64();
const files = new Map<string, string>();

function attachment(media_type: MediaType, name: string, data: string): Attachment {
  const hash = name.padEnd(64, "0");
  files.set(hash, data);
  return { hash, media_type, name, bytes: 70 };
}

const png = attachment("image/png", "shot.png", PNG);
const gif = attachment("image/gif", "move.gif", tinyGif().toBase64());
const pdf = attachment("application/pdf", "paper.pdf", PDF);
const gone = { ...png, hash: "f".repeat(64), name: "gone.png" };

const call = { call_id: "c1", tool: "read_file", args: { path: "shot.png" } };
const result = { call_id: "c1", tool: "read_file", output: "[image: shot.png, 70 bytes]" };
const MESSAGES: ModelRequest["messages"] = [
  { role: "user", text: "Compare.", attachments: [png, pdf, gone] },
  { role: "assistant", text: "", calls: [call] },
  { role: "tool", results: [{ ...result, ok: true, attachments: [png] }] },
];

/** What a provider is sent for a conversation. */
async function sent(
  kind: Kind,
  model: string,
  messages: ModelRequest["messages"],
  images?: boolean,
): Promise<Json> {
  const server = SERVERS[kind](() => ({ text: "ok" }), { open: true });
  try {
    const format = kind === "openai-responses"
      ? { kind: "openai" as const, api: "responses" as const }
      : { kind };
    const config = { name: "work", ...format, base_url: server.url, api_key: "sk-0123", images };
    const { stream } = await providerModel(config, model);
    const signal = new AbortController().signal;
    const parts = stream({ system: "", messages, files, tools: [], signal });
    await Array.fromAsync(parts);
    const { body } = server.requests[0];
    return body.messages ?? body.contents ?? body.input;
  } finally {
    await server.close();
  }
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore: !granted("net"), fn });
}

const LINES = "[image: shot.png, 70 bytes]\n[PDF: paper.pdf, 70 bytes]\n" +
  "[image: gone.png, 70 bytes; its file is missing or damaged]";
const APART = "[Files from the results above: shot.png]";

test("OpenAI gets images as data addresses and documents as files", async () => {
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
  const file_data = `data:application/pdf;base64,${PDF}`;
  const [user, , answer, after] = await sent("openai", "gpt-5.1", MESSAGES);
  assertEquals(user.content, [
    image,
    { type: "file", file: { filename: "paper.pdf", file_data } },
    { type: "text", text: `Compare.\n\n${LINES}` },
  ]);
  assertEquals(answer.content, result.output);
  // A result of a call can be text alone.
  assertEquals(after, { role: "user", content: [image, { type: "text", text: APART }] });
});

test("OpenAI's responses take images and documents in messages and in results", async () => {
  const [user, , { output }] = await sent("openai-responses", "gpt-5.1", MESSAGES);
  const image_url = `data:image/png;base64,${PNG}`;
  assertEquals(user.content, [
    { type: "input_image", image_url },
    {
      type: "input_file",
      filename: "paper.pdf",
      file_data: `data:application/pdf;base64,${PDF}`,
    },
    { type: "input_text", text: `Compare.\n\n${LINES}` },
  ]);
  assertEquals(output, [
    { type: "input_text", text: result.output },
    { type: "input_image", image_url },
  ]);
});

test("a compatible server gets images only if it is said to see them", async () => {
  const [user, , answer, after] = await sent("openai-compatible", "m", MESSAGES, true);
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
  assertEquals(user.content[0], image);
  assertStringIncludes(user.content[1].text, "paper.pdf, 70 bytes; this model cannot be given");
  assertEquals(answer.content, result.output);
  assertEquals(after.content, [image, { type: "text", text: APART }]);

  const blind = await sent("openai-compatible", "m", MESSAGES);
  assertEquals(blind.length, 3);
  const note = "; this model cannot see images or documents]";
  assertStringIncludes(blind[0].content, `Compare.\n\n[image: shot.png, 70 bytes${note}`);
  assertStringIncludes(blind[2].content, note);
});

test("Anthropic gets images and documents in messages and in results", async () => {
  const source = { type: "base64", media_type: "image/png", data: PNG };
  const [user, , answer] = await sent("anthropic", "claude-sonnet-4-5", MESSAGES);
  const [image, document, text] = user.content;
  assertEquals(image, { type: "image", source });
  assertEquals(document.type, "document");
  assertEquals(document.source, { type: "base64", media_type: "application/pdf", data: PDF });
  assertEquals(text.text, `Compare.\n\n${LINES}`);
  assertEquals(answer.content[0].content, [
    { type: "text", text: result.output },
    { type: "image", source },
  ]);
});

test("Google gets images and documents as inline data, but no GIF", async () => {
  const inlineData = { mimeType: "image/png", data: PNG };
  for (const model of ["gemini-2.5-pro", "gemini-3-pro-preview"]) {
    const [user, , answer] = await sent("google", model, MESSAGES);
    assertEquals(user.parts[0], { inlineData });
    assertEquals(user.parts[1], { inlineData: { mimeType: "application/pdf", data: PDF } });
    const inside = answer.parts[0].functionResponse.parts ?? answer.parts;
    assertEquals(inside.find((part: Json) => part.inlineData), { inlineData });
  }
  const [user] = await sent("google", "gemini-2.5-pro", [
    { role: "user", text: "Look.", attachments: [gif] },
  ]);
  assertEquals(user.parts, [
    { text: "Look.\n\n[image: move.gif, 70 bytes; this model cannot be given image/gif]" },
  ]);
});

test("the images of results stand before the next message, and requests only grow", async () => {
  const first = await sent("openai", "gpt-5.1", MESSAGES);
  const longer = await sent("openai", "gpt-5.1", [
    ...MESSAGES,
    { role: "assistant", text: "Red.", calls: [] },
    { role: "user", text: "Sure?" },
  ]);
  assertEquals(longer.slice(0, first.length), first);
  const steered = await sent("openai", "gpt-5.1", [
    ...MESSAGES,
    { role: "context", text: "It is Monday." },
    { role: "user", text: "And now?", attachments: [pdf] },
  ]);
  assertEquals(steered.length, first.length);
  const { content } = steered.at(-1);
  assertEquals(content.map(({ type }: Json) => type), ["image_url", "file", "text"]);
  const lines = "And now?\n\n[PDF: paper.pdf, 70 bytes]";
  assertEquals(content[2].text, `${APART}\n\nIt is Monday.\n\n${lines}`);
});

test("the images of a failed call do not hide that it failed", async () => {
  const failed = MESSAGES.with(2, {
    role: "tool",
    results: [{ ...result, ok: false, attachments: [png] }],
  });
  const [, , { content }] = await sent("anthropic", "claude-sonnet-4-5", failed);
  assertEquals(content[0].is_error, true);
  assertEquals(content.map(({ type }: Json) => type), ["tool_result", "image", "text"]);
});

Deno.test("which models see is known by their names", () => {
  const sees = (kind: ProviderKind, model: string, provider: string = kind) =>
    acceptedMedia({ kind, provider, model }).map((type) => type.split("/")[1]).join(" ");
  assertEquals(sees("anthropic", "claude-opus-4-5"), "png jpeg gif webp pdf");
  assertEquals(sees("anthropic", "claude-2.1"), "");
  assertEquals(sees("openai", "o3-mini"), "");
  assertEquals(sees("openai", "gpt-4o-mini"), "png jpeg gif webp pdf");
  assertEquals(sees("google", "gemini-2.5-flash"), "png jpeg webp pdf");
  assertEquals(
    sees("openai-compatible", "anthropic/claude-sonnet-4.5", "openrouter"),
    "png jpeg gif webp pdf",
  );
  assertEquals(sees("openai-compatible", "llava:13b", "ollama"), "png jpeg gif webp");
  assertEquals(sees("openai-compatible", "llama3.1", "ollama"), "");
});
