/** Converts a tool server's answer for a model: text of bounded length, marked as data. */
import { fromBase64, type Media, mediaHead, mediaProblem } from "../../base/media.ts";
import { ATTACHED_MAX, attachmentLine, kindOf } from "../../protocol/attachments.ts";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";

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

/** A server's answer to a call. Its parts are read leniently: what can be shown is shown. */
export interface CallResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

type Block = Record<string, unknown>;

/**
 * Returns the text of a result; sound and files are only mentioned, and so are images and PDF
 * documents without a collection for them.
 *
 * @param media receives the images and documents that a model can be given
 */
export function resultText(result: CallResult, media?: Media[]): string {
  const { content = [], structuredContent } = result;
  const given: unknown[] = Array.isArray(content) ? content : [content];
  const blocks = given.map((block) => blockText(block, media)).filter((text) => text !== "");
  if (blocks.length > 0) return blocks.join("\n");
  if (structuredContent !== undefined && structuredContent !== null) {
    return JSON.stringify(structuredContent);
  }
  return "content" in result ? "" : otherText(result);
}

/** Returns what an answer without content says, such as one of the protocol's first version. */
function otherText(result: CallResult): string {
  const { _meta, isError: _error, structuredContent: _none, ...rest } = result as Block;
  return Object.keys(rest).length === 0 ? "" : JSON.stringify(rest);
}

function blockText(block: unknown, media?: Media[]): string {
  if (typeof block === "string") return block;
  if (!isBlock(block)) return block === null ? "" : JSON.stringify(block);
  const shown = media && collect(block, media);
  if (shown !== undefined) return shown;
  const { type, text, data, mimeType = "unknown type", uri, resource } = block;
  if (type === "text" && typeof text === "string") return text;
  if ((type === "image" || type === "audio") && typeof data === "string") {
    return `[${type} ${mimeType}, ${bytesOf(data)} bytes, not shown]`;
  }
  if (type === "resource_link" && typeof uri === "string") {
    return `[resource ${uri}: ${block.description ?? block.name ?? ""}]`;
  }
  if (type === "resource" && isBlock(resource)) {
    const { uri, mimeType = "unknown type", text, blob } = resource;
    if (typeof text === "string") return `[resource ${uri}]\n${text}`;
    if (typeof blob === "string") {
      return `[resource ${uri}, ${mimeType}, ${bytesOf(blob)} bytes, not shown]`;
    }
  }
  return JSON.stringify(block);
}

function isBlock(value: unknown): value is Block {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Adds an image or document to a collection. @returns its line; undefined for another block */
function collect({ type, data: own, resource }: Block, media: Media[]): string | undefined {
  const base64 = type === "image"
    ? own
    : type === "resource" && isBlock(resource)
    ? resource.blob
    : undefined;
  const data = typeof base64 === "string" ? fromBase64(base64) : undefined;
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
