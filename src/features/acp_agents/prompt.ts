/** Builds an agent's prompt from a conversation. */
import type { ContentBlock, PromptCapabilities } from "@agentclientprotocol/sdk";
import type { Message } from "../../models/model.ts";
import { type Attachment, attachmentLine } from "../../protocol/attachments.ts";
import type { Session } from "../../session/session.ts";

/** For a new agent, in characters. */
const HISTORY_MAX = 48 * 1024;

export interface PromptOptions {
  /** Whether the agent does not know the conversation yet. */
  fresh: boolean;
  /** Content types besides text. */
  takes: PromptCapabilities;
}

/**
 * Returns the messages since the agent's last answer, with attachments; a new agent also gets the
 * conversation.
 */
export async function promptOf(
  session: Session,
  messages: readonly Message[],
  { fresh, takes }: PromptOptions,
): Promise<ContentBlock[]> {
  const heard = messages.findLastIndex(({ role }) => role !== "user") + 1;
  const blocks: ContentBlock[] = [];
  const texts: string[] = [];
  for (const message of messages.slice(heard)) {
    if (message.role !== "user") continue;
    const lines = [message.memory === undefined ? "" : `${message.memory}\n\n`, message.text];
    for (const attachment of message.attachments ?? []) {
      const block = await blockOf(session, attachment, takes);
      if (typeof block !== "string") blocks.push(block);
      const note = typeof block === "string" ? block : undefined;
      lines.push(`\n${attachmentLine(attachment, note)}`);
    }
    texts.push(lines.join(""));
  }
  const asked = texts.join("\n\n");
  const history = fresh ? historyOf(messages.slice(0, heard)) : "";
  const text = history === ""
    ? asked
    : `The conversation so far:\n\n${history}\n\nNow:\n\n${asked}`;
  return [...blocks, { type: "text", text }];
}

/** @returns the attachment, or why it is left out */
async function blockOf(
  session: Session,
  attachment: Attachment,
  takes: PromptCapabilities,
): Promise<ContentBlock | string> {
  const { hash, media_type: mimeType, name } = attachment;
  const document = mimeType === "application/pdf";
  if (document ? !takes.embeddedContext : !takes.image) {
    return `this agent cannot be given ${document ? "documents" : "images"}`;
  }
  const data = (await session.attachments()).read(attachment)?.toBase64();
  if (data === undefined) return "its file is missing or damaged";
  if (!document) return { type: "image", mimeType, data };
  const uri = `attachment:${hash}/${encodeURIComponent(name)}`;
  return { type: "resource", resource: { uri, mimeType, blob: data } };
}

function historyOf(messages: readonly Message[]): string {
  const lines = messages.flatMap((message) => {
    if (message.role === "user") return [`The person: ${message.text}`];
    return message.role === "assistant" && message.text !== "" ? [`You: ${message.text}`] : [];
  });
  return lines.join("\n\n").slice(-HISTORY_MAX);
}
