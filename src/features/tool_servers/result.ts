/** Converts a tool server's answer for a model: text of bounded length, marked as data. */
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

/** Returns the text of a result; images, sound and files are only mentioned. */
export function resultText({ content, structuredContent }: CallToolResult): string {
  const blocks = content.map(blockText).filter((text) => text !== "");
  if (blocks.length === 0 && structuredContent !== undefined) {
    return JSON.stringify(structuredContent);
  }
  return blocks.join("\n");
}

function blockText(block: CallToolResult["content"][number]): string {
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

/** Returns the number of bytes in a base64 text. */
function bytesOf(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor(base64.length / 4) * 3 - padding;
}
