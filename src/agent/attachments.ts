/** The images and documents of a conversation: their bytes for a model call, and their limits. */
import type { Model, ModelError, ModelRequest } from "../models/model.ts";
import { ATTACHED_MAX, type Attachment, REQUEST_BYTES_MAX } from "../protocol/attachments.ts";
import type { Compacted } from "../protocol/events.ts";
import type { TurnSession } from "../session/session.ts";
import type { Item } from "../session/transcript_items.ts";

/**
 * Tokens of an image: Anthropic's most for one that it does not scale down; OpenAI and Google count
 * less.
 */
const IMAGE_TOKENS = 1_600;
/** Bytes of a PDF for a token: between a scanned page and one of dense text. */
const PDF_BYTES_A_TOKEN = 8;
const PDF_TOKENS_MIN = 3_000;
const PDF_TOKENS_MAX = 100_000;
/** The part of a request's limits for attachments that the model has already seen. */
const KEPT_PART = 1 / 2;
/** Statuses with which providers refuse an image or a document. */
const REFUSED: ReadonlySet<number | undefined> = new Set([400, 404, 413, 415, 422]);
const ABOUT_ATTACHMENTS = /image|document|pdf|media|mime|base64|pixel|\bfiles?\b|multimodal/i;

/** An attachment with the seq of its message or result. */
interface Placed {
  seq: number;
  attachment: Attachment;
}

/** Estimates the tokens of attachments, rather too high. */
export function attachmentTokens(attachments: readonly Attachment[] = []): number {
  return attachments.reduce((tokens, { media_type, bytes }) => {
    if (media_type !== "application/pdf") return tokens + IMAGE_TOKENS;
    const estimate = Math.ceil(bytes / PDF_BYTES_A_TOKEN);
    return tokens + Math.min(Math.max(estimate, PDF_TOKENS_MIN), PDF_TOKENS_MAX);
  }, 0);
}

/**
 * Reads the attachments that the model accepts.
 *
 * @returns base64 by hash, without missing or damaged files
 */
export async function filesFor(
  session: Pick<TurnSession, "attachments">,
  messages: ModelRequest["messages"],
  { accepts = [] }: Model,
): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const wanted = messages.flatMap(attachmentsOf)
    .filter(({ media_type }) => accepts.includes(media_type));
  if (wanted.length === 0) return files;
  const store = await session.attachments();
  for (const attachment of wanted) {
    if (files.has(attachment.hash)) continue;
    const data = store.read(attachment);
    if (data !== undefined) files.set(attachment.hash, data.toBase64());
  }
  return files;
}

function attachmentsOf(message: ModelRequest["messages"][number]): readonly Attachment[] {
  if (message.role === "user") return message.attachments ?? [];
  return message.role === "tool" ? message.results.flatMap((it) => it.attachments ?? []) : [];
}

/** Reports whether a conversation has more attachments than a request may have. */
export function isCrowded(items: readonly Item[]): boolean {
  return !fits(placed(items), 1);
}

/**
 * Returns which attachments to leave out: the oldest first, and unseen ones only if a request
 * cannot have them.
 *
 * @param keep tokens for the seen ones
 */
export function oldAttachments(
  items: readonly Item[],
  keep: number,
): Compacted["attachments"] {
  const unseen_from = unseenFrom(items);
  const kept: Placed[] = [];
  for (const each of placed(items).toReversed()) {
    kept.push(each);
    const unseen = each.seq >= unseen_from;
    const tokens = attachmentTokens(kept.map(({ attachment }) => attachment));
    if (fits(kept, unseen ? 1 : KEPT_PART) && (unseen || tokens <= keep)) continue;
    return { from_seq: 0, to_seq: each.seq };
  }
  return undefined;
}

/** Returns all attachments from a seq on. */
export function allAttachments(items: readonly Item[], from_seq = 0): Compacted["attachments"] {
  const seqs = placed(items).map(({ seq }) => seq).filter((seq) => seq >= from_seq);
  return seqs.length === 0 ? undefined : { from_seq, to_seq: Math.max(...seqs) };
}

/** Returns what to leave out after a refusal: what the model has not seen, else all. */
export function refusedAttachments(items: readonly Item[]): Compacted["attachments"] {
  const refused = allAttachments(items, unseenFrom(items)) ?? allAttachments(items);
  return refused && { ...refused, refused: true };
}

/** Reports whether a provider refused an image or a document. */
export function refusesAttachments({ status, message, retryable }: ModelError): boolean {
  return !retryable && REFUSED.has(status) && ABOUT_ATTACHMENTS.test(message);
}

/** The seq from which on the model has seen nothing. */
function unseenFrom(items: readonly Item[]): number {
  const last = items.findLast((item) => "step" in item);
  return last !== undefined && "step" in last ? last.step.first_seq + 1 : 0;
}

function fits(attachments: readonly Placed[], part: number): boolean {
  const bytes = attachments.reduce((sum, { attachment }) => sum + attachment.bytes, 0);
  return attachments.length <= ATTACHED_MAX * part && bytes <= REQUEST_BYTES_MAX * part;
}

function placed(items: readonly Item[]): Placed[] {
  const found: Placed[] = [];
  const add = ({ seq, attachments }: { seq?: number; attachments?: Attachment[] }) => {
    for (const attachment of attachments ?? []) found.push({ seq: seq ?? 0, attachment });
  };
  for (const item of items) {
    if ("user" in item) add(item);
    else if ("step" in item) item.step.results.forEach(add);
  }
  return found;
}
