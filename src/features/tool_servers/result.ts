/** Converts a tool server's answer for a model: text of bounded length, marked as data. */
import { fromBase64, type Media, mediaHead, mediaProblem } from "../../base/media.ts";
import { isObject, type Json } from "../../models/loose_json.ts";
import { ATTACHED_MAX, attachmentLine, kindOf } from "../../protocol/attachments.ts";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";

/** Longer messages of a server are not read (contract.md section 7). */
export const RESULT_MAX_BYTES = 2 * 1024 * 1024;

const TOO_LONG = "its answer is larger than 2 MiB and was not read; request less data";

/** Replaces an answer that was too long: the call ends with it, the connection continues. */
export function tooLongAnswer(id: unknown): JSONRPCMessage {
  return {
    jsonrpc: "2.0",
    id: id as string | number,
    result: { isError: true, content: [{ type: "text", text: TOO_LONG }] },
  };
}

/** A server's answer to a call, read leniently. */
export interface CallResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

/**
 * Returns the text of a result. Sound and files are only mentioned, and without `media` also images
 * and PDFs.
 *
 * @param media receives the images and documents for the model
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

/** Returns the text of an answer without content, as in the protocol's first version. */
function otherText(result: CallResult): string {
  const { _meta, isError: _error, structuredContent: _none, ...rest } = result as Json;
  return Object.keys(rest).length === 0 ? "" : JSON.stringify(rest);
}

function blockText(block: unknown, media?: Media[]): string {
  if (typeof block === "string") return block;
  if (!isObject(block)) return block === null ? "" : JSON.stringify(block);
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
  if (type === "resource" && isObject(resource)) {
    const { uri, mimeType = "unknown type", text, blob } = resource;
    if (typeof text === "string") return `[resource ${uri}]\n${text}`;
    if (typeof blob === "string") {
      return `[resource ${uri}, ${mimeType}, ${bytesOf(blob)} bytes, not shown]`;
    }
  }
  return JSON.stringify(block);
}

/** Adds an image or document to `media`. @returns its line; undefined for another block */
function collect({ type, data: own, resource }: Json, media: Media[]): string | undefined {
  const base64 = type === "image"
    ? own
    : type === "resource" && isObject(resource)
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

function bytesOf(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor(base64.length / 4) * 3 - padding;
}
