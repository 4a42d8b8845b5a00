/** Converts a tool server's answer for a model: text of bounded length, marked as data. */
import { fromBase64, type Media, mediaHead, mediaProblem } from "../../base/media.ts";
import { ATTACHED_MAX, attachmentLine, kindOf } from "../../protocol/attachments.ts";
import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/sdk/types";

/** Longer messages of a server are not read (contract.md section 7). */
export const RESULT_MAX_BYTES = 2 * 1024 * 1024;

const TOO_LONG = "its answer is larger than 2 MiB and was not read; request less data";

/** Replaces an answer that was too long: the call ends with it, and the connection continues. */
export function tooLongAnswer(id: unknown): JSONRPCMessage {
  return {
    jsonrpc: "2.0",
    id: id as string | number,
    result: { isError: true, content: [{ type: "text", text: TOO_LONG }] },
  };
}

/**
 * Returns the text of a result; sound and files are only mentioned, and so are images and PDF
 * documents without a collection for them.
 *
 * @param media receives the images and documents that a model can be given
 */
export function resultText(
  { content, structuredContent }: CallToolResult,
  media?: Media[],
): string {
  const blocks = content.map((block) => blockText(block, media)).filter((text) => text !== "");
  if (blocks.length === 0 && structuredContent !== undefined) {
    return JSON.stringify(structuredContent);
  }
  return blocks.join("\n");
}

function blockText(block: CallToolResult["content"][number], media?: Media[]): string {
  const shown = media && collect(block, media);
  if (shown !== undefined) return shown;
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${bytesOf(block.data)} bytes, not shown]`;
    case "resource_link":
      return `[resource ${block.uri}: ${block.description ?? block.name}]`;
    case "resource": {
      const { uri, mimeType = "unknown type" } = block.resource;
      return "text" in block.resource
        ? `[resource ${uri}]\n${block.resource.text}`
        : `[resource ${uri}, ${mimeType}, ${bytesOf(block.resource.blob)} bytes, not shown]`;
    }
  }
}

/** Adds an image or document to a collection. @returns its line; undefined for another block */
function collect(
  block: CallToolResult["content"][number],
  media: Media[],
): string | undefined {
  const base64 = block.type === "image"
    ? block.data
    : block.type === "resource" && "blob" in block.resource
    ? block.resource.blob
    : undefined;
  const data = base64 === undefined ? undefined : fromBase64(base64);
  const head = data && mediaHead(data);
  if (data === undefined || head === undefined) return undefined;
  const problem = media.length === ATTACHED_MAX
    ? `is more than the ${ATTACHED_MAX} that one result can show`
    : mediaProblem(head, data.length);
  if (problem !== undefined) return `[${kindOf(head)} not shown: it ${problem}]`;
  const { media_type } = head;
  const name = `${kindOf(head).toLowerCase()}-${media.length + 1}.${media_type.split("/")[1]}`;
  media.push({ media_type, name, data });
  return attachmentLine({ media_type, name, bytes: data.length });
}

/** Returns the number of bytes in a base64 text. */
function bytesOf(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor(base64.length / 4) * 3 - padding;
}
