/**
 * Images and PDF documents of a conversation. Events and messages carry references; the bytes lie
 * beside the session's journal. It imports nothing, so that the web app can use it.
 */

/** The kinds of files that a message or a result can carry. */
export const MEDIA_TYPES = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "application/pdf",
] as const;

export type MediaType = typeof MEDIA_TYPES[number];

/** What stands in an event for an image or a document. */
export interface Attachment {
  /** SHA-256 of its bytes, in hexadecimal. */
  hash: string;
  media_type: MediaType;
  /** A file name without directories. */
  name: string;
  bytes: number;
}

/**
 * The largest image. Anthropic refuses one with more than 5 MiB of base64, which is the lowest limit
 * of the known providers.
 */
export const IMAGE_BYTES_MAX = 5 * 1024 * 1024 / 4 * 3;
/** The most pixels of an image in one direction: Anthropic refuses larger ones. */
export const IMAGE_SIDE_MAX = 8_000;
/** The attachments of one message or result: in base64 they fit into one message to the daemon. */
export const ATTACHED_BYTES_MAX = 5_500_000;
/**
 * The most attachments of one message, and of one request to a model. Above 20 images Anthropic
 * accepts none with more than 2,000 pixels in a direction.
 */
export const ATTACHED_MAX = 20;
/** Bytes of the attachments in one request: in base64 below the 20 MB that Google accepts. */
export const REQUEST_BYTES_MAX = 14_000_000;

const NAME_MAX = 100;

/** Returns the last part of a path or name, without characters that show nothing. */
export function attachmentName(name: string, fallback: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const clean = last.replace(/[\p{C}\p{Z}[\]]+/gu, " ").trim().slice(0, NAME_MAX);
  return clean.replace(/[\uD800-\uDBFF]$/, "") || fallback;
}

/** Returns what an attachment is called in a sentence. */
export function kindOf({ media_type }: Pick<Attachment, "media_type">): "image" | "PDF" {
  return media_type === "application/pdf" ? "PDF" : "image";
}

/** Returns the line that stands for an attachment in text: `[image: shot.png, 120 kB]`. */
export function attachmentLine(attachment: Omit<Attachment, "hash">, note?: string): string {
  const { name, bytes } = attachment;
  const rest = note === undefined ? "" : `; ${note}`;
  return `[${kindOf(attachment)}: ${name}, ${sizeText(bytes)}${rest}]`;
}

/** Returns a message with a line for each attachment, as terminals show it. */
export function messageLines(text: string, attachments: readonly Attachment[] = []): string {
  return [text, ...attachments.map((it) => attachmentLine(it))].join("\n");
}

/** Returns a size in decimal units. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 999_500) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
