/** What a tool server's answer becomes for a model: text, of bounded length, marked as data. */
import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/sdk/types";

/** A longer message of a server is not read (contract.md section 7). */
export const RESULT_MAX_BYTES = 2 * 1024 * 1024;

const TOO_LONG = "its answer is longer than 2 MiB and was not read; ask for less";

/** Stands in for an answer that was too long: the call ends with it, the connection goes on. */
export function tooLongAnswer(id: unknown): JSONRPCMessage {
  return {
    jsonrpc: "2.0",
    id: id as string | number,
    result: { isError: true, content: [{ type: "text", text: TOO_LONG }] },
  };
}

/** The text of a result; images, sound and files are only named. */
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

/** Length of what a base64 text stands for. */
function bytesOf(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor(base64.length / 4) * 3 - padding;
}
